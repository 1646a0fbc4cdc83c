import { LEASE, type Claim, type Clock, type Offer } from '@reveille/core';
import { Heap } from './heap.ts';
import type { UndoLog, Undoable } from './undo-log.ts';

/** One task that needs a host, or has one. Immutable; times are monotonic milliseconds of this process. */
export interface Lease {
  readonly task: string;
  readonly rank: number;
  /** Age: what was offered first is claimed first within a rank. */
  readonly seq: number;
  /** When it may be claimed; while it is held, when it was. */
  readonly due: number;
  /** The delay that was asked for; a stored time may not ask for more after a restart. */
  readonly waitMs: number;
  readonly host: string | null;
}

interface LeasesOptions {
  readonly clock: Pick<Clock, 'mono'>;
  readonly undo: UndoLog;
  /** Called with each task whose row would have to be stored anew. Holding a lease is never stored: see below. */
  readonly touched?: (task: string) => void;
}

/**
 * The leases of the stores that one process owns. A lease is free (no host), or held by a host; a host has one
 * time until which all it holds is held, so that renewing is one write. When that time has passed, everything the
 * host held is free again, for good: a host that comes back has to claim anew.
 *
 * Who holds what lives in memory only, also on SQLite: the file belongs to one process, so whatever was held in
 * an earlier life is free when the file is opened again.
 *
 * Free leases are in one of two heaps: `ready` by rank and age, `later` by due time. A heap may contain leases that
 * have been replaced since; they are recognised because the map no longer holds that very object.
 */
export class Leases implements Undoable<Lease> {
  readonly #clock: Pick<Clock, 'mono'>;
  readonly #undo: UndoLog;
  readonly #touched: (task: string) => void;
  readonly #byTask = new Map<string, Lease>();
  readonly #heldBy = new Map<string, Set<string>>();
  readonly #until = new Map<string, number>();
  readonly #ready = new Heap<Lease>((a, b) => a.rank < b.rank || (a.rank === b.rank && a.seq < b.seq));
  readonly #later = new Heap<Lease>((a, b) => a.due < b.due);
  #nextSeq = 1;

  constructor(options: LeasesOptions) {
    this.#clock = options.clock;
    this.#undo = options.undo;
    this.#touched = options.touched ?? (() => {});
  }

  get(task: string): Lease | undefined {
    return this.#byTask.get(task);
  }

  /** Puts a stored lease back at start. */
  load(lease: Lease): void {
    this.#nextSeq = Math.max(this.#nextSeq, lease.seq + 1);
    this.restore(lease.task, lease);
  }

