import type { Script } from '@reveille/executors';
import { openWorld } from './world.ts';

/** Workers that asked something and wait for the answer: alive, with nothing to do. */
const [path, count] = process.argv.slice(2);
if (!path || !count) throw new Error('usage: idle.ts <path> <workers>');
const WORKERS = Number(count);

const collect = globalThis.gc as ((options: object) => void) | undefined;
const megabytes = (): number => {
  // What is needed, not what happens to be left over from starting them.
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return process.memoryUsage().rss / 1e6;
};
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const asks: Script = async (agent) => {
  if (agent.turn.turn === 1) await agent.orchestrator.notifyParent({ type: 'question', message: 'Shall I?' });
};
const world = await openWorld(path, { asks });
const person = world.engine.as({ kind: 'person', name: 'bench' });
const session = await person.openSession('terminal', 'bench');
const own = world.engine.as({ kind: 'session', session: session.id });
const empty = megabytes();
for (let i = 0; i < WORKERS; i += 500) {
  await own.spawnSubtasks(
    Array.from({ length: 500 }, (_, j) => ({ prompt: `worker ${i + j}`, agentType: 'asks' })),
  );
}
while ((await person.inbox()).length < WORKERS) await sleep(50);
if (WORKERS > 0) await sleep(2_000);
const before = process.cpuUsage();
if (WORKERS > 0) await sleep(5_000);
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ empty, rss: megabytes(), cpu: (user + system) / 50_000 }));
process.exit(0);
