import {
  AUTHORITY,
  ReveilleError,
  isGranted,
  type Caller,
  type Message,
  type Operation,
  type Plan,
  type Reach,
  type Request,
  type Right,
  type Role,
  type Sender,
  type Session,
  type SessionId,
  type Task,
} from '@reveille/protocol';
import { isIntegrator } from './integrator.ts';
import type { Agents } from './ports/agents.ts';
import type { Store, TableName, Tables } from './ports/store.ts';
import type { Tx } from './tx.ts';

/** Rows by id, from a decision or straight from the store. */
export type Rows = Pick<Tx, 'get' | 'known'>;

/** Where `authorize` finds the rows and the definitions of agents. */
export interface Records {
  readonly rows: Rows;
  readonly agents: Agents;
}

/** Rows as the store has them now, outside of any decision. */
export const storedRows = (store: Store): Rows => ({
  known: <T extends TableName>(table: T, id: string): Tables[T] | undefined => store.atHand?.(table, id)?.doc,
  get: async (table, id) => (store.atHand?.(table, id) ?? (await store.get(table, id)))?.doc,
});

/** What a call names, by the table its row is in. */
export type Named =
  | { readonly task: string }
  | { readonly plan: string }
  | { readonly session: string }
  | { readonly message: string }
  | { readonly request: string }
  | { readonly repository: string }
  | 'everything';

/** A caller with its role, and with the session and the task that give it the role. */
export interface KnownCaller {
  readonly caller: Caller;
  readonly role: Role;
  /** Null for a person, who has no session. */
  readonly session: Session | null;
  /** The task that a run works on; null for everybody else. */
  readonly task: Task | null;
}

/**
 * Refuses a call that the authority table does not allow (ID6). `named` are the things the call is about; each of them
 * must be in the caller's reach. The caller itself must still count, except for a report, which the operation refuses and
 * records by itself (ID4).
 */
export async function authorize(
  records: Records,
  caller: Caller,
  operation: Operation,
  named: readonly Named[] = [],
): Promise<KnownCaller> {
  if (operation !== 'reportCompletion') await checkCaller(records.rows, caller);
  const known = await knownCaller(records.rows, caller);
  const right = AUTHORITY[operation];
  const reach = right.may[known.role];
  if (reach === undefined) throw notForRole(operation, known.role, right);
  await checkGrant(records.agents, known, operation, right);
  for (const one of named) {
    if (!(await reaches(records.rows, known, reach, one))) throw outOfReach(one);
  }
  return known;
}

/** Whether a caller may see a task or a plan, by the row of an operation that lists such things. */
export async function isVisible(
  rows: Rows,
  known: KnownCaller,
  operation: Operation,
  one: Named,
): Promise<boolean> {
  const reach = AUTHORITY[operation].may[known.role];
  return reach !== undefined && (await reaches(rows, known, reach, one));
}

export async function knownCaller(rows: Rows, caller: Caller): Promise<KnownCaller> {
  if (caller.kind === 'person') return { caller, role: 'person', session: null, task: null };
  const session = await need(rows, 'session', caller.session);
  const task = session.task === null ? null : await need(rows, 'task', session.task);
  return { caller, role: roleOf(caller, session, task), session, task };
}

function roleOf(caller: Caller, { id, kind }: Session, task: Task | null): Role {
  const isRun = caller.kind === 'worker';
  if (isRun !== (task !== null))
    throw new ReveilleError('not_allowed', `Session ${id} is not what its credential says.`);
  if (task && isIntegrator(task)) return 'integrator';
  if (task?.reviews) return 'reviewer';
  if (task) return kind === 'orchestrator' ? 'orchestrator' : 'worker';
  if (kind === 'orchestrator') return 'client';
  return kind === 'terminal' ? 'terminal' : 'chat';
}

