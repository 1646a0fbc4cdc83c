import type { Life } from './life.ts';
import type { Fault } from './options.ts';
import type { World } from './world.ts';

/** How long an engine may take for what it does at once: a few commits and hints, one after another. */
const AT_ONCE_MS = 400;
/** Until then the engine may be repairing what a fault has lost: the next tick, and what follows. */
const REPAIR_MS = 1_500;
const LOOK_EVERY_MS = 100;
/** What a task may wait for on a host, and how many may before it takes no more of what another host could. */
const ROOM: ReadonlySet<string> = new Set(['memory', 'cpu', 'disk']);
const WAIT_AT_MOST = 4;

/** Immutable: one that is offered or claimed anew is another. */
type Lease = NonNullable<ReturnType<World['memory']['tables']['leases']['get']>>;

/** What keeps a host from hearing of an offer, or from claiming it when it does. */
const FAULTS_THAT_LOSE: ReadonlySet<Fault> = new Set([
  'store_error',
  'read_error',
  'unreadable_answer',
  'hangs_in_commit',
  'conflict',
  'slow_commit',
  'lost_offer',
  // These last a while, which may be shorter than it takes to the next look.
  'disk_full',
  'store_gone',
  'store_hangs',
]);

/**
 * WAK4.1: a look repairs what a fault has lost, and nothing else waits for one. So on a host that is well, nothing that
 * may be claimed is left unclaimed while there is a free slot, and nothing is held that nobody looks after: also just after
 * it stood still, or had just started. Only where there is one host: what another one held is found by looking.
 */
export class Unclaimed {
  readonly #world: World;
  readonly #since = new Map<Lease, number>();
  #nextLook = 0;
  #troubledAt = -Infinity;
  #struck = 0;

  constructor(world: World) {
    this.#world = world;
  }

  look(): void {
    const { hosts, timeline } = this.#world;
    const { now } = timeline;
    const [host] = hosts;
    if (now < this.#nextLook || hosts.length !== 1 || !host) return;
    this.#nextLook = now + LOOK_EVERY_MS;
    if (this.#isTroubled() || host.store !== 'up') this.#troubledAt = now;
    const life = host.up;
    if (!life || life.stalled || now - this.#troubledAt < REPAIR_MS) return this.#since.clear();
    const left = this.#left(life);
    for (const lease of this.#since.keys()) if (!left.has(lease)) this.#since.delete(lease);
    for (const [lease, what] of left) {
      const since = this.#since.get(lease) ?? now;
      this.#since.set(lease, since);
      const ms = now - since;
      const message = (): string => `${lease.task} ${what}, for ${ms} ms, and nothing was in the way`;
      this.#world.check(ms <= AT_ONCE_MS, 'hints', message);
    }
  }

  /** A fault may strike between two looks. */
  #isTroubled(): boolean {
    const { diskFull, faults } = this.#world;
    let count = 0;
    for (const fault of FAULTS_THAT_LOSE) count += faults.struck.get(fault) ?? 0;
    const more = count > this.#struck;
    this.#struck = count;
    return more || diskFull;
  }

  #left(life: Life): Map<Lease, string> {
    const { auditor, memory, options } = this.#world;
    const { runs } = life.engine.host.scheduler;
    const executing = [...runs.values()].filter((run) => run.executing).length;
    const hasSlot = executing < options.settings.concurrency;
    const most = this.#mostRank(life);
    const left = new Map<Lease, string>();
    for (const { id } of auditor.ledger.rows.task.values()) {
      const lease = memory.tables.leases.get(id);
      if (!lease) continue;
      // What was to wait for a time is found by looking at the clock.
      const isFree = lease.host === null && lease.waitMs === 0;
      if (isFree && lease.rank <= most && (hasSlot || lease.rank === 0))
        left.set(lease, 'may be claimed, and there is a free slot');
      const isForgotten = lease.host === life.host.name && !runs.has(id);
      if (isForgotten) left.set(lease, 'is held by a host that does not know of it');
    }
    return left;
  }

  /** Decision 023: a host of a shared database that keeps so many waiting for room leaves new work to others, but no subtask. */
  #mostRank(life: Life): number {
    const { auditor, options } = this.#world;
    const { runs } = life.engine.host.scheduler;
    const waiting = [...auditor.ledger.rows.task.values()].filter(
      ({ id, waitingOn }) => ROOM.has(waitingOn ?? '') && runs.has(id),
    );
    return options.shared && waiting.length >= WAIT_AT_MOST ? 1 : Infinity;
  }
}
