import { randomUUID } from 'node:crypto';
import type { UserMessage } from './sdk.ts';

/** What an agent is told, as long as it lives: the end of it is the end of the agent's input. */
export class Inbox implements AsyncIterable<UserMessage> {
  readonly #waiting: UserMessage[] = [];
  #ended = false;
  #wake: (() => void) | null = null;

  push(text: string): void {
    const message = { role: 'user', content: text } as const;
    this.#waiting.push({ type: 'user', message, parent_tool_use_id: null, uuid: randomUUID() });
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<UserMessage> {
    while (true) {
      const next = this.#waiting.shift();
      if (next) yield next;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
