import type { Free, HostGauge, Used } from '@reveille/core';
import type { TreeUse } from '@reveille/navigation/memory';

export interface GaugeOptions {
  readonly lookMs: number;
  readonly freeNow: () => Promise<Free>;
  /** The agents that are processes and live, by the identity that their executor gave them. */
  readonly living: () => readonly { readonly name: string; readonly pid: number }[];
  readonly usedByTree: (pid: number) => Promise<TreeUse>;
  /** What agents were seen to need, by backend. */
  readonly learned: ReadonlyMap<string, number>;
  readonly keep: (learned: ReadonlyMap<string, number>) => void;
  readonly failed: (error: unknown) => void;
}

interface Seen {
  readonly used: Used;
  readonly pid: number;
  /** What its earlier processes used: an agent may have several in a row. */
  readonly before: number;
}

/** What was used by agents that have ended is asked for once more, when their run is settled. */
const MOST_REMEMBERED = 1_000;

/** Looks at this machine and its agents every few seconds; with no agents that is three small reads. */
export class Gauge implements HostGauge {
  readonly #options: GaugeOptions;
  readonly #learned: Map<string, number>;
  readonly #seen = new Map<string, Seen>();
  readonly #listeners = new Set<() => void>();
  #free: Free | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: GaugeOptions) {
    this.#options = options;
    this.#learned = new Map(options.learned);
  }

  /** The first look is over when this resolves. */
  async start(): Promise<void> {
    await this.look();
    this.#again();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  free(): Free | null {
    return this.#free;
  }

  used(identity: string): Used | null {
    return this.#seen.get(identity)?.used ?? null;
  }

  onLook(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get learned(): ReadonlyMap<string, number> {
    return this.#learned;
  }

  learn(backend: string, bytes: number): void {
    this.#learned.set(backend, bytes);
    this.#options.keep(this.#learned);
  }

  /** The agents first: what one of them took since is then missing from what is free, never counted as both. */
  async look(): Promise<void> {
    try {
      const { living, usedByTree, freeNow } = this.#options;
      const agents = living();
      const uses = await Promise.all(agents.map(({ pid }) => usedByTree(pid)));
      const free = await freeNow();
      for (const [i, agent] of agents.entries()) this.#note(agent, uses[i]);
      for (const oldest of this.#seen.keys())
        if (this.#seen.size > MOST_REMEMBERED) this.#seen.delete(oldest);
      this.#free = free;
    } catch (error) {
      this.#options.failed(error);
    }
    if (!this.#closed) for (const listener of this.#listeners) listener();
  }

  #note({ name, pid }: { readonly name: string; readonly pid: number }, use: TreeUse | undefined): void {
    // Gone while it was being looked at: what it had at the last look stands.
    if (!use || use.rssBytes === 0) return;
    const last = this.#seen.get(name);
    const before = last && last.pid !== pid ? last.used.cpuMs : (last?.before ?? 0);
    const used = {
      rssBytes: use.rssBytes,
      peakBytes: Math.max(use.rssBytes, last?.used.peakBytes ?? 0),
      // The time of a child that nobody waited for is forgotten with it: it was used all the same.
      cpuMs: Math.max(before + use.cpuMs, last?.used.cpuMs ?? 0),
    };
    this.#seen.delete(name);
    this.#seen.set(name, { used, pid, before });
  }

  #again(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.look().then(() => this.#again()), this.#options.lookMs).unref();
  }
}
