import type { Run, Task } from '@reveille/protocol';
import type { Tx } from './tx.ts';

/** No agent is kept for a run that waits; its next message resumes it. `why`: somebody ended it for that. */
export function park(tx: Tx, task: Task, run: Run, why?: string): void {
  tx.put('run', { ...run, host: null, identity: null });
  if (why !== undefined) tx.note({ type: 'run.parked', task: task.id, run: run.id, data: { why } });
  tx.drop(task.id);
}
