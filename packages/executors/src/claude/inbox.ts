import { randomUUID } from 'node:crypto';
import type { UserMessage } from './sdk.ts';

/** What an agent is told, as long as it lives: the end of it is the end of the agent's input. */
export class Inbox implements AsyncIterable<UserMessage> {
  readonly #waiting: UserMessage[] = [];
  /** Said before the next words. */
  preface = '';
  #ended = false;
  #wake: (() => void) | null = null;

  push(text: string): void {
    const message = { role: 'user', content: text } as const;
    this.#waiting.push({ type: 'user', message, parent_tool_use_id: null, uuid: randomUUID() });
    this.#wake?.();
  }

  /** Takes back what was not heard yet. False: all of it was. */
  withdraw(): boolean {
    return this.#waiting.splice(0).length > 0;
  }

  #prefaced(next: UserMessage): UserMessage {
    if (this.preface === '') return next;
    const content = `${this.preface}\n\n${next.message.content}`;
    this.preface = '';
    return { ...next, message: { role: 'user', content } };
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<UserMessage> {
    while (true) {
      const next = this.#waiting.shift();
      if (next) yield this.#prefaced(next);
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