  /** A task that is held by a living host stays held; a free one takes the new time and the better rank. */
  offer({ task, rank, delayMs }: Offer): void {
    const now = this.#clock.mono();
    this.#expire(now);
    const known = this.#byTask.get(task);
    if (known?.host) return;
    this.#set(task, {
      task,
      rank: known ? Math.min(rank, known.rank) : rank,
      seq: known?.seq ?? this.#nextSeq++,
      due: now + delayMs,
      waitMs: delayMs,
      host: null,
    });
    this.#touched(task);
  }

  drop(task: string): void {
    if (!this.#byTask.has(task)) return;
    this.#set(task, undefined);
    this.#touched(task);
  }

  claim({ host, max, maxRank = Infinity }: { host: string; max: number; maxRank?: number }): Claim[] {
    const now = this.#clock.mono();
    this.#expire(now);
    this.#until.set(host, now + LEASE.lastsMs);
    this.#promote(now);
    const claims: Claim[] = [];
    while (claims.length < max) {
      const lease = this.#top(this.#ready);
      if (!lease || lease.rank > maxRank) break;
      this.#ready.pop();
      this.#set(lease.task, { ...lease, host, due: now });
      claims.push({ task: lease.task, rank: lease.rank });
    }
    return claims;
  }

  /**
   * What the host holds and does not name, it does not know of: the answer to its claim was lost, or it gave it up and
   * could not say so. That is free again, unless the answer may still be under way.
   */
  renew({ host, tasks }: { host: string; tasks: readonly string[] }): string[] {
    const now = this.#clock.mono();
    this.#expire(now);
    this.#until.set(host, now + LEASE.lastsMs);
    const named = new Set(tasks);
    const unknown = [...(this.#heldBy.get(host) ?? [])].filter((task) => !named.has(task));
    for (const task of unknown) {
      const lease = this.#byTask.get(task);
      if (lease && lease.due <= now - LEASE.lastsMs) this.#set(task, { ...lease, host: null, due: now });
    }
    return tasks.filter((task) => this.#byTask.get(task)?.host !== host);
  }

  /** False: this host does not hold it, so there is nothing to give. */
  giveBack({ host, task, delayMs }: { host: string; task: string; delayMs: number }): boolean {
    const now = this.#clock.mono();
    this.#expire(now);
    const lease = this.#byTask.get(task);
    if (lease?.host !== host) return false;
    this.#set(task, { ...lease, host: null, due: now + delayMs, waitMs: delayMs });
    this.#touched(task);
    return true;
  }

  reclaim(host: string): number {
    this.#until.delete(host);
    return this.#free(host);
  }

  nextDueIn(): number | null {
    const now = this.#clock.mono();
    this.#expire(now);
    this.#promote(now);
    if (this.#top(this.#ready)) return 0;
    let next = this.#top(this.#later)?.due ?? Infinity;
    for (const host of this.#heldBy.keys()) next = Math.min(next, this.#until.get(host) ?? now);
    return next === Infinity ? null : Math.max(0, next - now);
  }

  restore(task: string, lease: Lease | undefined): void {
    const known = this.#byTask.get(task);
    if (known?.host) this.#letGo(known.host, task);
    if (!lease) {
      this.#byTask.delete(task);
      return;
    }
    this.#byTask.set(task, lease);
    if (lease.host) this.#hold(lease.host, task);
    else this.#enqueue(lease);
  }

  #set(task: string, lease: Lease | undefined): void {
    this.#undo.record(this, task, this.#byTask.get(task));
    this.restore(task, lease);
  }

  #enqueue(lease: Lease): void {
    const heap = lease.due > this.#clock.mono() ? this.#later : this.#ready;
    heap.push(lease);
    // Replaced leases are normally met and dropped on the way; where they are not, they may not pile up.
    if (heap.size > 2 * this.#byTask.size + 1_000) heap.keep((item) => this.#byTask.get(item.task) === item);
  }

  #hold(host: string, task: string): void {
    const held = this.#heldBy.get(host);
    if (held) held.add(task);
    else this.#heldBy.set(host, new Set([task]));
  }

  #letGo(host: string, task: string): void {
    const held = this.#heldBy.get(host);
    held?.delete(task);
    if (held?.size === 0) this.#heldBy.delete(host);
  }

  #expire(now: number): void {
    for (const host of this.#heldBy.keys()) {
      if ((this.#until.get(host) ?? now) <= now) this.#free(host);
    }
  }

  #free(host: string): number {
    const tasks = [...(this.#heldBy.get(host) ?? [])];
    for (const task of tasks) {
      const lease = this.#byTask.get(task);
      if (lease) this.#set(task, { ...lease, host: null, due: this.#clock.mono() });
    }
    return tasks.length;
  }

  #promote(now: number): void {
    for (let lease = this.#top(this.#later); lease && lease.due <= now; lease = this.#top(this.#later)) {
      this.#later.pop();
      this.#ready.push(lease);
    }
  }

  /** The first lease of a heap that still stands. */
  #top(heap: Heap<Lease>): Lease | undefined {
    for (;;) {
      const lease = heap.peek();
      if (!lease || this.#byTask.get(lease.task) === lease) return lease;
      heap.pop();
    }
  }
}
