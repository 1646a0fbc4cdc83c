import type { MessageKind, RequestId, TaskId } from '@reveille/protocol';

/** A message as a scripted agent reads it out of the text of its turn. It is given nothing else, like a real agent. */
export interface Letter {
  readonly id: string;
  readonly kind: MessageKind | 'other';
  /** Whom it is about. */
  readonly task: TaskId | null;
  /** For an end: how. */
  readonly status: string | null;
  /** For a question or an answer: which. */
  readonly request: RequestId | null;
  readonly body: string;
  /** It says of itself that it may have been seen before. */
  readonly again: boolean;
}

const LETTER = /^(.*)\n<reveille-data (msg_[0-9a-z]+)>\n([\s\S]*?)\n<\/reveille-data \2>$/gm;
const AGAIN = ' (given again: you may have seen it before)';

/** What a headline ends in, by kind. The end, because words of others may stand before it. */
const ENDINGS: readonly (readonly [RegExp, MessageKind])[] = [
  [/; it ended: (\w+)\. Its response:$/, 'end'],
  [/ asks you \(answer with request (req_\w+)\):$/, 'question'],
  [/ wants your approval \(answer with request (req_\w+)\):$/, 'approval_request'],
  [/ answers your request (req_\w+):$/, 'answer'],
  [/ and asks for review\. Its response:$/, 'review'],
  [/ asks for changes:$/, 'changes'],
  [/, asked why it is silent, says:$/, 'idle_response'],
  [/^progress (?:about|from) .*:$/, 'progress'],
  [/^info (?:about|from) .*:$/, 'info'],
  [/^error (?:about|from) .*:$/, 'error'],
  [/^health (?:about|from) .*:$/, 'health'],
  [/^warning (?:about|from) .*:$/, 'warning'],
  [/^Reveille forecasts:$/, 'forecast'],
  [/^Reveille says:$/, 'inquiry'],
  [/ says:$/, 'words'],
];

export function readLetters(text: string): Letter[] {
  const letters: Letter[] = [];
  for (const [, headline = '', id = '', body = ''] of text.matchAll(LETTER)) {
    const again = headline.endsWith(AGAIN);
    letters.push({ id, body, again, ...readHeadline(again ? headline.slice(0, -AGAIN.length) : headline) });
  }
  return letters;
}

/** Names and prompts are words of others, in quotes: what stands in them says nothing about the message. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

function readHeadline(line: string): Pick<Letter, 'kind' | 'task' | 'status' | 'request'> {
  const headline = line.replaceAll(QUOTED, '""');
  const task = (/\((task_[0-9a-z]+)\)/.exec(headline)?.[1] ?? null) as TaskId | null;
  for (const [ending, kind] of ENDINGS) {
    const match = ending.exec(headline);
    if (!match) continue;
    const status = kind === 'end' ? (match[1] ?? null) : null;
    const request = match[1]?.startsWith('req_') ? (match[1] as RequestId) : null;
    return { kind, task, status, request };
  }
  return { kind: 'other', task, status: null, request: null };
}
