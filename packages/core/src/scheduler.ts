import { isStoreError, type SessionId, type TaskId } from '@reveille/protocol';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import type { HolderHooks } from './holding.ts';
import type { Mailroom } from './mailroom.ts';
import { offerTask } from './offers.ts';
import { queuedMessages } from './mailbox.ts';
import { LEASE, type Claim } from './ports/dispatch.ts';
import { Stepper } from './stepper.ts';
import { wakes } from './wake-policy.ts';
import { WorkerRun } from './worker-run.ts';

/** Runs that go on after a wait are taken beyond the limit on new work: a woken parent never queues for a slot (WAK1). */
const CONTINUATIONS_AT_ONCE = 64;
const RESTING_PER_SWEEP = 200;
/**
 * So many may wait here for memory before nothing but subtasks is claimed. What waits behind them may need none, so it is not
 * few; on a database that other hosts share it is, since one of them may have room.
 */
const WAITING = { alone: 256, shared: 4 } as const;

/**
 * Claims what may run here and keeps the claims alive. New work is admitted while fewer turns are executing than
 * the host allows; a run that waits holds no slot, so no set of waiting parents can stop their children (LIM2).
 */
export class Scheduler {
  readonly #context: Context;
  readonly #mailroom: Mailroom;
  readonly #runs = new Map<TaskId, WorkerRun>();
  /** Claimed again while their last holder had not left yet. */
  readonly #next = new Set<TaskId>();
  /** Fenced while the lease may still have been this host's: nobody else gets them before they are given back. */
  readonly #fenced = new Set<TaskId>();
  readonly #claims: Stepper;
  /** The same for all runs: there may be ten thousand. */
  readonly #hooks: HolderHooks<WorkerRun>;
  /** Not before the engine has started: what is claimed sooner would be voided with the leases of an earlier life. */
  #started = false;
  #draining = false;
  #looked = 0;
  #lastRenewed: number;
  #unsubscribe: () => void;

