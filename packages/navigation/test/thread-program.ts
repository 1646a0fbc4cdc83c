import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import type { Asked } from '../src/thread.ts';

/** Does what it is told, in the order it is told. */
let before: Promise<unknown> = Promise.resolve();
parentPort?.on('message', ({ id, question }: Asked<{ readonly act: string }>) => {
  before = before.then(() => act(id, question.act));
});

async function act(id: number, what: string): Promise<void> {
  if (what === 'hang') for (;;);
  if (what === 'exit') process.exit(1);
  if (what === 'rest') await sleep(50);
  parentPort?.postMessage(what === 'fail' ? { id, error: 'it failed' } : { id, value: what });
}
