import {
  ReveilleError,
  formatAgentType,
  type Delivery,
  type Message,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { endBody, envelope } from './envelope.ts';
import type { Store } from './ports/store.ts';
import type { Workspace } from './ports/workspaces.ts';
import type { OpenedTurn } from './run-acts.ts';

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
    const body = about && end ? endBody(about, end) : message.text;
    rendered.push(envelope(message, { task: about, end, body }));
  }
  return rendered;
}

/** The text of a turn: the task itself, that the agent was resumed, then the mail. */
export async function turnText(
  store: Store,
  id: TaskId,
  turn: OpenedTurn,
  workspace: Workspace | null,
): Promise<string> {
  const parts: string[] = [];
  const task = (await store.get('task', id))?.doc;
  if (!task) throw new ReveilleError('not_found', `There is no task ${id}.`);
  if (turn.assignment) parts.push(assignment(task, workspace));
  if (turn.resumed) parts.push(await resumeNote(store, task));
  for (const delivery of await deliveries(store, turn.messages)) parts.push(delivery.text);
  return parts.join('\n\n');
}

function assignment(task: Task, workspace: Workspace | null): string {
  const lines = [
    `You are ${formatAgentType(task.agent)}. Your task (${task.id}):`,
    task.prompt,
    ...(task.expectedOutput ? ['', `Expected output: ${task.expectedOutput}`] : []),
    ...(task.targetFiles.length > 0 ? ['', `Files: ${task.targetFiles.join(', ')}`] : []),
    ...(workspace ? ['', ...place(workspace)] : []),
    '',
    'When you are done, report it with a2a_subtask_complete. Until then the task counts as open.',
  ];
  return lines.join('\n');
}

/** Where it works, and what it should know of that. */
const place = ({ path, branch, notices }: Workspace): string[] => [
  `You work in ${path}, on the branch ${branch}. Commit there; touch nothing outside.`,
  ...notices.map((notice) => `Note: ${notice}`),
];

/** EXE3: whoever is resumed is first told which of its children are open and which have ended. */
async function resumeNote(store: Store, task: Task): Promise<string> {
  const children = await store.find('task', { list: 'byOwner', equal: [task.session], limit: 200 });
  const lines = children.map(({ doc }) => `- ${doc.id} "${doc.name}": ${doc.state}`);
  const list = lines.length > 0 ? `Your children:\n${lines.join('\n')}` : 'You have no children.';
  return `You were interrupted and go on with your task (${task.id}). ${list}\nGo on where you were.`;
}
