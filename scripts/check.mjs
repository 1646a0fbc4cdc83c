// What must hold before every commit, in seconds: `npm run check`. Everything else is in `npm test`.
import { runAll, secondsSince, staticChecks } from './steps.mjs';

const started = performance.now();
const ok = await runAll([
  // First, and beside all the others: the longest.
  { name: 'unit tests', command: ['vitest', 'run', '--project', 'unit', '--reporter', 'dot'] },
  ...staticChecks({ thorough: false }),
]);
console.log(`${ok ? 'All well' : 'Not well'} after ${secondsSince(started)}`);
if (!ok) process.exitCode = 1;
