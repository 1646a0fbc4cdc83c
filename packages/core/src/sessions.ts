import { isTerminal, type Session, type SessionKind } from '@reveille/protocol';
import { bornSession } from './births.ts';
import type { Context } from './context.ts';
import { closeMailbox } from './mailbox.ts';
import { cancelTree, passOnAll } from './settle.ts';
import type { Tx } from './tx.ts';

export const openSession = (
  tx: Tx,
  context: Context,
  made: { kind: SessionKind; name: string; repository: string | null },
): Session => bornSession(tx, context, { ...made, parent: null, rootKind: made.kind, depth: 0, task: null });

/** The terminal session that owns what a person starts without a session of their own. */
export async function personSession(tx: Tx, context: Context, name: string): Promise<Session> {
  const wanted = `person:${name}`;
  const terminals = await tx.list('session', { list: 'byKind', equal: ['terminal'] });
  return (
    terminals.find((session) => session.name === wanted && session.state === 'open') ??
    openSession(tx, context, { kind: 'terminal', name: wanted, repository: null })
  );
}

/** For good, unlike a disconnect (MBX6): its running children are cancelled, its unread mail stays on record. */
export async function endSession(tx: Tx, context: Context, session: Session): Promise<void> {
  if (session.state === 'ended') return;
  await closeMailbox(tx, session, { read: false });
  // Before its children end: what they report to it now is dead on arrival, not queued for nobody.
  tx.put('session', { ...(await tx.need('session', session.id)), state: 'ended' });
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [session.id, 1] })) {
    if (isTerminal(child.state)) continue;
    // A plan outlives whoever saved it.
    if (child.plan === null)
      await cancelTree(tx, context, child, { by: 'reveille', why: `session ${session.name} has ended` });
  }
  await passOnAll(tx, context, session.id);
}
