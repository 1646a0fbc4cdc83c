import type { Writable } from 'node:stream';
import { AbstractMessageWriter, type Message, type MessageWriter } from 'vscode-jsonrpc/node';

/**
 * Writes a message at once. The writer of the library takes a turn of the event loop for each, and begins with the next when
 * the one before has gone out: a hundred short questions would wait longer than they take.
 */
export class PromptWriter extends AbstractMessageWriter implements MessageWriter {
  readonly #stream: Writable;

  constructor(stream: Writable) {
    super();
    this.#stream = stream;
    stream.on('error', (error) => this.fireError(error));
    stream.on('close', () => this.fireClose());
  }

  async write(message: Message): Promise<void> {
    if (!this.#stream.writable) throw Object.assign(new Error('It is closed.'), { code: 'EPIPE' });
    const body = JSON.stringify(message);
    this.#stream.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  end(): void {
    this.#stream.end();
  }
}
