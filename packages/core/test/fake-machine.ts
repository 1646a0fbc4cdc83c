import type { Free, HostGauge, HostLimits, Ports, Used } from '@reveille/core';

const MB = 2 ** 20;

/** A host as small as the test wants it, looked at when the test says so. Everything in megabytes. */
export class FakeMachine {
  free = 10_000;
  load = 0;
  disk: number | null = 100_000;
  readonly cores = 2;
  readonly needBytes = 300 * MB;
  readonly limits: HostLimits;
  readonly learned = new Map<string, number>();
  readonly #used = new Map<string, Used>();
  readonly #listeners = new Set<() => void>();
  #seen: Free;

  constructor(limits: Partial<HostLimits> = {}) {
    this.limits = { reserveBytes: 100 * MB, maxLoad: 2, minDiskBytes: 1_000 * MB, ...limits };
    this.#seen = this.#now();
  }

  get ports(): NonNullable<Ports['machine']> {
    const { learned } = this;
    const gauge: HostGauge = {
      free: () => this.#seen,
      used: (identity) => this.#used.get(identity) ?? null,
      onLook: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      learned,
      learn: (backend, bytes) => void learned.set(backend, bytes),
    };
    return { gauge, limits: this.limits };
  }

  /** What the agent of this identity is seen with. */
  uses(identity: string, rss: number, cpuMs = 0): void {
    const peakBytes = Math.max(rss * MB, this.#used.get(identity)?.peakBytes ?? 0);
    this.#used.set(identity, { rssBytes: rss * MB, peakBytes, cpuMs });
  }

  look(seen: { free?: number; load?: number; disk?: number | null } = {}): void {
    Object.assign(this, seen);
    this.#seen = this.#now();
    for (const listener of this.#listeners) listener();
  }

  #now(): Free {
    const { free, load, cores, disk } = this;
    return { memoryBytes: free * MB, load, cores, diskBytes: disk === null ? null : disk * MB };
  }
}