  constructor(context: Context, mailroom: Mailroom) {
    this.#context = context;
    this.#mailroom = mailroom;
    this.#hooks = {
      mailroom,
      slotChanged: () => this.#slotChanged(),
      isLost: (task) => this.#isLost(task),
      done: (run) => this.#done(run),
    };
    this.#lastRenewed = context.clock.mono();
    this.#claims = new Stepper({
      step: () => this.#claim(),
      failed: (error) => this.#report('claiming failed; the next tick tries again', error),
    });
    this.#unsubscribe = context.dispatch.onOffer(() => this.kick());
    context.governor?.slotsBy(() => context.settings.concurrency - this.#executing());
  }

  get runs(): ReadonlyMap<TaskId, WorkerRun> {
    return this.#runs;
  }

  start(): void {
    this.#started = true;
    // However long it took to get here: nothing is held yet that could have been lost.
    this.#lastRenewed = this.#context.clock.mono();
    this.kick();
  }

  /** Looks for work. */
  kick(): void {
    this.#claims.poke();
  }

  async #claim(): Promise<void> {
    // Who cannot renew must not claim: it would only have to stop again.
    if (!this.#started || this.#draining || this.#mayHaveLost()) return;
    const { dispatch, host, settings } = this.#context;
    await this.#giveBackFenced();
    const woken = await dispatch.claim({ host, max: CONTINUATIONS_AT_ONCE, maxRank: 0 });
    this.#holdAll(woken);
    const free = settings.concurrency - this.#executing();
    const fresh = free > 0 ? await dispatch.claim({ host, max: free, ...this.#only() }) : [];
    this.#holdAll(fresh);
    if (woken.length + fresh.length > 0) this.kick();
  }

  /** Where many wait for room already, only whom somebody may be waiting for is claimed. */
  #only(): { maxRank?: number } {
    const { governor, store } = this.#context;
    const most = store.readsOwnWrites ? WAITING.alone : WAITING.shared;
    return (governor?.waiting ?? 0) < most ? {} : { maxRank: 1 };
  }

  /** Who waits for room was claimed before. */
  #slotChanged(): void {
    this.#context.governor?.look();
    this.kick();
  }

  /** At once: if the next claim fails, nobody else knows of these. A drain leaves them to a later life. */
  #holdAll(claims: readonly Claim[]): void {
    if (this.#draining) return;
    for (const claim of claims) this.#hold(claim.task as TaskId);
  }

  #executing(): number {
    let count = 0;
    for (const run of this.#runs.values()) if (run.executing) count++;
    return count;
  }

  #hold(task: TaskId): void {
    if (this.#runs.has(task)) {
      // Tried again while the agent of its last run is still being stopped: its turn comes when that one is gone.
      this.#next.add(task);
      return;
    }
    this.#fenced.delete(task);
    this.#runs.set(task, new WorkerRun(this.#context, this.#hooks, task));
  }

  #done(run: WorkerRun): void {
    const task = run.taskId;
    if (this.#runs.get(task) === run) this.#runs.delete(task);
    if (this.#next.delete(task) && !this.#draining) this.#hold(task);
    // If the lease is still this host's, whoever went on with the run has none, and nobody would get one.
    else if (run.overtaken) this.#fenced.add(task);
    this.kick();
    const session = run.run?.session;
    // Mail that came while it was leaving finds nobody at the desk.
    if (session && run.leftOpen) this.#mailroom.wake(session);
  }

  /**
   * A wake may be lost: each sweep looks at the runs that execute, and at some of those that rest, in turn. Ten thousand
   * may rest, and a look costs two reads.
   */
  look(): void {
    const resting: WorkerRun[] = [];
    for (const run of this.#runs.values()) {
      if (run.executing) void run.look();
      else resting.push(run);
    }
    if (this.#looked >= resting.length) this.#looked = 0;
    for (const run of resting.slice(this.#looked, this.#looked + RESTING_PER_SWEEP)) void run.look();
    this.#looked += RESTING_PER_SWEEP;
  }

  tick(): void {
    // A store that hangs never says that the leases could not be renewed.
    if (this.#mayHaveLost()) {
      void this.#fence(this.#runs.values());
      void this.renew();
    }
    for (const run of this.#runs.values()) run.tick();
    this.kick();
  }

  /**
   * Extends the leases. A host that could not for so long that they may have ended stops its agents first
   * and asks afterwards: nobody else may start them while they live.
   */
  async renew(): Promise<void> {
    const { dispatch, host, clock } = this.#context;
    const runs = new Map(this.#runs);
    try {
      const before = clock.mono();
      const lost = await dispatch.renew({ host, tasks: [...runs.keys()] });
      const refused = this.#mayHaveLost();
      this.#lastRenewed = before;
      // What was offered while nothing could be claimed is not told of again.
      if (refused) this.kick();
      // Not one that was claimed again meanwhile.
      await this.#fence(lost.flatMap((task) => runs.get(task as TaskId) ?? []));
    } catch (error) {
      this.#report('the leases could not be renewed', error);
      if (this.#mayHaveLost()) await this.#fence(this.#runs.values());
    }
  }

  /** Asks for all that is held: what a host does not name when it renews, it may be taken to have given up. */
  async #isLost(task: TaskId): Promise<boolean> {
    const { dispatch, host } = this.#context;
    return (await dispatch.renew({ host, tasks: [...this.#runs.keys()] })).includes(task);
  }

  #mayHaveLost(): boolean {
    return this.#context.clock.mono() - this.#lastRenewed >= LEASE.lastsMs - LEASE.renewEveryMs;
  }

  async #fence(runs: Iterable<WorkerRun>): Promise<void> {
    const fence = async (run: WorkerRun): Promise<void> => {
      await run.fence({ wait: true });
      if (this.#runs.has(run.taskId)) return;
      this.#fenced.add(run.taskId);
      this.kick();
    };
    await Promise.all([...runs].map(fence));
  }

  /**
   * Renewing extends all that this host holds, so what it fenced would be held by nobody at work for ever. Between two
   * claims, so that none of it has just been claimed again.
   */
  async #giveBackFenced(): Promise<void> {
    const { dispatch, host } = this.#context;
    for (const task of this.#fenced) {
      await dispatch.giveBack({ host, task, delayMs: 0 });
      this.#fenced.delete(task);
    }
  }

  /** Mail for a worker that nobody here looks after: if its run is parked, it needs a host. */
  async adopt(session: SessionId): Promise<void> {
    await decide(this.#context, async (tx) => {
      const row = await tx.get('session', session);
      const task = row?.task && row.state === 'open' ? await tx.get('task', row.task) : undefined;
      const run = task?.run ? await tx.get('run', task.run) : undefined;
      if (!task || !run || run.retryAt !== null || run.paused) return;
      // After a restart it may be this host's and not claimed again yet; with mail it goes before new work.
      const waitsHere = run.host === this.#context.host && !this.#runs.has(task.id);
      if (run.host !== null && !waitsHere) return;
      const queued = row?.kind === 'orchestrator' ? await queuedMessages(tx, session) : [];
      // Mail that wakes nobody needs no host.
      if (queued.length === 0 || wakes(queued)) offerTask(tx, task, { continues: true });
    });
  }

  /** Stops claiming, then stops every agent; their runs go on in a later life. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#claims.close();
    this.#unsubscribe();
    // Whoever stops the engine may close the store next: nothing may be on its way there.
    await Promise.all([...this.#runs.values()].map((run) => run.fence({ wait: true })));
  }

  #report(message: string, error: unknown): void {
    this.#context.log?.(isStoreError(error) ? 'warn' : 'error', message, { error: String(error) });
  }
}
