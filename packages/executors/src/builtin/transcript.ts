import { mkdirSync } from 'node:fs';
import { open, readFile, truncate, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TurnInput } from '@reveille/core';
import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from 'ai';

/** One thing that happened in a session, as it stands in its file. */
type Line =
  | { kind: 'given' | 'steered'; turn: number; ids: readonly string[]; text: string }
  /** `mail`: how many of those that came in between it had seen. */
  | { kind: 'answer'; mail: number; message: AssistantModelMessage | null }
  | { kind: 'results'; message: ToolModelMessage }
  | { kind: 'note'; text: string }
  | { kind: 'shortened'; mail: number; messages: readonly ModelMessage[] };

const UNKNOWN_END = 'Interrupted: nobody knows whether this was done. Look before you do it again.';
/** What a result hands over by mail: real fences only, look-alikes are broken up. */
const MAIL = /<reveille-data (msg_[0-9a-z]+)>/g;

/**
 * What an agent's own session holds: the conversation as its model sees it, and which messages it was given. It is a file
 * that only grows, one line for each thing that happened, and each is on disk before anything follows from it: an agent
 * that comes back knows all that anybody was told it has (MBX3).
 */
export class Transcript {
  readonly #path: string;
  #file: FileHandle | null = null;
  #queue: Promise<void> = Promise.resolve();
  #messages: ModelMessage[] = [];
  /** Mail that came in the middle of a turn and is to be seen at the next step. */
  #mail: string[] = [];
  #flushed = 0;
  #answers = 0;
  readonly #ids = new Set<string>();
  /** The file was there, and all of it could be read. */
  whole = false;
  /** What its first turn began with; null: nothing yet. */
  task: string | null = null;
  /** What it was given after that. */
  readonly letters: string[] = [];

  private constructor(path: string) {
    this.#path = path;
  }

  /** Reads what there is. A line that was being written when its writer died never happened. */
  static async open(path: string): Promise<Transcript> {
    const self = new Transcript(path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const found = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (found) await self.#replay(found);
    self.#file = await open(path, 'a', 0o600);
    if (!found) await syncFolder(dirname(path));
    return self;
  }

  async #replay(found: Buffer): Promise<void> {
    let good = 0;
    this.whole = true;
    for (let at = found.indexOf(10); at >= 0; at = found.indexOf(10, good)) {
      const line = parsed(found.toString('utf8', good, at));
      // Whatever follows a damaged line cannot be understood without it.
      if (!line) {
        this.whole = false;
        break;
      }
      this.#apply(line);
      good = at + 1;
    }
    if (good < found.length) await truncate(this.#path, good);
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  /** How many answers it holds: with this, calls have names that no other call has. */
  get answers(): number {
    return this.#answers;
  }

  get hasMail(): boolean {
    return this.#mail.length > 0;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  begin(input: TurnInput, text: string): Promise<void> {
    return this.#add({ kind: 'given', turn: input.turn, ids: input.given, text });
  }

  steer({ turn, given, text }: TurnInput): Promise<void> {
    return this.#add({ kind: 'steered', turn, ids: given, text });
  }

  /** What came in between becomes part of the conversation. */
  takeMail(): void {
    this.#flushed += this.#mail.length;
    this.#flush(this.#mail.length);
  }

  answer(message: AssistantModelMessage | null): Promise<void> {
    const mail = this.#flushed;
    this.#flushed = 0;
    return this.#add({ kind: 'answer', mail, message }, { flushed: true });
  }

  results(message: ToolModelMessage): Promise<void> {
    return this.#add({ kind: 'results', message });
  }

  note(text: string): Promise<void> {
    return this.#add({ kind: 'note', text });
  }

  shorten(messages: readonly ModelMessage[]): Promise<void> {
    const mail = this.#flushed;
    this.#flushed = 0;
    return this.#add({ kind: 'shortened', mail, messages }, { flushed: true });
  }

  /** Resolves when nothing is on its way to the disk any more. */
  async idle(): Promise<void> {
    for (let last: unknown = null; last !== this.#queue;) {
      last = this.#queue;
      await this.#queue;
    }
  }

  async close(): Promise<void> {
    await this.#queue.catch(() => undefined);
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }

  /** Counts once it is on disk; those who say something at the same time are heard in turn. */
  #add(line: Line, { flushed = false } = {}): Promise<void> {
    const added = this.#queue.then(async () => {
      const file = this.#file;
      if (!file) throw new Error('the session is closed');
      await file.appendFile(`${JSON.stringify(line)}\n`);
      await file.datasync();
      this.#apply(flushed && 'mail' in line ? { ...line, mail: 0 } : line);
    });
    this.#queue = added.catch(() => undefined);
    return added;
  }

  #apply(line: Line): void {
    switch (line.kind) {
      case 'given':
        this.#closeCalls();
        this.#flush(this.#mail.length);
        this.#flushed = 0;
        this.#remember(line.ids);
        if (this.task === null) this.task = line.text;
        else this.letters.push(line.text);
        this.#messages.push({ role: 'user', content: line.text });
        return;
      case 'steered':
        this.#remember(line.ids);
        this.letters.push(line.text);
        this.#mail.push(line.text);
        return;
      case 'answer':
        this.#flush(line.mail);
        this.#answers++;
        if (line.message) this.#messages.push(line.message);
        return;
      case 'results':
        this.#remember(mailIn(line.message));
        this.#messages.push(line.message);
        return;
      case 'note':
        this.#messages.push({ role: 'user', content: line.text });
        return;
      case 'shortened':
        this.#mail.splice(0, line.mail);
        this.#messages = [...line.messages];
        return;
      default:
        line satisfies never;
    }
  }

  #remember(ids: Iterable<string>): void {
    for (const id of ids) this.#ids.add(id);
  }

  #flush(count: number): void {
    for (const text of this.#mail.splice(0, count)) this.#messages.push({ role: 'user', content: text });
  }

  /** Calls whose results never came: no model takes a conversation in which they are missing. */
  #closeCalls(): void {
    const last = this.#messages.at(-1);
    if (last?.role !== 'assistant' || typeof last.content === 'string') return;
    const calls = last.content.filter((part) => part.type === 'tool-call');
    if (calls.length === 0) return;
    const content = calls.map(({ toolCallId, toolName }) => ({
      type: 'tool-result' as const,
      toolCallId,
      toolName,
      output: { type: 'error-text' as const, value: UNKNOWN_END },
    }));
    this.#messages.push({ role: 'tool', content });
  }
}

/** A new file is on disk when its folder is. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

function parsed(text: string): Line | null {
  try {
    const line = JSON.parse(text) as unknown;
    // It was written by this very class; what is checked is that it is whole.
    return typeof line === 'object' && line !== null && 'kind' in line ? (line as Line) : null;
  } catch {
    return null;
  }
}

function* mailIn(message: ToolModelMessage): Generator<string> {
  for (const part of message.content) {
    if (part.type !== 'tool-result') continue;
    // A refused report hands over what had not been read, too.
    if (part.output.type !== 'text' && part.output.type !== 'error-text') continue;
    for (const [, id = ''] of part.output.value.matchAll(MAIL)) yield id;
  }
}