/** A run needs one of the tools that the operation is granted through; its agent's definition says which it has (AGT4). */
async function checkGrant(
  agents: Agents,
  { task, role }: KnownCaller,
  operation: Operation,
  { tools }: Right,
): Promise<void> {
  // Without definitions nobody's tools are narrowed; a daemon always has them.
  if (!task || role === 'integrator' || tools === null || (!agents.defined && tools.length > 0)) return;
  const { agent, repository } = task;
  let grants = agents.defined?.(agent.name, repository);
  if (!grants && repository !== null) {
    // This life of the daemon may not have looked at the repository's own agents yet.
    await agents.know?.(repository);
    grants = agents.defined?.(agent.name, repository);
  }
  if (grants && tools.some((tool) => isGranted(grants, tool))) return;
  const how = tools.length > 0 ? `its definition would have to allow ${tools.join(' or ')}` : 'no agent may';
  throw new ReveilleError('not_allowed', `Refused: ${agent.name} may not use ${operation}; ${how}.`, {
    data: { operation },
  });
}

async function reaches(rows: Rows, known: KnownCaller, reach: Reach, named: Named): Promise<boolean> {
  if (named === 'everything') return reach === 'any';
  if ('task' in named) return reachesOwned(rows, known, reach, await need(rows, 'task', named.task));
  if ('plan' in named) return reachesOwned(rows, known, reach, await need(rows, 'plan', named.plan));
  if (reach === 'any') return true;
  if ('session' in named && reach === 'self') return named.session === known.session?.id;
  if ('session' in named)
    return reachesSession(rows, known, reach, await need(rows, 'session', named.session));
  if ('request' in named)
    return reachesRequest(rows, known, reach, await need(rows, 'request', named.request));
  if ('message' in named) return isParty(rows, known, await need(rows, 'message', named.message));
  return reach === 'self' && known.session?.repository === named.repository;
}

async function reachesOwned(
  rows: Rows,
  known: KnownCaller,
  reach: Reach,
  one: Task | Plan,
): Promise<boolean> {
  const { session, task } = known;
  if (reach === 'any') return true;
  if (!session) return false;
  if (reach === 'own') return one.owner === session.id;
  if (reach === 'kin')
    return 'session' in one && reachesSession(rows, known, reach, await need(rows, 'session', one.session));
  if (reach === 'repository' && isIn(session, one.repository)) return true;
  const plan = 'session' in one ? one.plan : one.id;
  if (reach === 'plan' && plan !== null && plan === task?.plan) return true;
  const isReading = reach === 'tree' || reach === 'plan' || reach === 'repository';
  if (isReading && 'session' in one && one.session === session.id) return true;
  return (isReading || reach === 'below') && isAtOrBelow(rows, session.id, one.owner);
}

async function reachesSession(rows: Rows, known: KnownCaller, reach: Reach, to: Session): Promise<boolean> {
  const own = known.session;
  if (!own) return false;
  if (reach === 'repository') return isIn(own, to.repository) || isAtOrBelow(rows, own.id, to.id);
  if (reach === 'tree' || reach === 'plan') return isAtOrBelow(rows, own.id, to.id);
  if (reach !== 'kin' || to.id === own.id) return false;
  if (own.parent !== null && own.parent === to.id) return true;
  return (await isSibling(rows, known, to)) || isAtOrBelow(rows, own.id, to.id);
}

/**
 * Whether two runs have the same owner, in the same plan and the same repository. The owner alone does not say it: all that a
 * person starts without a session of their own belongs to one session.
 */
async function isSibling(rows: Rows, { session, task }: KnownCaller, to: Session): Promise<boolean> {
  if (!session || !task || to.task === null || to.parent !== session.parent) return false;
  const other = await need(rows, 'task', to.task);
  return other.plan === task.plan && other.repository === task.repository;
}

/** A request that waits for the person is answered by a person only. One that is over may still be looked at: its answer is refused later, with how it ended. */
async function reachesRequest(
  rows: Rows,
  known: KnownCaller,
  reach: Reach,
  request: Request,
): Promise<boolean> {
  if (request.with === null && request.state === 'open') return false;
  if (known.session && request.with === known.session.id) return true;
  const task = await need(rows, 'task', request.task);
  return reachesOwned(rows, known, reach === 'held' ? 'below' : reach, task);
}

