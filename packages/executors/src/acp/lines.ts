import type { Readable, Writable } from 'node:stream';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { jsonExcess } from '@reveille/protocol';
import { LEAST_BYTES, Pace } from './pace.ts';

/** The longest line that is a message. Longer ones are let by, however long, without being kept. */
const LONGEST_LINE = 8 * 2 ** 20;
/** Of one message: what a tool gave back can be large data, and no agent says it in more values. */
const BOUNDS = { values: 200_000, depth: 200 };
const SHOWN = 200;

export interface LineOptions {
  readonly longest?: number;
  readonly pace?: Pace;
  /** Something on the output that is no message: what it begins with. */
  readonly garbage: (beginning: string) => void;
}

/**
 * The messages of an agent's output, one by one as they are asked for, so that a fast agent waits for us and nothing
 * piles up. What is not a message is told and let by: a library that prints to the output must not end a session.
 */
export async function* messagesOf(
  output: AsyncIterable<Buffer>,
  options: LineOptions,
): AsyncGenerator<AnyMessage> {
  const { longest = LONGEST_LINE, pace = new Pace(), garbage } = options;
  let parts: Buffer[] = [];
  let size = 0;
  let tooLong = false;
  const keep = (part: Buffer): void => {
    size += part.length;
    if (!tooLong && size <= longest) return void parts.push(part);
    if (!tooLong) garbage(`a line of more than ${longest} bytes: ${beginningOf(parts)}`);
    tooLong = true;
    parts = [];
  };
  const take = (): AnyMessage | null => {
    const line = Buffer.concat(parts);
    const skipped = tooLong;
    [parts, size, tooLong] = [[], 0, false];
    return skipped ? null : messageIn(line, garbage);
  };
  for await (const chunk of output) {
    let from = 0;
    let messages = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      from = end + 1;
      messages++;
      const message = take();
      if (message) yield message;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
    await pace.heard(Math.max(chunk.length, messages * LEAST_BYTES));
  }
  const last = take();
  if (last) yield last;
}

const beginningOf = (parts: readonly Buffer[]): string =>
  Buffer.concat(parts).subarray(0, SHOWN).toString('utf8');

function messageIn(line: Buffer, garbage: LineOptions['garbage']): AnyMessage | null {
  const text = line.toString('utf8').trim();
  if (text === '') return null;
  const excess = jsonExcess(text, BOUNDS);
  if (excess !== null) {
    garbage(`a message that holds too much (${excess}): ${text.slice(0, SHOWN)}`);
    return null;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'jsonrpc' in value) return value as AnyMessage;
  } catch {
    // Told below, like everything else that is no message.
  }
  garbage(text.slice(0, SHOWN));
  return null;
}

export interface StreamOptions extends LineOptions {
  /** Hears every message first. True: it is not passed on. */
  readonly takes: (message: AnyMessage) => boolean;
}

/** The two ends of a process as what the SDK speaks through. */
export function streamOf(input: Writable, output: AsyncIterable<Buffer>, options: StreamOptions): Stream {
  const messages = passedOn(messagesOf(output, options), options.takes);
  return {
    readable: new ReadableStream<AnyMessage>(
      {
        async pull(controller) {
          try {
            const { value, done } = await messages.next();
            if (done) controller.close();
            else controller.enqueue(value);
          } catch {
            // The output was given up: whoever did that knows why.
            controller.close();
          }
        },
        cancel: async () => void (await messages.return(undefined)),
      },
      { highWaterMark: 1 },
    ),
    writable: new WritableStream<AnyMessage>({
      write: (message) => writeLine(input, `${JSON.stringify(message)}\n`),
    }),
  };
}

async function* passedOn(
  messages: AsyncGenerator<AnyMessage>,
  takes: StreamOptions['takes'],
): AsyncGenerator<AnyMessage> {
  for await (const message of messages) if (!takes(message)) yield message;
}

/** Resolves when the process can take more. One that is gone takes nothing, and its end is told elsewhere. */
function writeLine(input: Writable, line: string): Promise<void> {
  return new Promise((resolve) => {
    if (input.destroyed || input.writableEnded) return resolve();
    input.write(line, () => resolve());
  });
}

/** The end of a text that may be endless. */
export class Tail {
  readonly #most: number;
  #text = '';
  #isCut = false;

  constructor(most: number) {
    this.#most = most;
  }

  add(text: string): void {
    this.#isCut ||= this.#text.length + text.length > this.#most;
    this.#text = (this.#text + text.slice(-this.#most)).slice(-this.#most);
  }

  /** It never begins in the middle of a word: the rest of a key would not be known for one. */
  get text(): string {
    return this.#isCut ? withoutHalfWord(this.#text) : this.#text;
  }

  clear(): void {
    this.#text = '';
    this.#isCut = false;
  }
}

const withoutHalfWord = (text: string): string => text.replace(/^\S{1,4000}/, '…');

/** The end of a text, from the beginning of a word on. */
export const endOf = (text: string, most: number): string =>
  text.length > most ? withoutHalfWord(text.slice(-most)) : text;

/** Who reads it must never be behind by more than a chunk. */
export function tailOf(stream: Readable, most: number): Tail {
  const tail = new Tail(most);
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => tail.add(chunk));
  stream.on('error', () => undefined);
  return tail;
}
