// What must hold before every commit, in seconds: `npm run check`. Everything else is in `npm test`.
import { run, runAll, secondsSince, staticChecks } from './steps.mjs';

const started = performance.now();
const checked = await runAll(staticChecks({ typedLint: false }));
// By itself: the tests use both of two cores.
const tested = await run({
  name: 'unit tests',
  command: ['vitest', 'run', '--project', 'unit', '--reporter', 'dot'],
});
const ok = checked && tested;
console.log(`${ok ? 'All well' : 'Not well'} after ${secondsSince(started)}`);
if (!ok) process.exitCode = 1;
