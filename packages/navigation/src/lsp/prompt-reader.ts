import type { Readable } from 'node:stream';
import {
  AbstractMessageReader,
  RAL,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageReader,
} from 'vscode-jsonrpc/node';

/** What a server notes for a log that nobody reads. One comes with every answer, and would take its turn before it. */
const UNREAD = new Set(['window/logMessage', 'telemetry/event']);

/** Hands on a message as soon as it is there. The reader of the library takes a turn of the event loop for each. */
export class PromptReader extends AbstractMessageReader implements MessageReader {
  readonly #stream: Readable;
  readonly #buffer = RAL().messageBuffer.create('utf-8');
  /** Of the message that is coming; null: its head is not there yet. */
  #length: number | null = null;

  constructor(stream: Readable) {
    super();
    this.#stream = stream;
    stream.on('error', (error) => this.fireError(error));
    stream.on('close', () => this.fireClose());
  }

  listen(callback: DataCallback): Disposable {
    const take = (chunk: Uint8Array): void => {
      try {
        this.#buffer.append(chunk);
        for (let message = this.#next(); message; message = this.#next())
          if (!isUnread(message)) callback(message);
      } catch (error) {
        this.fireError(error);
      }
    };
    this.#stream.on('data', take);
    return { dispose: () => void this.#stream.off('data', take) };
  }

  #next(): Message | null {
    this.#length ??= this.#nextLength();
    const body = this.#length === null ? undefined : this.#buffer.tryReadBody(this.#length);
    if (body === undefined) return null;
    this.#length = null;
    const message: unknown = JSON.parse(Buffer.from(body).toString());
    if (typeof message !== 'object' || message === null) throw new Error('a message is no object');
    // Of which kind it is, the connection says.
    return message as Message;
  }

  #nextLength(): number | null {
    const headers = this.#buffer.tryReadHeaders(true);
    if (!headers) return null;
    const length = headers.get('content-length') ?? '';
    if (!/^\d+$/.test(length)) throw new Error('a message does not say how long it is');
    return Number(length);
  }
}

const isUnread = (message: Message): boolean =>
  'method' in message && typeof message.method === 'string' && UNREAD.has(message.method);
