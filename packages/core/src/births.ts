import type { Session, Task } from '@reveille/protocol';
import { newId, type Context } from './context.ts';
import type { Tx } from './tx.ts';

/** A session with nothing in it yet. */
export function bornSession(
  tx: Tx,
  context: Context,
  made: Pick<Session, 'kind' | 'name' | 'parent' | 'rootKind' | 'depth' | 'task' | 'repository'>,
): Session {
  const session: Session = {
    ...made,
    id: newId(context, 'session'),
    state: 'open',
    mail: 0,
    childrenTotal: 0,
    childrenOpen: 0,
    requests: 0,
    spawns: { since: 0, count: 0 },
    createdAt: tx.now,
  };
  tx.put('session', session);
  return session;
}

type Untouched =
  | 'since'
  | 'waitingOn'
  | 'cancelling'
  | 'run'
  | 'lastRun'
  | 'attempts'
  | 'byHand'
  | 'createdAt';

/** A task that nobody has touched yet. */
export function bornTask(tx: Tx, made: Omit<Task, Untouched>): Task {
  const task: Task = {
    ...made,
    since: tx.now,
    waitingOn: null,
    cancelling: null,
    run: null,
    lastRun: null,
    attempts: 0,
    byHand: false,
    createdAt: tx.now,
  };
  tx.put('task', task);
  return task;
}
