// A detector in a process of its own: `node run-seeds.ts FROM COUNT` simulates until a seed fails, and exits with 1 then.
import { appendFileSync } from 'node:fs';
import { watchCoverage } from './watch-coverage.ts';

const kept = process.env['REVEILLE_COVERAGE'];
const look = kept ? await watchCoverage() : null;
const { simulate } = await import('../simulation/simulate.ts');
const [from = 1, count = 1] = process.argv.slice(2).map(Number);
for (let seed = from; seed < from + count; seed++) {
  const { failure } = await simulate(seed);
  if (!failure) continue;
  console.log(`seed ${seed}: ${failure.invariant}: ${failure.message}`);
  process.exit(1);
}
if (kept && look) appendFileSync(kept, `${JSON.stringify({ test: 'simulation', coverage: await look() })}\n`);
process.exit(0);
