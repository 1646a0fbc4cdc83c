import type { Message, Task } from '@reveille/protocol';
import type { World } from './world.ts';

/** For a task the next tick is enough; for mail there is the wake, and the sweep every 5 s for what was lost before. */
const TOO_LONG_MS = 12_000;
const SWEPT_MS = 7_000;
const WOKEN_MS = 2_500;

/**
 * In the quiet phase nothing is in the way of anybody. So what could go on and does not is a failure long before
 * everything has come to rest: mail for a worker that rests (WAK4), a ready task while there are free slots (LIM2).
 */
export class Watch {
  readonly #world: World;
  readonly #since = new Map<string, number>();
  /** When it began to look: a host that is down keeps the quiet phase waiting. */
  #began: number | null = null;

  constructor(world: World) {
    this.#world = world;
  }

  look(): void {
    const world = this.#world;
    const { rows } = world.auditor.ledger;
    const stuck = new Map<string, string>();
    const areUp = world.hosts.every((host) => host.up && !host.up.stalled);
    this.#began = areUp ? (this.#began ?? world.timeline.now) : null;
    if (areUp) {
      for (const message of rows.message.values()) {
        if (message.state === 'queued' && !message.quiet && this.#couldBeTaken(message))
          stuck.set(
            message.id,
            `message ${message.id} (${message.kind}) waits for ${message.to}, which rests`,
          );
      }
      for (const { id, state, swap, paused, retryAt } of rows.run.values())
        if (state === 'open' && swap && !paused && retryAt === null)
          stuck.set(id, `${id} is to be gone on with by another agent`);
      if (this.#allWait())
        for (const { id, waitingOn } of rows.task.values())
          if (waitingOn === 'memory' && !this.#hasAgent(id))
            stuck.set(`${id} room`, `task ${id} waits for memory, and nobody is at work`);
      // Behind one that waits for room, others may not even have been claimed.
      if (this.#freeSlots() && ![...rows.task.values()].some(waitsForRoom)) {
        for (const task of rows.task.values())
          if (this.#couldStart(task))
            stuck.set(task.id, `task ${task.id} is ready, and there are free slots`);
      }
    }
    for (const id of this.#since.keys()) if (!stuck.has(id)) this.#since.delete(id);
    for (const [id, what] of stuck) {
      const since = this.#since.get(id) ?? world.timeline.now;
      this.#since.set(id, since);
      const ms = world.timeline.now - since;
      const woken = id.startsWith('msg_') && this.#began !== null && since > this.#began + SWEPT_MS;
      world.check(ms < (woken ? WOKEN_MS : TOO_LONG_MS), 'liveness', () => `${what}, for ${ms} ms`);
    }
  }

  #couldBeTaken(message: Message): boolean {
    const { rows } = this.#world.auditor.ledger;
    const session = rows.session.get(message.to);
    const task = session?.task ? rows.task.get(session.task) : undefined;
    const run = task?.run ? rows.run.get(task.run) : undefined;
    if (!run || !task || waitsForRoom(task)) return false;
    return run.turn === null && !run.paused && run.retryAt === null && task.cancelling === null;
  }

  #couldStart(task: Task): boolean {
    const plan = task.plan ? this.#world.auditor.ledger.rows.plan.get(task.plan) : null;
    return task.state === 'ready' && (!plan || plan.state === 'active');
  }

  /** Whoever waits in a call may wait for those that wait for room: the first of them is let in (LIM2). */
  #allWait(): boolean {
    return this.#world.hosts.every(({ processes }) =>
      [...processes.values()].every(({ busySince }) => busySince === null),
    );
  }

  /** One that was let in and rests is no wait for room. */
  #hasAgent(task: string): boolean {
    return this.#world.hosts.some(({ processes }) =>
      [...processes.values()].some(({ spec }) => spec.task.id === task),
    );
  }

  /** Somewhere fewer agents are at work than the host allows; one that waits in a call is not at work. */
  #freeSlots(): boolean {
    const { hosts, options } = this.#world;
    return hosts.some((host) => {
      const busy = [...host.processes.values()].filter(
        (process) => process.turnOpen !== null && process.blocked === 0,
      );
      return busy.length < options.settings.concurrency;
    });
  }
}

/** Its host has no memory for it, no CPU or no disk: that it does not wait for ever shows when all has come to rest. */
const waitsForRoom = ({ waitingOn }: Task): boolean =>
  waitingOn === 'memory' || waitingOn === 'cpu' || waitingOn === 'disk';
