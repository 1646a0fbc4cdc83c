import { setImmediate as nextTurn } from 'node:timers/promises';
import { onDisk, type Store } from '@reveille/core';
import type { ReveilleEvent } from '@reveille/protocol';

export interface FeedOptions {
  readonly store: Pick<Store, 'events' | 'barrier' | 'undone' | 'lastEvent'>;
  /** Events that come within this time go out together. */
  readonly batchMs: number;
  readonly encode: (events: readonly ReveilleEvent[]) => Uint8Array;
  readonly failed: (error: unknown) => void;
}

/** Consecutive events, encoded once for everybody. */
export interface Chunk {
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

const PAGE = 1_000;
const TAIL = { chunks: 64, bytes: 4 * 2 ** 20 } as const;
/** Another host that shares the database tells nobody here. */
const POLL_MS = 1_000;

/**
 * The committed events, for any number of readers. Each reader has a number and asks for what comes after it; so none
 * can miss one or see one twice, however fast it reads. Those who keep up share the newest chunks; whoever lags
 * behind reads from the store. Only what is on disk is given out: a number that is lost with a failed
 * commit is given again, to another event.
 */
export class EventFeed {
  readonly #options: FeedOptions;
  readonly #waiting = new Set<() => void>();
  #tail: Chunk[] = [];
  #tailBytes = 0;
  /** On disk up to here. */
  #durable = 0;
  /** Encoded up to here. */
  #encoded = 0;
  #readers = 0;
  #timer: NodeJS.Timeout | null = null;
  #poll: NodeJS.Timeout | null = null;
  #encodedAt = -Infinity;
  #encoding = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** The number of the newest event there is. */
  async last(): Promise<number> {
    const { store } = this.#options;
    // What was undone in between had a number, which is given again.
    this.committed(await onDisk(store, () => store.lastEvent()));
    return this.#durable;
  }

  /** Everything up to this number is on disk. */
  committed(last: number): void {
    if (last <= this.#durable) return;
    this.#durable = last;
    this.#schedule();
  }

  /** Takes part until the signal says otherwise. */
  reader(signal: AbortSignal): (after: number) => Promise<Chunk | null> {
    this.#enter();
    const leave = (): void => this.#leave();
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return (after) => this.#next(after, signal);
  }

  #enter(): void {
    if (this.#readers++ > 0) return;
    this.#encoded = this.#durable;
    const look = (): void => void this.last().catch(this.#options.failed);
    this.#poll = setInterval(look, POLL_MS);
    look();
  }

  #leave(): void {
    this.#wake();
    if (--this.#readers > 0) return;
    if (this.#poll) clearInterval(this.#poll);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#tail = [];
    this.#tailBytes = 0;
  }

  /** What comes after a number; null when the reader is gone. */
  async #next(after: number, signal: AbortSignal): Promise<Chunk | null> {
    while (!signal.aborted) {
      if (after < this.#encoded) {
        const chunk = this.#tail.find(({ first }) => first === after + 1) ?? (await this.#older(after));
        if (chunk) return chunk;
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return null;
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  async #older(after: number): Promise<Chunk | null> {
    // Whoever reads a long history lets the others have a turn after every page.
    await nextTurn();
    return this.#read(after, this.#encoded);
  }

  async #read(after: number, upTo: number): Promise<Chunk | null> {
    const { store, encode } = this.#options;
    const found = await store.events(after, Math.min(PAGE, upTo - after));
    const events = found.filter(({ number }) => number <= upTo);
    const [first, last] = [events[0], events.at(-1)];
    return first && last ? { first: first.number, last: last.number, bytes: encode(events) } : null;
  }

  #schedule(): void {
    if (this.#readers === 0 || this.#timer) return;
    // At once after a pause, then at most every so often.
    const wait = Math.max(0, this.#encodedAt + this.#options.batchMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#encode();
    }, wait);
  }

  async #encode(): Promise<void> {
    if (this.#encoding) return;
    this.#encoding = true;
    this.#encodedAt = performance.now();
    try {
      while (this.#readers > 0 && this.#encoded < this.#durable) {
        const chunk = await this.#read(this.#encoded, this.#durable);
        if (!chunk) break;
        this.#keep(chunk);
        this.#encoded = chunk.last;
      }
    } catch (error) {
      // The next commit, or the poll, tries again.
      this.#options.failed(error);
    } finally {
      this.#encoding = false;
    }
    this.#wake();
    if (this.#encoded < this.#durable) this.#schedule();
  }

  #keep(chunk: Chunk): void {
    this.#tail.push(chunk);
    this.#tailBytes += chunk.bytes.length;
    while (this.#tail.length > TAIL.chunks || this.#tailBytes > TAIL.bytes) {
      this.#tailBytes -= this.#tail.shift()?.bytes.length ?? 0;
    }
  }
}
