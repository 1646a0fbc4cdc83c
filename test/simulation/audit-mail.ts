import type { Message } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

const MOVES: { readonly [S in Message['state']]: readonly Message['state'][] } = {
  queued: ['delivered', 'dead'],
  delivered: ['read', 'queued', 'dead'],
  read: [],
  dead: ['queued'],
};

export function auditMail(auditor: Auditor, change: Durable): void {
  for (const delta of change.deltas) {
    if (is(delta, 'message')) auditMessage(auditor, delta);
    if (is(delta, 'run')) auditOpenedTurn(auditor, change, delta);
  }
}

function auditMessage(auditor: Auditor, { before, after }: Delta<'message'>): void {
  if (!before) return auditNewMessage(auditor, after);
  if (before.state !== after.state) {
    // What one that stands still was answered, its executor has at once.
    const heard = before.state === 'queued' && after.state === 'read' && auditor.ledger.isLeave(after);
    // An answer that counted as received did not arrive after all.
    const back = before.state === 'read' && after.state === 'queued';
    // So may what was offered again, refused, and shown by then to have come by an earlier road.
    const undone = back && (auditor.lostAnswers.has(after.id) || after.maybeSeen > 0);
    auditor.check(
      heard || undone || MOVES[before.state].includes(after.state),
      'mail',
      `message ${after.id} (${after.kind}) went from ${before.state} to ${after.state}`,
    );
  }
  const folded = after.state === 'dead' && before.state !== 'dead' && after.dead?.startsWith('folded');
  auditor.check(
    !folded || isInformational(after),
    'mail',
    `message ${after.id} is a ${after.kind} and was folded away`,
  );
  if (after.state === 'dead' && before.state !== 'dead' && !folded) {
    const ended = auditor.ledger.rows.session.get(after.to)?.state === 'ended';
    auditor.check(
      ended,
      'mail',
      `message ${after.id} (${after.kind}) is dead: "${after.dead}", and ${after.to} is open`,
    );
  }
  auditor.check(
    after.state !== 'delivered' || after.taken !== null,
    'mail',
    `message ${after.id} is delivered to nobody`,
  );
  auditor.check(
    after.number === before.number && after.key === before.key,
    'mail',
    `message ${after.id} changed its place`,
  );
}

const isInformational = ({ kind }: Message): boolean => ['progress', 'info', 'forecast'].includes(kind);

function auditNewMessage(auditor: Auditor, message: Message): void {
  const session = auditor.ledger.rows.session.get(message.to);
  auditor.check(
    session !== undefined && message.number <= session.mail,
    'mail',
    `message ${message.id} has number ${message.number}, the mailbox is at ${session?.mail}`,
  );
  const known = auditor.keys.get(`${message.to}/${message.key}`);
  auditor.check(
    known === undefined,
    'mail',
    `messages ${known} and ${message.id} have the same key ${message.key}`,
  );
  auditor.keys.set(`${message.to}/${message.key}`, message.id);
  // Whoever sits at the mailbox with nothing to do takes it in the change that brings it.
  const along = message.state === 'delivered' && message.taken?.by === 'receiver' && !session?.task;
  auditor.check(
    message.state === 'queued' || message.state === 'dead' || along,
    'mail',
    `message ${message.id} was born ${message.state}`,
  );
  // Several that come in one change may be folded by it.
  const folded = message.dead?.startsWith('folded') === true && isInformational(message);
  auditor.check(
    message.state !== 'dead' || session?.state === 'ended' || folded,
    'mail',
    `message ${message.id} was born dead for the open ${message.to}`,
  );
  if (message.kind !== 'inquiry' || !session?.task) return;
  const asked = auditor.ledger
    .mailOf(message.to)
    .filter((other) => other.kind === 'inquiry' && other.state === 'queued');
  auditor.check(
    asked.length === 1,
    'health',
    `${message.to} is asked ${asked.length} times at once why it is silent`,
  );
  const run = auditor.ledger.rows.task.get(session.task)?.run;
  auditor.check(run !== null, 'health', `an inquiry ${message.key} was sent to a task that has no open run`);
}

/** WAK2: all that waits when a turn opens comes with it. */
function auditOpenedTurn(auditor: Auditor, change: Durable, { before, after }: Delta<'run'>): void {
  if (!after.turn || before?.turn?.number === after.turn.number) return;
  const id = `${after.id}/${after.turn.number}`;
  for (const message of auditor.ledger.mailOf(after.session)) {
    if (message.state === 'delivered' && message.taken?.id !== id) {
      auditor.check(
        false,
        'mailbox order',
        `turn ${id} opened and message ${message.id} (${message.kind}) is still with ${message.taken?.id}`,
      );
    }
    const isNew = change.deltas.some(
      (delta) => delta.table === 'message' && delta.after.id === message.id && !delta.before,
    );
    auditor.check(
      message.state !== 'queued' || isNew,
      'mailbox order',
      `turn ${id} opened without message ${message.id} (${message.kind} ${message.number})`,
    );
  }
}
