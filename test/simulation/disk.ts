import { ReveilleError } from '@reveille/protocol';
import type { Change, Dispatch, Outcome, Store } from '@reveille/core';
import { openMemory, type MemoryBackend } from '@reveille/stores';
import type { Life } from './life.ts';

const failed = (): ReveilleError =>
  new ReveilleError('store_failed', 'The simulated store failed; nothing was changed.');
const full = (): ReveilleError =>
  new ReveilleError('store_full', 'The simulated disk is full; nothing was changed.');
const never = <T>(): Promise<T> => new Promise(() => {});

/**
 * The store and the dispatch as one life of a host sees them: the real memory store, with everything that can
 * happen on the way to it. Nothing of a dead life has any effect, and nothing answers it.
 *
 * A file belongs to one host, shares commits, and reads what is not yet on disk. A shared database takes a
 * change at one moment, which lies somewhere between call and answer.
 */
export class Disk {
  readonly backend: MemoryBackend;
  readonly store: Store;
  readonly dispatch: Dispatch;
  readonly #life: Life;
  #unreadableUntil = -Infinity;

  constructor(life: Life) {
    this.#life = life;
    const { memory, options, timeline } = life.world;
    const clock = { mono: () => timeline.now };
    this.backend = openMemory(
      options.shared ? { clock, memory } : { clock, memory, sync: () => this.#sync() },
    );
    this.store = this.#makeStore();
    this.dispatch = this.#makeDispatch();
  }

  #makeStore(): Store {
    const { store } = this.backend;
    const { shared } = this.#life.world.options;
    return {
      readsOwnWrites: !shared,
      get: (table, id) => this.#read(() => store.get(table, id)),
      find: (table, find) => this.#read(() => store.find(table, find)),
      sessionsWithMail: (limit) => this.#read(() => store.sessionsWithMail(limit)),
      commit: (change) => {
        const to = takenForCall(change);
        if (to && !this.#life.dead) this.#life.world.takings.begin(to);
        return shared ? this.#commitShared(change) : this.#commitOwn(change);
      },
      barrier: () => (this.#life.dead ? never() : this.#life.answer(store.barrier())),
      undone: () => store.undone(),
      events: (after, limit) => this.#read(() => store.events(after, limit)),
      lastEvent: () => this.#read(() => store.lastEvent()),
      onHint: (listener) => store.onHint((sessions) => this.#hint('lost_wake', () => listener(sessions))),
      close: () => store.close(),
    };
  }

  #makeDispatch(): Dispatch {
    const { dispatch } = this.backend;
    return {
      claim: (request) => {
        if (request.maxRank === undefined) this.#life.world.checkSlots(this.#life, request.max);
        return this.#read(() => this.#said('claims', dispatch.claim(request)), true);
      },
      renew: (request) => this.#read(() => dispatch.renew(request), true),
      giveBack: (request) => {
        this.#life.world.say(this.#life, `gives ${request.task} back`);
        return this.#read(() => dispatch.giveBack(request), true);
      },
      reclaim: (host) => this.#read(() => dispatch.reclaim(host), true),
      nextDueIn: () => this.#read(() => dispatch.nextDueIn()),
      onOffer: (listener) => dispatch.onOffer(() => this.#hint('lost_offer', listener)),
    };
  }

  async #said(what: string, claims: ReturnType<Dispatch['claim']>): ReturnType<Dispatch['claim']> {
    const made = await claims;
    for (const { task, rank } of made) this.#life.world.say(this.#life, `${what} ${task} (rank ${rank})`);
    return made;
  }

  /** A hint may be lost or late; the engine has to look by itself. */
  #hint(fault: 'lost_wake' | 'lost_offer', tell: () => void): void {
    const { world } = this.#life;
    if (this.#life.dead) return;
    if (world.strikes(fault, 0.5)) return world.say(this.#life, `a hint is lost (${fault})`);
    this.#life.deliver(tell);
  }

  /** `whole`: it changes something, so it happens at one moment; the answer may still come late. */
  #read<T>(op: () => Promise<T>, whole = false): Promise<T> {
    const life = this.#life;
    if (life.dead) return never();
    const { host, world } = life;
    if (host.store === 'hangs') return life.later(() => this.#read(op, whole));
    if (host.store === 'gone' || (world.strikes('read_error', 0.004) && !life.starting))
      return Promise.reject(failed());
    if (world.timeline.now < this.#unreadableUntil && !whole) return Promise.reject(failed());
    const slow = world.options.shared && world.strikes('slow_read', 0.05) ? world.chance.int(1, 30) : 0;
    if (slow === 0) return op();
    if (whole) return life.answer(op().then((value) => world.timeline.sleep(slow).then(() => value)));
    return life.answer(world.timeline.sleep(slow).then(op));
  }

  /** Applied at once, on disk when `#sync` says so. */
  #commitOwn(change: Change): Promise<Outcome> {
    const life = this.#life;
    if (life.dead) return never();
    const { host, world } = life;
    if (host.store === 'hangs') return life.later(() => this.#commitOwn(change));
    if (host.store === 'gone') return Promise.reject(failed());
    // A real one, in the middle of the shared commit: the last row is not what it was expected to be.
    if (world.strikes('conflict', 0.03)) return life.answer(this.backend.store.commit(spoilt(change)));
    return life.answer(this.backend.store.commit(change).then((outcome) => this.#record(change, outcome)));
  }

  #record(change: Change, outcome: Outcome): Outcome {
    if (outcome.committed) this.#life.world.onDurable(change, outcome, this.#life);
    if (outcome.committed && takenForCall(change)) this.#betweenTakingAndAnswer();
    return outcome;
  }

  /** A call has taken mail, on disk, and nobody has it yet. */
  #betweenTakingAndAnswer(): void {
    const { host, world } = this.#life;
    if (world.strikes('unreadable_answer', 0.1)) this.#unreadableUntil = world.timeline.now + 3;
    const longerThanALease = world.chance.pick([16_000, 20_000, 40_000]) ?? 16_000;
    if (world.strikes('stall_with_answer', 0.3)) host.stall(longerThanALease);
  }

  /** What was applied since the last time goes to disk, all of it or nothing. */
  #sync(): Promise<void> {
    const life = this.#life;
    const { world } = life;
    const ms = world.strikes('slow_commit', 0.2) ? world.chance.int(20, 900) : world.chance.int(0, 3);
    return new Promise((resolve, reject) => {
      life.after(ms, () => {
        if (world.strikes('crash_before_commit', 0.008)) return world.crash(life, 'before a commit');
        if (life.host.store !== 'up') return reject(failed());
        if (world.diskFull) return reject(full());
        if (world.strikes('store_error', 0.02)) return reject(failed());
        // It is on disk, and nobody hears of it.
        if (world.strikes('crash_after_commit', 0.008)) world.crash(life, 'after a commit', { onDisk: true });
        resolve();
      });
    });
  }

  async #commitShared(change: Change): Promise<Outcome> {
    const life = this.#life;
    if (life.dead) return never();
    const { world } = life;
    const slow = world.strikes('slow_commit', 0.2);
    await world.timeline.sleep(slow ? world.chance.int(5, 600) : world.chance.int(0, 2));
    if (life.dead) return never();
    if (world.strikes('crash_before_commit', 0.008)) {
      world.crash(life, 'before a commit');
      return never();
    }
    // Another host goes on with what this one was about to write.
    if (writesRun(change) && world.hosts.length > 1 && world.strikes('hangs_in_commit', 0.03))
      life.host.loseStore('hangs', world.chance.pick([17_000, 25_000]) ?? 17_000);
    if (life.host.store === 'hangs') return life.later(() => this.#commitShared(change));
    if (life.host.store === 'gone' || world.strikes('store_error', 0.02)) return life.refuse(failed());
    if (world.diskFull) return life.refuse(full());
    if (world.strikes('conflict', 0.03)) return life.answer(Promise.resolve({ committed: false }));
    const outcome = this.#record(change, await this.backend.store.commit(change));
    if (outcome.committed && world.strikes('crash_after_commit', 0.008))
      world.crash(life, 'after a commit', { onDisk: true });
    if (slow) await world.timeline.sleep(world.chance.int(1, 300));
    return life.answer(Promise.resolve(outcome));
  }
}

const writesRun = ({ writes }: Change): boolean =>
  writes.some(({ table, doc }) => table === 'run' && 'state' in doc && doc.state === 'open');

/** Whose mail a call takes by this change. */
const takenForCall = ({ writes }: Change): string | undefined =>
  writes
    .map(({ doc }) =>
      'taken' in doc && doc.state === 'delivered' && doc.taken?.by === 'call' ? doc.to : undefined,
    )
    .find((to) => to !== undefined);

function spoilt(change: Change): Change {
  const last = change.writes.at(-1);
  if (!last) return { ...change, guards: [{ table: 'task', id: 'nobody', version: 1 }] };
  return { ...change, writes: [...change.writes.slice(0, -1), { ...last, expect: last.expect + 1 }] };
}
