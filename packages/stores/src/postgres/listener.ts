import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Listeners } from '../listeners.ts';
import { channelOf, connect, type ConnectionOptions } from './connection.ts';

interface ListenerOptions extends ConnectionOptions {
  readonly sender: string;
  readonly retryMs: number;
}

interface Payload {
  readonly from: string;
  readonly wakes?: readonly string[];
  readonly offer?: boolean;
}

/**
 * Hears what other hosts committed, on a connection of its own that is made again when it is lost. What was said
 * meanwhile is not repeated: hints may be lost. Whoever waits for offers is told to look once it hears again.
 */
export class HintListener {
  readonly hinted = new Listeners<[sessions: readonly string[]]>();
  readonly offered = new Listeners<[]>();
  readonly #options: ListenerOptions;
  readonly #closing = new AbortController();
  #client: pg.Client | undefined;
  #reconnecting: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const client = await connect(this.#options);
    client.on('notification', ({ payload }) => payload && this.#heard(JSON.parse(payload) as Payload));
    try {
      await client.query(`LISTEN "${channelOf(this.#options.schema)}"`);
    } catch (error) {
      await client.end();
      throw error;
    }
    client.once('end', () => this.#lost(client));
    this.#client = client;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reconnecting;
    await this.#client?.end();
  }

  #heard({ from, wakes, offer }: Payload): void {
    // The host itself knows what it committed, and has known since the commit.
    if (from === this.#options.sender) return;
    if (wakes) this.hinted.tell(wakes);
    if (offer) this.offered.tell();
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client || this.#closing.signal.aborted) return;
    this.#client = undefined;
    this.#reconnecting = this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.start();
        this.offered.tell();
        return;
      } catch {
        // Not reachable yet. The store's own calls say so to whoever needs it.
        await sleep(this.#options.retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }
}