async function isParty(rows: Rows, { session }: KnownCaller, message: Message): Promise<boolean> {
  if (!session) return false;
  if (message.to === session.id) return true;
  if (message.from.kind === 'session') return message.from.session === session.id;
  if (message.from.kind !== 'task') return false;
  return (await rows.get('task', message.from.task))?.session === session.id;
}

/** A client without a repository steers what has none. A chat or a terminal sees its own work only, then. */
const isIn = ({ kind, repository }: Session, other: string | null): boolean =>
  repository === other && (repository !== null || kind === 'orchestrator');

/** Whether a session is `top`, or has it above itself. */
async function isAtOrBelow(rows: Rows, top: SessionId, from: SessionId): Promise<boolean> {
  for (let id: SessionId | null = from; id !== null;) {
    if (id === top) return true;
    const above: Session | undefined = await rows.get('session', id);
    id = above?.parent ?? null;
  }
  return false;
}

async function need<T extends TableName>(rows: Rows, table: T, id: string): Promise<Tables[T]> {
  const row = rows.known(table, id) ?? (await rows.get(table, id));
  if (row) return row;
  throw new ReveilleError('not_found', `There is no ${table} ${id}.`, { data: { [table]: id } });
}

function notForRole(operation: Operation, role: Role, { may }: Right): ReveilleError {
  const people = may.person === undefined ? 'an agent or a chat, through its session' : 'the person';
  return new ReveilleError(
    'not_allowed',
    role === 'person'
      ? `Only a session can use ${operation}; open one first.`
      : `Refused: ${operation} is not for the role "${role}". Leave it to ${people}.`,
    { data: { operation, role } },
  );
}

function outOfReach(named: Named): ReveilleError {
  if (named === 'everything') return refused('Only a person may do this to everything.');
  if ('task' in named)
    return refused(
      `Task ${named.task} is not yours: only its owner, those above it, or a person may do this.`,
    );
  if ('plan' in named)
    return refused(`Plan ${named.plan} is not yours: only its owner or a person may do this.`);
  if ('session' in named) return refused(`Session ${named.session} is not yours to read or to write to.`);
  if ('message' in named) return refused(`Message ${named.message} is neither from you nor for you.`);
  if ('request' in named)
    return refused(
      `Request ${named.request} does not wait for you: whoever it waits for answers it, or a person.`,
    );
  return refused('Your work is in your own repository: leave `repository` out.');
}

const refused = (why: string): ReveilleError => new ReveilleError('not_allowed', why);

/** The credential of a run dies with the run and with its epoch, the credential of a session with the session (ID3, ID4). */
export async function checkCaller(rows: Rows, caller: Caller): Promise<void> {
  if (caller.kind === 'person') return;
  if (caller.kind === 'session') {
    const session = rows.known('session', caller.session) ?? (await rows.get('session', caller.session));
    if (session?.state === 'open') return;
    throw new ReveilleError('unauthorized', `Session ${caller.session} has ended. Open another one.`);
  }
  const why = await staleness(rows, caller);
  if (why)
    throw new ReveilleError(
      'stale_caller',
      `Refused: ${why}. Stop working; nothing you say counts any more.`,
      { data: { run: caller.run } },
    );
}

export async function staleness(
  rows: Rows,
  caller: Extract<Caller, { kind: 'worker' }>,
): Promise<string | null> {
  const run = rows.known('run', caller.run) ?? (await rows.get('run', caller.run));
  if (!run) return `there is no run ${caller.run}`;
  if (run.session !== caller.session) return `run ${run.id} is not of session ${caller.session}`;
  if (run.state === 'ended') return `run ${run.id} has ended`;
  if (run.epoch !== caller.epoch)
    return `run ${run.id} went on under epoch ${run.epoch}, yours is ${caller.epoch}`;
  const task = await need(rows, 'task', run.task);
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
