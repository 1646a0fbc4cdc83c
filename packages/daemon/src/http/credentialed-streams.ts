import type { Engine } from '@reveille/core';
import type { Exchange } from './answer.ts';
import type { Credentials } from './credentials.ts';
import { checkCounts, identify } from './door.ts';

interface Options {
  readonly engine: Engine;
  readonly credentials: Credentials;
}

const LOOK_MS = 1_000;

/**
 * The responses that stay open after their call was authorised: streams of events, of mail, of MCP notices. Each ends with
 * the credential that opened it (ID6): when the run or the session has ended, or the token was replaced.
 */
export class CredentialedStreams {
  readonly #options: Options;
  readonly #open = new Set<Exchange>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Cuts the response off as soon as a look finds that its credential has ended. */
  keep(exchange: Exchange): void {
    this.#open.add(exchange);
    this.#timer ??= setInterval(() => void this.look(), LOOK_MS);
    exchange.response.once('close', () => {
      this.#open.delete(exchange);
      if (this.#open.size === 0) this.stop();
    });
  }

  /** Whether the credential that opened it still counts. */
  async counts({ request }: Pick<Exchange, 'request'>): Promise<boolean> {
    const { engine, credentials } = this.#options;
    try {
      await checkCounts(engine, identify(credentials, request));
      return true;
    } catch {
      // Whatever the reason is, nothing more is sent; its client is told when it comes back.
      return false;
    }
  }

  async look(): Promise<void> {
    for (const exchange of this.#open) {
      if (!(await this.counts(exchange))) exchange.response.destroy();
    }
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}
