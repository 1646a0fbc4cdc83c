import type { Request } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

/** These suspend whoever asked; the answer reaches it as a message. What the others do when answered is looked at elsewhere. */
const ASKED: readonly Request['kind'][] = ['question', 'approval'];

/** A request is answered once, by a change that tells the asker, and until then somebody has it. */
export function auditRequests(auditor: Auditor, change: Durable): void {
  for (const delta of change.deltas) {
    if (is(delta, 'request')) auditRequest(auditor, change, delta);
    // Whoever held requests and is gone must have left them to somebody by this very change.
    if (is(delta, 'session') && delta.after.state === 'ended' && delta.before?.state === 'open')
      for (const request of auditor.ledger.heldBy(delta.after.id)) auditHolder(auditor, request);
    if (is(delta, 'message') && delta.after.state === 'dead' && delta.after.request) {
      const request = auditor.ledger.rows.request.get(delta.after.request);
      if (request) auditHolder(auditor, request);
    }
  }
}

function auditRequest(auditor: Auditor, change: Durable, { before, after }: Delta<'request'>): void {
  auditHolder(auditor, after);
  if (!before) return auditor.requestMoved(after.id);
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
