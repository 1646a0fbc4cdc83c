import type { Change, Clock, Dispatch, Outcome, Store } from '@reveille/core';
import type { Backend } from '../backend.ts';
import { Batch } from '../batch.ts';
import { Listeners } from '../listeners.ts';
import { MemoryTables } from './tables.ts';

export interface MemoryOptions {
  readonly clock: Pick<Clock, 'mono'>;
  /** Go on with these: what an earlier life left, or what another host uses at the same time. */
  readonly memory?: Memory;
  /**
   * When what was applied counts as being on disk. Called once for the first change of a batch; the batch is all
   * that is applied until the promise settles. A rejection undoes the batch and is what its callers get. Without
   * it a change is on disk as soon as it is applied: an engine that always has something to do never leaves the
   * microtasks, and its timers do not fire meanwhile. Not for hosts that share a memory at the same time: what is not
   * on disk yet is not kept apart by host.
   */
  readonly sync?: () => Promise<void>;
}

export interface MemoryBackend extends Backend {
  readonly memory: Memory;
  /** The process dies: what is not on disk is gone, nobody waiting is answered, and nothing more can be done with it. */
  crash(): void;
}

/** What several hosts, or several lives of one, have in common. */
export class Memory {
  readonly tables: MemoryTables;
  readonly offered = new Listeners<[]>();
  readonly hinted = new Listeners<[sessions: readonly string[], from: object]>();

  constructor(clock: Pick<Clock, 'mono'>) {
    this.tables = new MemoryTables(clock);
  }
}

export function openMemory(options: MemoryOptions): MemoryBackend {
  const memory = options.memory ?? new Memory(options.clock);
  const writer = new MemoryWriter(memory, options.sync);
  return {
    memory,
    store: memoryStore(memory, writer),
    dispatch: memoryDispatch(memory, writer),
    crash: () => writer.crash(),
    close: () => writer.close(),
  };
}

/** Applies at once, acknowledges when `sync` says so. */
class MemoryWriter {
  readonly #memory: Memory;
  readonly #sync: (() => Promise<void>) | undefined;
  #batch: Batch | undefined;
  #dead = false;
  undone = 0;

  constructor(memory: Memory, sync: (() => Promise<void>) | undefined) {
    this.#memory = memory;
    this.#sync = sync;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** After a crash every call waits for ever, as those of a dead process do. */
  alive<T>(call: () => T | Promise<T>): Promise<T> {
    if (this.#dead) return new Promise(() => {});
    try {
      return Promise.resolve(call());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  commit(change: Change): Promise<Outcome> {
    const batch = this.#open();
    const outcome = this.#memory.tables.apply(change);
    if (!outcome.committed) return Promise.resolve(outcome);
    if (batch) return batch.add(change, outcome);
    this.#memory.tables.seal();
    this.#tell(change.wakes, change.offers.length > 0);
    return Promise.resolve(outcome);
  }

  giveBack(request: { host: string; task: string; delayMs: number }): Promise<void> {
    const batch = this.#open();
    if (!this.#memory.tables.leases.giveBack(request)) return Promise.resolve();
    if (batch) return batch.addOffer();
    this.#tell([], true);
    return Promise.resolve();
  }

  barrier(): Promise<void> {
    return this.#batch?.settled() ?? Promise.resolve();
  }

  crash(): void {
    this.#dead = true;
    if (this.#batch) this.#memory.tables.rollback();
    this.#batch = undefined;
  }

  async close(): Promise<void> {
    await this.#batch?.settled();
  }

  #open(): Batch | undefined {
    if (!this.#sync) return undefined;
    if (this.#batch) return this.#batch;
    const batch = (this.#batch = new Batch());
    // Claims made before this batch are not undone with it.
    this.#memory.tables.seal();
    this.#sync().then(
      () => this.#succeed(batch),
      (error: unknown) => this.#fail(batch, error),
    );
    return batch;
  }

  #succeed(batch: Batch): void {
    if (this.#batch !== batch) return;
    this.#batch = undefined;
    this.#memory.tables.seal();
    batch.succeed();
    this.#tell(batch.wakes, batch.offers);
  }

  #fail(batch: Batch, error: unknown): void {
    if (this.#batch !== batch) return;
    this.#batch = undefined;
    this.undone++;
    this.#memory.tables.rollback();
    batch.fail(error);
  }

  #tell(wakes: readonly string[], offers: boolean): void {
    if (offers) this.#memory.offered.tell();
    if (wakes.length > 0) this.#memory.hinted.tell(wakes, this);
  }
}

function memoryStore({ tables, hinted }: Memory, writer: MemoryWriter): Store {
  return {
    readsOwnWrites: true,
    get: (table, id) => writer.alive(() => tables.get(table, id)),
    atHand: (table, id) => (writer.dead ? undefined : tables.get(table, id)),
    find: (table, find) => writer.alive(() => tables.find(table, find)),
    sessionsWithMail: (limit) => writer.alive(() => tables.sessionsWithMail(limit)),
    commit: (change) => writer.alive(() => writer.commit(change)),
    barrier: () => writer.alive(() => writer.barrier()),
    undone: () => writer.undone,
    events: (after, limit) => writer.alive(() => tables.events(after, limit)),
    lastEvent: () => writer.alive(() => tables.lastEvent()),
    onHint: (listener) => hinted.add((sessions, from) => from !== writer && listener(sessions)),
    close: () => writer.close(),
  };
}

function memoryDispatch({ tables, offered }: Memory, writer: MemoryWriter): Dispatch {
  const { leases } = tables;
  return {
    claim: (request) => writer.alive(() => leases.claim(request)),
    renew: (request) => writer.alive(() => leases.renew(request)),
    giveBack: (request) => writer.alive(() => writer.giveBack(request)),
    reclaim: (host) => writer.alive(() => leases.reclaim(host)),
    nextDueIn: () => writer.alive(() => leases.nextDueIn()),
    onOffer: (listener) => offered.add(listener),
  };
}
