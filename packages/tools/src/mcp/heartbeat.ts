import type { ServerContext } from '@modelcontextprotocol/server';

/**
 * Tells a client at intervals that its call is still at work, so that it does not give up (SUB2). Only a client that
 * asked for progress, by a token, is told.
 */
export class Heartbeat implements Disposable {
  readonly #context: ServerContext;
  readonly #token: string | number;
  readonly #timer: NodeJS.Timeout;
  readonly #since = performance.now();
  #beats = 0;
  #message = 'at work';

  constructor(context: ServerContext, token: string | number, everyMs: number) {
    this.#context = context;
    this.#token = token;
    this.#timer = setInterval(() => this.#beat(), everyMs);
  }

  /** What the next beat says. */
  say(message: string): void {
    if (message !== '') this.#message = message;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const seconds = Math.round((performance.now() - this.#since) / 1_000);
    const params = {
      progressToken: this.#token,
      progress: ++this.#beats,
      message: `${this.#message} (${seconds} s)`,
    };
    // A client that is gone has given the call up, which its signal says.
    this.#context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  }
}
