import type { Script } from '@reveille/executors';
import { gate, openWorld } from './world.ts';

/**
 * `prepare` leaves a file with 10,000 open tasks, as a killed process would: a hundred were running, the rest are
 * ready or wait for their dependencies. `restart` opens it and says when the first agent was started.
 */
const [mode, path] = process.argv.slice(2);
if (!path) throw new Error('usage: restart.ts prepare|restart <path>');

const forever: Script = () => new Promise<never>(() => undefined);

if (mode === 'prepare') {
  const world = await openWorld(path, { child: forever }, { settings: { concurrency: 100 } });
  const tasks = Array.from({ length: 10_000 }, (_, i) => ({
    id: `${i}`,
    prompt: `task ${i}: ${'a prompt of a usual length, which has to be read again at the start. '.repeat(5)}`,
    agent: 'child',
    dependencies: i % 2 === 1 ? [`${i - 1}`] : [],
  }));
  const person = world.engine.as({ kind: 'person', name: 'bench' });
  const { plan } = await person.savePlan({ name: 'R', tasks }, { start: true });
  while (((await person.getPlan(plan.id)).plan.counts['running'] ?? 0) < 100) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  process.stdout.write('{}\n', () => process.kill(process.pid, 'SIGKILL'));
  await new Promise(() => undefined);
}

const first = gate();
const began = performance.now();
const world = await openWorld(
  path,
  { child: forever },
  { started: first.open, settings: { concurrency: 100 } },
);
const opened = performance.now() - began;
await first.passed;
const dispatched = performance.now() - began;
await world[Symbol.asyncDispose]();
console.log(JSON.stringify({ opened, first: dispatched }));
process.exit(0);
