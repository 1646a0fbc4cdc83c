import { SwapInput, parseInput, type Caller, type Orchestrator } from '@reveille/protocol';
import type { Host } from '../host.ts';
import { changedMeanwhile, openRun, pause, resume } from '../pausing.ts';
import { knownFor } from '../repository-agents.ts';
import { swap } from '../swap.ts';
import { acting } from './acting.ts';

export const WORKER_OPERATIONS = ['swapWorker', 'pauseWorker', 'resumeWorker', 'interruptWorker'] as const;

/** What is done to whoever is at work on a task. */
export function workerOperations(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof WORKER_OPERATIONS)[number]> {
  const { context } = host;
  const { act } = acting(host, caller);
  return {
    async swapWorker(id, input) {
      const by = parseInput(SwapInput, input);
      await knownFor(host, id);
      return act('swapWorker', id, (tx, task) => swap(tx, context, task, { caller, by }));
    },
    pauseWorker: (id) => act('pauseWorker', id, (tx) => pause(tx, id)),
    async resumeWorker(id) {
      // Whether the caller may at all comes first: a look at a checkout is work.
      await act('resumeWorker', id, async () => undefined);
      const changed = await changedMeanwhile(context, id);
      return act('resumeWorker', id, (tx, task) => resume(tx, context, task, changed));
    },
    async interruptWorker(id) {
      const view = await act('interruptWorker', id, (tx) => openRun(tx, id));
      host.scheduler.runs.get(id)?.line.interrupt();
      return view;
    },
  };
}
