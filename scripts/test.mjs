// Everything: `npm test`. Steps in order, the quick ones first; stops at the first that fails. The last line counts
// the tests; a step that fails without a failing test counts as one. The line before it names the suites that were left out,
// because the machine lacks a program; with REVEILLE_REQUIRE=all that is a failure.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverPath } from './language-servers.mjs';
import { prepareMachine } from './machine.mjs';
import { run, runAll, staticChecks } from './steps.mjs';

const reports = mkdtempSync(join(tmpdir(), 'reveille-test-'));
const count = { passed: 0, failed: 0, skipped: 0 };
const machine = prepareMachine();
const demandsAll = process.env.REVEILLE_REQUIRE === 'all';

const steps = [
  () => runAll(staticChecks({ thorough: true })),
  async () => runTests({ ...machine.env, REVEILLE_SERVERS: await serverPath() }, 'unit', 'system'),
  // In one go, so that they share the machine's cores.
  () => runTests(machine.env, 'simulation', 'crash', 'mutation', 'differential'),
];

try {
  const ok = await firstFailure(demandsAll && machine.leftOut.length > 0 ? [] : steps);
  if (!ok && count.failed === 0) count.failed = 1;
} finally {
  rmSync(reports, { recursive: true });
}
if (count.skipped > 0) console.log(`${count.skipped} skipped`);
if (machine.leftOut.length > 0) {
  console.log(`Left out: ${machine.leftOut.join('; ')}`);
  if (demandsAll) count.failed += machine.leftOut.length;
}
console.log(`${count.passed} passed, ${count.failed} failed`);
if (count.failed > 0) process.exitCode = 1;

async function firstFailure(all) {
  for (const step of all) if (!(await step())) return false;
  return true;
}

/** Runs projects of vitest.config.ts and adds up their tests. */
async function runTests(env, ...projects) {
  const report = join(reports, `${projects.join('-')}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const chosen = projects.flatMap((project) => ['--project', project]);
  const command = ['vitest', 'run', ...chosen, ...reporters];
  const ok = await run({ name: `${projects.join(' and ')} tests`, command, env, streamed: true });
  const { numPassedTests, numFailedTests, numPendingTests } = readReport(report);
  count.passed += numPassedTests;
  count.failed += numFailedTests;
  count.skipped += numPendingTests;
  return ok;
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }; // vitest ended before its report
  }
}
