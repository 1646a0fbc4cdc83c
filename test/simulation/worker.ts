// One process that runs seeds: `node worker.ts [bug]`, driven by runner.ts. The engine is imported after the bug, if
// any, has been planted.
import { plant } from './plant.ts';
import { nothing, type Job } from './runner.ts';

const [, , bug] = process.argv;
if (bug) plant(bug);
const { simulate } = await import('./simulate.ts');

process.on('message', (job: Job) => void run(job));

async function run({ seeds, stopAtFailure }: Job): Promise<void> {
  const result = nothing();
  for (const seed of seeds) {
    const one = await simulate(seed);
    result.seeds++;
    result.virtualMs += one.virtualMs;
    result.steps += one.steps;
    result.events += one.events;
    for (const [fault, times] of one.struck) result.struck[fault] = (result.struck[fault] ?? 0) + times;
    for (const [sight, times] of one.sights) result.sights[sight] = (result.sights[sight] ?? 0) + times;
    if (!one.failure) continue;
    result.failures.push({ seed, ...one.failure });
    if (stopAtFailure) break;
  }
  process.send?.(result);
}
