import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Child } from './house.ts';

interface Answer {
  readonly id: number;
  readonly result?: {
    content?: { text: string }[];
    structuredContent?: Record<string, unknown>;
    tools?: { name: string; _meta?: object }[];
  };
  readonly error?: { message: string };
}

/** A chat, as far as it needs to be one: lines of JSON to the program and back. */
export class Chat implements AsyncDisposable {
  readonly #child: Child;
  readonly #answers = new Map<number, PromiseWithResolvers<Answer>>();
  readonly #closed: Promise<unknown>;
  #calls = 0;
  err = '';

  /** The program, started as `reveille mcp`. */
  constructor(child: Child) {
    this.#child = child;
    this.#closed = once(this.#child, 'close');
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.err += text));
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const answer = JSON.parse(line) as Answer;
      this.#answers.get(answer.id)?.resolve(answer);
    });
    void this.#closed.then(() => {
      for (const { reject } of this.#answers.values()) reject(new Error(`the program ended: ${this.err}`));
    });
  }

  async open(): Promise<this> {
    const clientInfo = { name: 'test', version: '1' };
    await this.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    this.#write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return this;
  }

  ask(method: string, params: object): Promise<Answer> {
    const id = ++this.#calls;
    const answered = Promise.withResolvers<Answer>();
    this.#answers.set(id, answered);
    this.#write({ jsonrpc: '2.0', id, method, params });
    return answered.promise;
  }

  async call(name: string, args: object = {}): Promise<{ text: string; data: Record<string, unknown> }> {
    const { result, error } = await this.ask('tools/call', { name, arguments: args });
    if (!result) throw new Error(error?.message ?? 'no result');
    return {
      text: (result.content ?? []).map(({ text }) => text).join('\n'),
      data: result.structuredContent ?? {},
    };
  }

  kill(): Promise<unknown> {
    this.#child.kill('SIGKILL');
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await this.#closed;
  }

  #write(message: object): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }
}
