import type { Budget, Fact, Message, Plan, Request, Run, Session, Task } from '@reveille/protocol';
import type { TableName, Tables } from './ports/store.ts';

/**
 * Events are made in one place, from what a change does to the rows, so that no transition can forget its
 * event and the state of everything is a fold of the log; the simulation folds it and compares.
 */
export function factsOf(
  facts: Fact[],
  table: TableName,
  before: Tables[TableName] | undefined,
  after: Tables[TableName],
): void {
  switch (table) {
    case 'plan':
      return planFacts(facts, before as Plan | undefined, after as Plan);
    case 'task':
      return taskFacts(facts, before as Task | undefined, after as Task);
    case 'run':
      return runFacts(facts, before as Run | undefined, after as Run);
    case 'session':
      return sessionFacts(facts, before as Session | undefined, after as Session);
    case 'message':
      return messageFacts(facts, before as Message | undefined, after as Message);
    case 'request':
      return requestFacts(facts, before as Request | undefined, after as Request);
    case 'budget':
      return budgetFacts(facts, before as Budget | undefined, after as Budget);
    default:
      table satisfies never;
  }
}

function planFacts(facts: Fact[], before: Plan | undefined, after: Plan): void {
  if (before?.state === after.state) return;
  facts.push({
    type: before ? `plan.${after.state}` : 'plan.created',
    plan: after.id,
    data: { state: after.state, why: after.why },
  });
}

function taskFacts(facts: Fact[], before: Task | undefined, after: Task): void {
  const ids = after.plan ? { task: after.id, plan: after.plan } : { task: after.id };
  if (!before) {
    const { name, owner, state, why } = after;
    facts.push({ type: 'task.created', ...ids, session: after.session, data: { name, owner, state, why } });
    return;
  }
  if (before.owner !== after.owner)
    facts.push({ type: 'task.handed_up', ...ids, data: { owner: after.owner } });
  if (!before.cancelling && after.cancelling) {
    facts.push({
      type: 'task.cancelling',
      ...ids,
      data: { by: after.cancelling.by, why: after.cancelling.why },
    });
  }
  if (before.state === after.state && before.waitingOn === after.waitingOn) return;
  const on = after.waitingOn ? { on: after.waitingOn } : {};
  facts.push({ type: `task.${after.state}`, ...ids, data: { state: after.state, why: after.why, ...on } });
}

function runFacts(facts: Fact[], before: Run | undefined, after: Run): void {
  const ids = { run: after.id, task: after.task };
  if (!before) facts.push({ type: 'run.opened', ...ids, data: { attempt: after.attempt } });
  if (before?.epoch !== after.epoch)
    facts.push({ type: 'run.held', ...ids, data: { epoch: after.epoch, host: after.host } });
  if (before?.turn && before.turn.number !== after.turn?.number) {
    facts.push({ type: 'turn.ended', ...ids, data: { turn: before.turn.number } });
  }
  if (after.turn && before?.turn?.number !== after.turn.number) {
    facts.push({ type: 'turn.opened', ...ids, data: { turn: after.turn.number } });
  }
  if (before && before.paused !== after.paused)
    facts.push({ type: after.paused ? 'run.paused' : 'run.resumed', ...ids });
  if (before?.health && !after.health && after.state === 'open')
    facts.push({ type: 'health.recovered', ...ids });
  if (before && after.faults > before.faults)
    facts.push({ type: 'run.fault', ...ids, data: { faults: after.faults } });
  if (before?.end || !after.end) return;
  const { status, cause, error } = after.end;
  facts.push({
    type: 'run.ended',
    ...ids,
    data: { status, cause, ...(error ? { error: error.class } : {}) },
  });
}

function sessionFacts(facts: Fact[], before: Session | undefined, after: Session): void {
  if (before?.state === after.state) return;
  // A worker's session begins with its task, which has a fact of its own.
  if (!before && after.kind === 'worker') return;
  facts.push({
    type: before ? `session.${after.state}` : 'session.opened',
    session: after.id,
    data: { kind: after.kind },
  });
}

/** Messages that move together are one fact: a parent may be given a thousand in one turn. */
function messageFacts(facts: Fact[], before: Message | undefined, after: Message): void {
  if (before?.state === after.state) return;
  if (!before && after.state === 'delivered') {
    // Taken in the change that brought it.
    const queued: Message = { ...after, state: 'queued', taken: null };
    messageFacts(facts, undefined, queued);
    return messageFacts(facts, queued, after);
  }
  const type = before && after.state === 'queued' ? 'message.given_back' : `message.${after.state}`;
  const last = facts.at(-1);
  if (last?.type === type && last.session === after.to && before) {
    last.messages?.push(after.id);
    return;
  }
  const data: Record<string, unknown> = before
    ? {}
    : { kind: after.kind, key: after.key, number: after.number };
  if (after.taken) data['by'] = after.taken.id;
  facts.push({ type, session: after.to, messages: [after.id], data });
}

function requestFacts(facts: Fact[], before: Request | undefined, after: Request): void {
  const ids = { request: after.id, task: after.task };
  if (!before) facts.push({ type: 'request.opened', ...ids, data: { kind: after.kind, with: after.with } });
  // One may be over in the change that opens it: a silent worker gives a sign while that is told.
  if ((before?.state ?? 'open') !== after.state) facts.push({ type: `request.${after.state}`, ...ids });
  else if (before && before.with !== after.with)
    facts.push({ type: 'request.moved', ...ids, data: { with: after.with } });
}

function budgetFacts(facts: Fact[], before: Budget | undefined, after: Budget): void {
  if (before && before.used === after.used && before.limits === after.limits) return;
  facts.push({ type: 'budget.changed', data: { node: after.id, used: after.used, limits: after.limits } });
}
