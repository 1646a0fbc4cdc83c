// Runs commands as named steps, for check.mjs and test.mjs.
import './require-node.cjs';
import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const PATH = join(root, 'node_modules', '.bin') + delimiter + process.env.PATH;

/**
 * The checks that run no test. Dead code and the rules of lint that need types take as long as all the others together:
 * they are left to `npm test`.
 */
export const staticChecks = ({ thorough }) => [
  // Beside other steps one checker for each program is quickest. The compiler is written in Go, and has memory to spare.
  { name: 'types', command: ['tsc', '-b', '--checkers', '1'], env: { GOGC: '400' } },
  { name: 'lint', command: ['oxlint', ...(thorough ? ['--type-aware'] : [])] },
  ...(thorough ? [{ name: 'dead code', command: ['knip', '--no-progress', '--no-config-hints'] }] : []),
  { name: 'format', command: ['oxfmt', '--check', '.'] },
  { name: 'architecture', command: ['node', 'scripts/check-architecture.mjs'] },
  { name: 'spec', command: ['node', 'scripts/check-spec.mjs'] },
];

const running = new Set();
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stopping = true;
    for (const child of running) endGroup(child);
  });
}

/** Runs one step. `streamed` shows its output as it comes; otherwise it is shown when the step fails. */
export async function run({ name, command: [program, ...args], env = {}, streamed = false }) {
  if (streamed) console.log(`\n── ${name}`);
  const started = performance.now();
  const output = streamed ? 'inherit' : 'pipe';
  // In a process group of its own, to be ended with all it started: an interrupted vitest leaves its workers.
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, PATH, ...env },
    stdio: ['ignore', output, output],
    detached: true,
  });
  running.add(child);
  const shown = [];
  child.stdout?.on('data', (chunk) => shown.push(chunk));
  child.stderr?.on('data', (chunk) => shown.push(chunk));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  running.delete(child);
  endGroup(child);
  console.log(`${code === 0 ? '✓' : '✗'} ${name} (${secondsSince(started)})`);
  if (code !== 0) process.stdout.write(Buffer.concat(shown));
  return code === 0;
}

/** Runs all steps, two at once, and says whether every one went well. */
export async function runAll(steps) {
  const waiting = [...steps];
  const results = [];
  const worker = async () => {
    for (let step = waiting.shift(); step && !stopping; step = waiting.shift()) results.push(await run(step));
  };
  await Promise.all([worker(), worker()]);
  return !stopping && results.every(Boolean);
}

function endGroup(child) {
  try {
    process.kill(-child.pid, 'SIGTERM');
  } catch {
    // all of it has ended
  }
}

export function secondsSince(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
