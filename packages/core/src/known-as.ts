import { formatAgentType, type Message, type Sender, type Session, type Task } from '@reveille/protocol';
import { quote } from './envelope.ts';
import type { Store } from './ports/store.ts';

/** Characters of a name in the line above a message. */
const NAME = 80;

/** Who sent a message, as its receiver knows them (WAK8): "your subtask "kid1" (task_…)", "your parent (the chat "t3")". */
export async function knownAs(store: Store, { from, to }: Pick<Message, 'from' | 'to'>): Promise<string> {
  if (from.kind === 'person') return 'a person';
  if (from.kind === 'harness') return 'Reveille';
  const receiver = (await store.get('session', to))?.doc;
  const { session, task } = await behind(store, from);
  const relation = receiver ? relationOf(receiver, session, task) : null;
  if (task) {
    const who = `${quote(task.name, NAME)} (${task.id})`;
    return `${relation ?? formatAgentType(task.agent)} ${who}`;
  }
  const party = session ? `the ${session.kind} ${quote(session.name, NAME)}` : unknown(from);
  return relation === null ? party : `${relation} (${party})`;
}

/** Of somebody who is on no record any more, what the message itself says. */
const unknown = (from: Extract<Sender, { kind: 'task' | 'session' }>): string =>
  from.kind === 'task' ? `${from.agent} (${from.task})` : `session ${from.session}`;

async function behind(
  store: Store,
  from: Extract<Sender, { kind: 'task' | 'session' }>,
): Promise<{ readonly session: Session | undefined; readonly task: Task | undefined }> {
  if (from.kind === 'task') {
    const task = (await store.get('task', from.task))?.doc;
    return { task, session: task && (await store.get('session', task.session))?.doc };
  }
  const session = (await store.get('session', from.session))?.doc;
  return { session, task: session?.task ? (await store.get('task', session.task))?.doc : undefined };
}

/** Null: they are neither above nor beside nor directly below the receiver. */
function relationOf(receiver: Session, sender: Session | undefined, task: Task | undefined): string | null {
  if (sender && sender.id === receiver.parent) return 'your parent';
  if (task?.reviews) return 'the reviewer';
  if (task?.owner === receiver.id) return task.plan === null ? 'your subtask' : 'your task';
  const isBeside = task !== undefined && receiver.parent !== null && task.owner === receiver.parent;
  return isBeside && task.session !== receiver.id ? 'a sibling' : null;
}
