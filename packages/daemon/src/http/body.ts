import type { IncomingMessage } from 'node:http';
import { ReveilleError, invalidInput, jsonExcess, type Caller } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';

/** Deeper than any input of ours: a parser that recurses would be led into the ground. */
const DEEPEST = 64;

/** A run's body. Parsed it takes 20 MB at most; a plan of 20,000 tasks with all that can be said of each is a person's. */
const RUN_VALUES = 200_000;

export interface BodyBounds {
  readonly bytes: number;
  readonly values: number;
}

/** How long the body of a caller's request may be, and how much it may hold. */
export function bodyBounds(limits: Config['daemon'], caller: Caller, large = false): BodyBounds {
  const bytes = large ? limits.largeBodyBytes : limits.bodyBytes;
  if (caller.kind !== 'worker') return { bytes, values: Infinity };
  return { bytes: Math.min(bytes, limits.runBodyBytes), values: RUN_VALUES };
}

/** The body of a request as JSON. What is too large is not read on. */
export async function readJson(request: IncomingMessage, { bytes, values }: BodyBounds): Promise<unknown> {
  checkType(request);
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytes) throw tooLarge(bytes);
  const text = await readText(request, bytes);
  const excess = jsonExcess(text, { values, depth: DEEPEST });
  if (excess !== null) throw wrong(`The body holds too much: ${excess}.`);
  const value = parse(text);
  checkNames(value);
  return value;
}

/** A form of a web page can send text/plain, urlencoded or multipart across origins without asking first; JSON it cannot. */
function checkType({ headers }: IncomingMessage): void {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw wrong('Send the body as JSON, with content-type application/json.');
  if (headers['content-encoding'] !== undefined) throw wrong('Send the body as it is, without an encoding.');
}

/** Decoded as it arrives: a body of ten megabytes is not in memory three times. */
function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let text = '';
    let size = 0;
    const settle = (end: () => void): void => {
      request.off('data', take).off('end', done).off('error', gone).off('close', gone);
      end();
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) return settle(() => reject(tooLarge(maxBytes)));
      decode(chunk);
    };
    const decode = (chunk?: Buffer): void => {
      try {
        text += chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
      } catch {
        settle(() => reject(wrong('The body is not UTF-8.')));
      }
    };
    const done = (): void => {
      decode();
      settle(() => resolve(text));
    };
    const gone = (): void => settle(() => reject(wrong('The request broke off.')));
    request.on('data', take).on('end', done).on('error', gone).on('close', gone);
    if (request.destroyed) gone();
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own words repeat what was sent.
    throw wrong('The body is not JSON.');
  }
}

/** Goes through the value without recursion, because nobody has looked at it before. */
function checkNames(root: unknown): void {
  const waiting: object[] = [];
  const keep = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) waiting.push(value);
  };
  keep(root);
  for (let value = waiting.pop(); value; value = waiting.pop()) {
    // JSON.parse makes it a property like any other; whoever copies such an object may not.
    if (Object.hasOwn(value, '__proto__')) throw wrong('A property may not be called __proto__.');
    for (const inner of Object.values(value)) keep(inner);
  }
}

const wrong = (problem: string): ReveilleError => invalidInput([{ at: 'input', problem }]);

const tooLarge = (maxBytes: number): ReveilleError =>
  new ReveilleError('too_large', `The request is larger than ${maxBytes} bytes. Send less at once.`, {
    data: { maxBytes },
  });
