import {
  ReveilleError,
  isGranted,
  nextSteps,
  type Delivery,
  type Message,
  type RunId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { assignmentText } from './assignment.ts';
import { overrunWords } from './budget.ts';
import { storedChain } from './budget-notes.ts';
import type { Context } from './context.ts';
import { endBody, envelope } from './envelope.ts';
import { knownAs } from './known-as.ts';
import type { Store } from './ports/store.ts';
import type { Workspace } from './ports/workspaces.ts';
import { changeText } from './review-words.ts';
import type { OpenedTurn } from './run-acts.ts';
import { situation } from './situation.ts';

/** Messages as their recipient gets them. An end is read from its run, which never changes again. */
export async function deliveries(store: Store, messages: readonly Message[]): Promise<Delivery[]> {
  const rendered: Delivery[] = [];
  for (const message of messages) {
    const about = message.task ? ((await store.get('task', message.task))?.doc ?? null) : null;
    const run =
      message.run && (message.kind === 'end' || message.kind === 'review')
        ? await store.get('run', message.run)
        : undefined;
    const end = run?.doc.end ?? null;
    const overrun = about && end ? overrunWords(await storedChain(store, about.budget), about.id) : null;
    const body = about && end ? endBody(about, end, { counts: run?.doc.counts, overrun }) : message.text;
    const who = await knownAs(store, message);
    rendered.push(envelope(message, { task: about, end, body, who }));
  }
  return rendered;
}

/** The text of a turn: the task itself, that the agent was resumed, then the mail. */
export async function turnText(
  context: Pick<Context, 'agents' | 'store' | 'settings' | 'workspaces'>,
  id: TaskId,
  turn: OpenedTurn,
  given: { readonly run: RunId; readonly workspace: Workspace | null },
): Promise<string> {
  const { store } = context;
  const parts: string[] = [];
  const task = (await store.get('task', id))?.doc;
  if (!task) throw new ReveilleError('not_found', `There is no task ${id}.`);
  if (turn.assignment) parts.push(await assignmentText(context, task, given));
  const change = turn.assignment && task.reviews ? await changeText(context, task) : null;
  if (change !== null) parts.push(change);
  // An agent that takes the task over was not interrupted, and mail says so.
  const takesOver = turn.assignment && turn.messages.some(({ kind }) => kind === 'resume');
  if (turn.resumed) parts.push(await resumeNote(store, task, takesOver));
  parts.push(...(await mailText(context, task, turn.messages)));
  const session = (await store.get('session', task.session))?.doc;
  const stands = session ? await situation(store, session) : null;
  if (stands !== null) parts.push(stands);
  return parts.join('\n\n');
}

/** Mail as it goes into a turn: the messages, then what can be done about them, by the tools that the agent has. */
export async function mailText(
  { store, agents }: Pick<Context, 'store' | 'agents'>,
  { agent, repository }: Task,
  messages: readonly Message[],
): Promise<string[]> {
  const given = await deliveries(store, messages);
  const defined = agents.defined?.(agent.name, repository);
  const steps = defined ? nextSteps(given, (tool) => isGranted(defined, tool)) : [];
  return [...given.map(({ text }) => text), ...(steps.length > 0 ? [steps.join('\n')] : [])];
}

/** EXE3: whoever is resumed is first told which of its children are open and which have ended. */
async function resumeNote(store: Store, task: Task, takesOver: boolean): Promise<string> {
  const children = await store.find('task', { list: 'byOwner', equal: [task.session], limit: 200 });
  const own = children.filter(({ doc }) => !doc.reviews);
  const lines = own.map(({ doc }) => `- ${doc.id} "${doc.name}": ${doc.state}`);
  const list = lines.length > 0 ? `Your children:\n${lines.join('\n')}` : 'You have no children.';
  if (takesOver) return list;
  return `You were interrupted and go on with your task (${task.id}). ${list}\nGo on where you were.`;
}
