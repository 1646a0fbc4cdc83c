import {
  ReveilleError,
  type Caller,
  type Plan,
  type Sender,
  type Session,
  type SessionId,
  type Task,
} from '@reveille/protocol';
import type { Tx } from './tx.ts';

/**
 * The credential of a run dies with the run, and with its epoch (ID3, ID4). A refusal is recorded: the caller
 * throws it away, the log does not.
 */
export async function checkCaller(tx: Tx, caller: Caller): Promise<void> {
  if (caller.kind === 'person') return;
  if (caller.kind === 'session') {
    await tx.need('session', caller.session);
    return;
  }
  const why = await staleness(tx, caller);
  if (why)
    throw new ReveilleError(
      'stale_caller',
      `Refused: ${why}. Stop working; nothing you say counts any more.`,
      { data: { run: caller.run } },
    );
}

export async function staleness(tx: Tx, caller: Extract<Caller, { kind: 'worker' }>): Promise<string | null> {
  const run = tx.known('run', caller.run) ?? (await tx.get('run', caller.run));
  if (!run) return `there is no run ${caller.run}`;
  if (run.session !== caller.session) return `run ${run.id} is not of session ${caller.session}`;
  if (run.state === 'ended') return `run ${run.id} has ended`;
  if (run.epoch !== caller.epoch)
    return `run ${run.id} went on under epoch ${run.epoch}, yours is ${caller.epoch}`;
  const task = tx.known('task', run.task) ?? (await tx.need('task', run.task));
  return task.cancelling ? `task ${task.id} is being cancelled` : null;
}

export const sessionOf = (caller: Caller): SessionId | null =>
  caller.kind === 'person' ? null : caller.session;

export function ownSession(caller: Caller): SessionId {
  const session = sessionOf(caller);
  if (!session) throw new ReveilleError('not_allowed', 'Only a session can do this; open one first.');
  return session;
}

export const senderOf = (caller: Caller): Sender =>
  caller.kind === 'person'
    ? { kind: 'person', name: caller.name }
    : { kind: 'session', session: caller.session, name: nameOf(caller) };

export const nameOf = (caller: Caller): string => (caller.kind === 'person' ? 'person' : caller.session);

/** A person's client that orchestrates; one at work on a goal has what it owns, like any worker. */
const isEverybodys = ({ kind, task }: Session): boolean => kind === 'orchestrator' && task === null;

/** Only the owner, one above it, an orchestrator or a person may complete, cancel or retry a task (ID5). */
export async function checkMayAct(tx: Tx, caller: Caller, task: Task): Promise<void> {
  await checkCaller(tx, caller);
  const session = sessionOf(caller);
  if (!session) return;
  const self = await tx.need('session', session);
  if (isEverybodys(self)) return;
  for (let id: SessionId | null = task.owner; id !== null;) {
    if (id === session) return;
    const above: Session = await tx.need('session', id);
    id = above.parent;
  }
  throw notYours(task);
}

export async function checkOwnsPlan(tx: Tx, caller: Caller, plan: Plan): Promise<void> {
  await checkCaller(tx, caller);
  const session = sessionOf(caller);
  if (!session || session === plan.owner) return;
  if (isEverybodys(await tx.need('session', session))) return;
  throw new ReveilleError(
    'not_allowed',
    `Plan ${plan.id} is not yours: only its owner, the orchestrator or a person may change it.`,
  );
}

/** A session may message its parent, its children and its siblings, and anything below it. */
export async function checkMayMessage(tx: Tx, caller: Caller, to: Session): Promise<void> {
  await checkCaller(tx, caller);
  const own = sessionOf(caller);
  if (!own) return;
  const self = await tx.need('session', own);
  if (isEverybodys(self) || self.parent === to.id || (self.parent !== null && self.parent === to.parent))
    return;
  for (let id: SessionId | null = to.parent; id !== null;) {
    if (id === own) return;
    id = (await tx.need('session', id)).parent;
  }
  throw new ReveilleError(
    'not_allowed',
    `Session ${own} may message its parent, its children and its siblings, not ${to.id}.`,
  );
}

const notYours = (task: Task): ReveilleError =>
  new ReveilleError(
    'not_allowed',
    `Task ${task.id} is not yours: only its owner, the orchestrator or a person may do this.`,
  );

/** A session's mail is its own, and a person's to see. */
export function checkOwnMail(caller: Caller, session: SessionId): void {
  if (caller.kind === 'person' || caller.session === session) return;
  throw new ReveilleError('not_allowed', `The mailbox of ${session} is not yours.`);
}
