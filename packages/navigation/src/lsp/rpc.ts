import type { Readable, Writable } from 'node:stream';

/** What the other end says of itself, and what becomes of the line to it. */
export interface RpcEvents {
  readonly request: (method: string, params: unknown) => unknown;
  readonly notification: (method: string, params: unknown) => void;
  /** It does not speak the protocol. */
  readonly garbled: (why: string) => void;
  /** What was sent could not be written. */
  readonly unheard: () => void;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

const LONGEST_HEAD = 4_096;
const LARGEST = 512 * 2 ** 20;
const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * JSON-RPC as language servers speak it: messages behind a header with their length. What is asked is written at once, and
 * answers are handed on in the turn in which they were read: a question takes a millisecond, and nothing here shall take another.
 */
export class Rpc implements Disposable {
  readonly #output: Writable;
  readonly #events: RpcEvents;
  readonly #waiting = new Map<number, Waiting>();
  #chunks: Buffer[] = [];
  #length = 0;
  /** Where the message that is being read ends; null: its header is not known yet. */
  #end: { readonly from: number; readonly to: number } | null = null;
  #last = 0;
  #over = false;

  constructor(input: Readable, output: Writable, events: RpcEvents) {
    this.#output = output;
    this.#events = events;
    input.on('data', (chunk: Buffer) => this.#take(chunk));
    output.on('error', () => this.#unheard());
  }

  request(method: string, params: object): Promise<unknown> {
    const id = ++this.#last;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  /** Nothing is heard or said any more; what was asked is never answered. */
  [Symbol.dispose](): void {
    this.#over = true;
    this.#waiting.clear();
    this.#chunks = [];
  }

  #send(message: object): void {
    if (this.#over) return;
    if (!this.#output.writable) return this.#unheard();
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#output.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #unheard(): void {
    if (!this.#over) this.#events.unheard();
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    try {
      while (!this.#over && this.#next());
    } catch (error) {
      if (!this.#over) this.#events.garbled(error instanceof Error ? error.message : String(error));
    }
  }

  /** Handles one message, if it is there in full. */
  #next(): boolean {
    this.#end ??= this.#readHead();
    if (!this.#end || this.#length < this.#end.to) return false;
    const { from, to } = this.#end;
    const all = this.#joined();
    this.#chunks = all.length > to ? [all.subarray(to)] : [];
    this.#length = all.length - to;
    this.#end = null;
    this.#handle(JSON.parse(all.toString('utf8', from, to)));
    return true;
  }

  #readHead(): { readonly from: number; readonly to: number } | null {
    if (this.#length === 0) return null;
    const all = this.#joined();
    const end = all.indexOf(HEAD_END);
    if (end > LONGEST_HEAD || (end < 0 && all.length > LONGEST_HEAD))
      throw new Error('its header has no end');
    if (end < 0) return null;
    const head = all.toString('latin1', 0, end);
    const length = Number(/^content-length: *(\d+)\s*$/im.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error('its header tells no length');
    if (length > LARGEST) throw new Error('its message is too large');
    const from = end + HEAD_END.length;
    return { from, to: from + length };
  }

  /** Once for a header and once for a message, not for every piece of it. */
  #joined(): Buffer {
    const [first] = this.#chunks;
    if (first && this.#chunks.length === 1) return first;
    const all = Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [all];
    return all;
  }

  #handle(given: unknown): void {
    if (typeof given !== 'object' || given === null) throw new Error('its message is none');
    const { id, method, params, result, error }: Message = given;
    if (typeof method !== 'string') return this.#answered(id, { result, error });
    if (id === undefined) return this.#events.notification(method, params);
    this.#send({ id, result: this.#events.request(method, params) ?? null });
  }

  #answered(id: unknown, { result, error }: Pick<Message, 'result' | 'error'>): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (!waiting || typeof id !== 'number') return;
    this.#waiting.delete(id);
    if (error === undefined || error === null) return waiting.resolve(result);
    waiting.reject(new Error(`it refused: ${JSON.stringify(error)}`));
  }
}
