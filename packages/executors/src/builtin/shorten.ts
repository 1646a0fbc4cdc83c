import type { ModelMessage } from 'ai';

/** What a conversation that became too long is made from. */
export interface Past {
  readonly messages: readonly ModelMessage[];
  readonly task: string;
  /** All mail there was, oldest first. */
  readonly letters: readonly string[];
  /** Its subtasks as they are now, in words. */
  readonly children: string;
  /** How much the conversation may hold afterwards, in characters. */
  readonly room: number;
}

export const SHORTENED = '[This conversation became too long and was shortened by Reveille.]';

const SUMMARY_FOR_SELF = `This conversation is about to be shortened. Write down, for yourself, all that is needed to go on with the task without it:
what was asked and decided; what is done, with the names of files, commands and their results; what was tried and failed, and why; what is
open, in order. Only facts from this conversation. At most 800 words.`;

/** What is asked of the model: its task, and of the rest only what would be forgotten. Null: nothing would be. */
export function summaryRequest(past: Past): ModelMessage[] | null {
  const { old } = split(past);
  const forgotten = old.filter(({ content }) => content !== past.task);
  if (forgotten.length === 0) return null;
  const shown = rendered(forgotten, Math.floor(past.room * 0.8));
  return [
    { role: 'user', content: past.task },
    { role: 'user', content: `What happened since:\n\n${shown}\n\n${SUMMARY_FOR_SELF}` },
  ];
}

/** The task in full, what is known of the rest, all mail there is room for, the subtasks, and then the last steps as they were. */
export function shortened(past: Past, summary: string | null): ModelMessage[] {
  const { old, recent } = split(past);
  const shown = JSON.stringify(recent);
  const unseen = past.letters.filter((letter) => !shown.includes(JSON.stringify(letter).slice(1, -1)));
  const parts = [
    SHORTENED,
    '',
    'What you had done:',
    summary?.trim() || digest(old),
    '',
    past.children,
    ...mail(unseen, Math.floor(past.room * 0.2)),
    '',
    'Go on where you were.',
  ];
  return [
    { role: 'user', content: past.task },
    { role: 'user', content: parts.join('\n') },
    ...recent.map((message) => trimmed(message, Math.floor(past.room * 0.1))),
  ];
}

/** The last steps that fit into a quarter of the room, one at least; a call is never parted from its result. */
function split({ messages, room }: Past): { old: readonly ModelMessage[]; recent: readonly ModelMessage[] } {
  let from = messages.length;
  let left = room * 0.25;
  let step = false;
  for (let at = messages.length - 1; at > 0; at--) {
    const message = messages[at];
    left -= JSON.stringify(message).length;
    if (left < 0 && step) break;
    if (message?.role !== 'tool') from = at;
    step ||= message?.role === 'assistant';
  }
  return { old: messages.slice(0, from), recent: messages.slice(from) };
}

/** Newest first if there is not room for all; none is cut, so that its fence stays whole. */
function mail(letters: readonly string[], room: number): string[] {
  const kept: string[] = [];
  let left = room;
  for (const letter of letters.toReversed()) {
    left -= letter.length;
    if (left < 0 && kept.length > 0) break;
    kept.unshift(letter);
  }
  if (kept.length === 0) return [];
  const more = letters.length - kept.length;
  const older = more > 0 ? [`(${more} older ones are left out.)`] : [];
  return ['', 'The mail you were given:', ...older, ...kept];
}

/** What can be said without a model. */
function digest(messages: readonly ModelMessage[]): string {
  const calls = messages.flatMap((message) =>
    message.role === 'assistant' && typeof message.content !== 'string'
      ? message.content.filter((part) => part.type === 'tool-call')
      : [],
  );
  const lines = calls
    .slice(-100)
    .map(({ toolName, input }) => `- ${toolName} ${head(JSON.stringify(input), 200)}`);
  return lines.length > 0 ? `You called:\n${lines.join('\n')}` : 'Nothing is known of it.';
}

function rendered(messages: readonly ModelMessage[], room: number): string {
  const each = Math.max(200, Math.floor(room / Math.max(1, messages.length)));
  const lines = messages.map((message) => `${message.role}: ${head(textOf(message), Math.max(each, 1_000))}`);
  const all = lines.join('\n\n');
  return all.length <= room
    ? all
    : `${all.slice(0, Math.floor(room / 4))}\n[…]\n${all.slice(-Math.floor(room * 0.7))}`;
}

function textOf({ content }: ModelMessage): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text;
      if (part.type === 'tool-call') return `[calls ${part.toolName} ${JSON.stringify(part.input)}]`;
      return part.type === 'tool-result'
        ? `[result of ${part.toolName}: ${JSON.stringify(part.output)}]`
        : '';
    })
    .join('\n');
}

/** One step alone may be too long: then its results are shown in part. */
function trimmed(message: ModelMessage, most: number): ModelMessage {
  if (message.role !== 'tool') return message;
  const content = message.content.map((part) => {
    if (part.type !== 'tool-result') return part;
    const { output } = part;
    if ((output.type !== 'text' && output.type !== 'error-text') || output.value.length <= most) return part;
    return { ...part, output: { type: output.type, value: `${head(output.value, most)}\n[… cut]` } };
  });
  return { ...message, content };
}

const head = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
