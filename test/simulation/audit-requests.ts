import type { Request, Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

/** These suspend whoever asked; the answer reaches it as a message. What the others do when answered is looked at elsewhere. */
const ASKED: readonly Request['kind'][] = ['question', 'approval'];

/** Nobody is at work on it. */
const SETTLED: readonly Task['state'][] = ['completed', 'failed', 'cancelled', 'review'];

/** A request is answered once, by a change that tells the asker, and until then somebody has it. */
export function auditRequests(auditor: Auditor, change: Durable): void {
  for (const delta of change.deltas) {
    if (is(delta, 'request')) auditRequest(auditor, change, delta);
    // Whoever held requests and is gone must have left them to somebody by this very change.
    if (is(delta, 'session') && delta.after.state === 'ended' && delta.before?.state === 'open')
      for (const request of auditor.ledger.heldBy(delta.after.id)) auditHolder(auditor, request);
    if (is(delta, 'task') && delta.before?.state !== delta.after.state)
      auditAsked(auditor, change, delta.after);
    if (is(delta, 'message') && delta.after.state === 'dead' && delta.after.request) {
      const request = auditor.ledger.rows.request.get(delta.after.request);
      if (request) auditHolder(auditor, request);
    }
  }
}

function auditRequest(auditor: Auditor, change: Durable, { before, after }: Delta<'request'>): void {
  auditHolder(auditor, after);
  if (!before) {
    auditIdle(auditor, after);
    return auditor.requestMoved(after.id);
  }
  auditor.check(
    before.state === 'open' || (before.state === after.state && before.answer === after.answer),
    'one answer',
    `request ${after.id} was ${before.state} (${before.answer?.text}) and is ${after.state} (${after.answer?.text})`,
  );
  auditor.check(
    (after.state === 'answered') === (after.answer !== null),
    'one answer',
    `request ${after.id} is ${after.state} and its answer is ${after.answer?.text ?? 'none'}`,
  );
  if (before.movedAt !== after.movedAt) auditor.requestPassedOn(before, after);
  if (before.state === 'open' && after.state === 'closed') auditClosed(auditor, change, after);
  const over = after.state === 'answered' || after.state === 'expired';
  if (before.state !== 'open' || !over || !ASKED.includes(after.kind)) return;
  const told = change.deltas.filter(
    (delta) =>
      is(delta, 'message') &&
      !delta.before &&
      delta.after.kind === 'answer' &&
      delta.after.request === after.id,
  );
  auditor.check(
    told.length === 1,
    'mail',
    `request ${after.id} is ${after.state} and the asker was told ${told.length} times in that change`,
  );
}

/** INB1: one item about a silent worker, however often and by what that is noticed. */
function auditIdle(auditor: Auditor, { id, kind, task }: Request): void {
  if (kind !== 'idle') return;
  const other = [...auditor.ledger.rows.request.values()].find(
    (open) => open.id !== id && open.task === task && open.kind === 'idle' && open.state === 'open',
  );
  auditor.check(
    other === undefined,
    'requests',
    `${id} asks about the silence of ${task}, as ${other?.id} does`,
  );
}

/** INB2: with a person, who sees it in the inbox, or with an open session that was told of it and reads its mail. */
function auditHolder(auditor: Auditor, request: Request): void {
  if (request.state !== 'open' || request.with === null) return;
  const { ledger } = auditor;
  // Nobody needs the answer of one that is being cancelled; it closes when that has stopped.
  if (ledger.rows.task.get(request.task)?.cancelling) return;
  const holder = ledger.rows.session.get(request.with);
  auditor.check(
    holder?.state === 'open' && holder.kind !== 'terminal',
    'holders',
    `request ${request.id} (${request.kind}) is with ${request.with}, which is ${holder?.state} (${holder?.kind})`,
  );
  if (!ASKED.includes(request.kind)) return;
  const told = ledger
    .mailOf(request.with)
    .some((message) => message.request === request.id && message.state !== 'dead');
  auditor.check(told, 'holders', `request ${request.id} is with ${request.with}, and nobody told it`);
}

/** Nobody needs it any more: its task has ended, is tried again or has its verdict, its asker gave up, its plan grew, or the silent agent gave a sign. */
function auditClosed(auditor: Auditor, { deltas }: Durable, request: Request): void {
  const moved = deltas.some(
    (delta) =>
      is(delta, 'task') &&
      delta.after.id === request.task &&
      [delta.before?.state, delta.after.state].some((state) => state && SETTLED.includes(state)),
  );
  const raised =
    request.kind === 'budget' &&
    deltas.some((delta) => is(delta, 'budget') && delta.before?.limits !== delta.after.limits);
  // A plan that gets another task while it waits for approval is shown to the person again.
  const shownAgain =
    request.kind === 'plan' &&
    deltas.some(
      (delta) =>
        is(delta, 'request') &&
        !delta.before &&
        delta.after.plan === request.plan &&
        delta.after.state === 'open',
    );
  const recovered =
    request.kind === 'idle' &&
    deltas.some(
      (delta) =>
        is(delta, 'run') &&
        delta.after.task === request.task &&
        delta.before?.health !== undefined &&
        delta.before.health.what !== delta.after.health?.what,
    );
  const cancelling = auditor.ledger.rows.task.get(request.task)?.cancelling;
  auditor.check(
    moved || raised || shownAgain || recovered || cancelling !== null || auditor.gaveUp(request),
    'requests',
    `request ${request.id} (${request.kind}) of ${request.task} was closed, and nothing says why`,
  );
}

/** INB1: a failure of a plan's task, or what is to be reviewed, is asked about in the very change that makes it so. */
function auditAsked(auditor: Auditor, { deltas }: Durable, task: Task): void {
  const failed =
    task.state === 'failed' &&
    task.plan !== null &&
    deltas.some(
      (delta) => is(delta, 'run') && delta.after.task === task.id && delta.before?.end !== delta.after.end,
    );
  if (!failed && task.state !== 'review') return;
  const kinds = failed ? ['failure', 'budget', 'escape'] : ['review'];
  const asked = deltas.some(
    (delta) =>
      is(delta, 'request') &&
      delta.after.task === task.id &&
      delta.after.state === 'open' &&
      kinds.includes(delta.after.kind),
  );
  const isReviewed = task.state === 'review' && (task.reviewing?.task ?? null) !== null;
  auditor.check(
    asked || isReviewed,
    'requests',
    `task ${task.id} is ${task.state}, and nobody was asked what is to be done`,
  );
}
