import {
  countsText,
  defuse,
  formatAgentType,
  type Delivery,
  type Message,
  type RunCounts,
  type RunEnd,
  type Task,
  visible,
} from '@reveille/protocol';

/**
 * What an agent is given says where it comes from and is fenced as data (WAK5). The fence carries the message's
 * id, which no sender can know beforehand, and any look-alike inside the body is broken up, so an answer can
 * neither close its own fence nor pass for somebody else's word.
 */
export function envelope(
  message: Message,
  about: { task: Task | null; end: RunEnd | null; body: string; who: string },
): Delivery {
  const { task, end, who } = about;
  const again = message.maybeSeen > 0 ? ' (given again: you may have seen it before)' : '';
  const head = `${headline(message, who, { task, end })}${again}`;
  const text = `${fenced(head, message.id, about.body)}${decide(message)}`;
  return { message, task, end, text };
}

/** Words of others under a line of ours, in a fence that they cannot close. */
export function fenced(head: string, name: string, body: string): string {
  const fence = `reveille-data ${name}`;
  return `${head}\n<${fence}>\n${defuse(body)}\n</${fence}>`;
}

/** Characters of a prompt in the line above a message: whoever wrote it knows the rest. */
const PROMPT = 100;

/** A failure waits for a word of whoever is told of it. */
const decide = ({ kind, request }: Message): string =>
  kind === 'end' && request
    ? `\nDecide about it with request ${request}: retry, retry with another agent or model, or cancel.`
    : '';

function headline(
  message: Message,
  who: string,
  { task, end }: { readonly task: Task | null; readonly end: RunEnd | null },
): string {
  switch (message.kind) {
    case 'end':
      return `${who} received the task ${quote(task?.prompt ?? '', PROMPT)}${as(task)}; it ended: ${end?.status ?? 'cancelled'}. Its response:`;
    case 'question':
      return `${who} asks you (answer with request ${message.request}):`;
    case 'approval_request':
      return `${who} wants your approval (answer with request ${message.request}):`;
    case 'review':
      return `${who} finished its task ${quote(task?.prompt ?? '', PROMPT)} and asks for review. Its response:`;
    case 'changes':
      return `The review of your work by ${who} asks for changes:`;
    case 'answer':
      return `${who} answers your request ${message.request}:`;
    case 'idle_response':
      return `${who}, asked why it is silent, says:`;
    case 'progress':
    case 'info':
    case 'error':
    case 'health':
    case 'warning':
      return message.from.kind === 'harness'
        ? `${message.kind} from Reveille:`
        : `${message.kind} about ${who}:`;
    case 'words':
      return `${who} says:`;
    case 'forecast':
      return 'Reveille forecasts:';
    case 'inquiry':
    case 'resume':
      return 'Reveille says:';
    default:
      return message.kind satisfies never;
  }
}

/** As which agent a task was done. */
const as = (task: Task | null): string => (task ? ` as ${formatAgentType(task.agent)}` : '');

/** The body of an end or a review: the answer in full, then what it left in its worktree. */
export function endBody(
  task: Task,
  end: RunEnd,
  { counts, overrun }: { readonly counts?: RunCounts | undefined; readonly overrun: string | null },
): string {
  const lines = [end.output];
  if (end.error) lines.push(`error (${end.error.class}): ${end.error.message}`);
  if (end.structured !== undefined) lines.push(`result: ${JSON.stringify(end.structured)}`);
  if (end.work) {
    const { worktree, branch, files, notices = [] } = end.work;
    lines.push(`worktree: ${worktree}`, `branch: ${branch}`, `files changed: ${files.length}`);
    lines.push(...files.map((file) => `  ${file.path} +${file.insertions} −${file.deletions}`));
    lines.push(...notices.map((notice) => `note: ${notice}`));
  }
  if (overrun !== null) lines.push(`over budget: ${overrun}`);
  const words = countsText(counts);
  if (words !== '') lines.push(`looked up and handed on: ${words}`);
  lines.push(`agent: ${formatAgentType(task.agent)}, attempt ${task.attempts}`);
  return lines.join('\n');
}

/** One line, harmless, of bounded length: a prompt is an author's word and may hold anything. */
export function quote(text: string, most = 300): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  // Cut first, so that no tag is put together by the cut; what cannot be seen or turns text around is written out.
  return visible(JSON.stringify(defuse(flat.length > most ? `${flat.slice(0, most)}…` : flat)));
}

/** A task or a plan as messages name it: its name, then its id. */
export const titleOf = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  `${quote(name, 80)} (${id})`;

const LAST_WORDS = 2_000;

/** For an agent that goes on with a run that it knows nothing of: where the work is, and the last words. */
export function workOf(lastWords: string): string {
  // Quoted: they are the agent's words, and not ours.
  const words =
    lastWords === '' ? '' : ` Its last words were: ${quote(lastWords.slice(-LAST_WORDS), LAST_WORDS)}`;
  return `What it did is in your worktree: look at the commits on your branch and at what is not committed before you change anything.${words}`;
}
