// Runs the tests with the real agents of their vendors. One that cannot be had is named, with what the registry said; one
// whose tests do not run for any other reason is a failure.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENTS } from './agents.mjs';

const root = join(import.meta.dirname, '..');
const chosen = process.argv.slice(2);
const refused = await AGENTS.install();
for (const [name, answer] of Object.entries(refused))
  console.error(`${name} (${AGENTS.packages[name]}) is left out: the registry refused it.\n${answer}`);

const installed = Object.keys(AGENTS.packages).filter((name) => !(name in refused));
const folder = mkdtempSync(join(tmpdir(), 'reveille-agents-'));
try {
  if (installed.length > 0) process.exitCode = test(join(folder, 'tests.json'));
} finally {
  rmSync(folder, { recursive: true });
}

function test(results) {
  const env = {
    ...process.env,
    REVEILLE_AGENTS: JSON.stringify(
      Object.fromEntries(installed.map((name) => [name, AGENTS.folderOf(name)])),
    ),
    REVEILLE_AGENTS_REFUSED: Object.keys(refused).join(','),
  };
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const told = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`];
  // One file after the other; how many tests of it at once is said where the tests are configured.
  const args = [vitest, 'run', '--project', 'agents', '--maxWorkers=1', ...told, ...chosen];
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
  if (status !== 0 || chosen.length > 0) return status ?? 1;
  const without = installed.filter((name) => !passedWith(name, results));
  for (const name of without) console.error(`No test of ${name} ran, and the registry did not refuse it.`);
  return without.length > 0 ? 1 : 0;
}

function passedWith(name, results) {
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return tests.some(
    ({ status, ancestorTitles }) => status === 'passed' && ancestorTitles.join(' ').includes(name),
  );
}
