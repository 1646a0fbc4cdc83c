import type { Run, Task, TaskId } from '@reveille/protocol';
import type { Shortage } from './admission.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import type { Governor, Lodger } from './governor.ts';
import { enqueue } from './mailbox.ts';
import { rankOf } from './offers.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

type Started = { readonly identity: string | null; readonly resume: string | null };

/** The one whose room it is. */
interface Holder {
  readonly taskId: TaskId;
  readonly executing: boolean;
  poke(): void;
}

/**
 * The room that one run has on this host, or waits for. A task that begins waits before its run is opened, and stays ready; one
 * that goes on waits before its agent is started again. Either way its record says for what, and since when.
 */
export class Berth implements Lodger {
  readonly #context: Context;
  readonly #governor: Governor;
  readonly #run: Holder;
  /** It waits, and holds no slot. */
  waits = false;
  /** It once waited: whatever it was claimed for may be another's by now. */
  waited = false;
  /** Its agent was ended for its memory: whatever happens now, it is parked. */
  stopped = false;
  #identity: string | null = null;
  #resumes = false;
  #begins = false;
  /** Whether its agent, while it rests, could be ended and resumed; `wanted`: it is to be. */
  #parks: 'no' | 'may' | 'wanted' = 'no';

  /** Null: nobody governs this host. */
  static of(context: Context, run: Holder): Berth | null {
    return context.governor ? new Berth(context, context.governor, run) : null;
  }

  private constructor(context: Context, governor: Governor, run: Holder) {
    this.#context = context;
    this.#governor = governor;
    this.#run = run;
  }

  /** Also between its start and its first turn: it is about to work. */
  get executing(): boolean {
    return this.#run.executing || this.#begins;
  }

  get mayPark(): boolean {
    return this.#parks === 'may';
  }

  get parking(): boolean {
    return this.#parks === 'wanted';
  }

  park(): void {
    this.#parks = 'wanted';
    this.#run.poke();
  }

  /** A turn begins, or it has no reason to rest: until its next rest it is not parked. */
  works(): void {
    this.#parks = 'no';
    this.#begins = false;
  }

  /** It has nothing to do. */
  idles(): void {
    this.#begins = false;
  }

  /** Its turn has ended. */
  rests(): void {
    if (this.#resumes) this.#parks = 'may';
  }

  admitted(): void {
    this.waits = false;
    this.#run.poke();
  }

  /** Whether the task may begin now. What only goes on is asked when it is known how. */
  async mayBegin(): Promise<boolean> {
    if (this.#governor.enterUnseen(this)) return this.#hear(null);
    const task = (await this.#context.store.get('task', this.#run.taskId))?.doc;
    // Not to be started at all any more, or going on.
    if (task?.state !== 'ready') return this.#hear(null);
    const short = this.#governor.enter(this, {
      backend: task.agent.backend,
      rank: rankOf(task),
      fresh: true,
    });
    if (this.#hear(short) || !short) return true;
    await decide(
      this.#context,
      async (tx) => {
        const row = await tx.get('task', task.id);
        if (row?.state !== 'ready') return;
        if (short.on === 'disk' && row.waitingOn !== 'disk') await tellOfDisk(tx, this.#context, row, short);
        sayWhy(tx, row, short);
      },
      { lane: 'then', crowd: task.owner },
    );
    // There may be room since.
    return !this.waits;
  }

  /** What keeps its agent from being started now; null: nothing. */
  shortFor({ agent }: Task): Shortage | null {
    const short = this.#governor.enter(this, { backend: agent.backend, rank: 0, fresh: false });
    this.#hear(short);
    return short;
  }

  /** Its agent is a process; one that has several in a row has one name. */
  started({ identity, resume }: Started, run: Run): void {
    this.#resumes = (resume ?? run.resume) !== null;
    if (identity === null || identity === this.#identity) return;
    this.#begins = true;
    this.#identity = identity;
    this.#governor.started(this, { identity, run: run.id, before: run.resources });
  }

  leave(): void {
    this.waits = this.#begins = false;
    this.#parks = 'no';
    this.#governor.leave(this);
  }

  #hear(short: Shortage | null): boolean {
    this.waits = short !== null;
    this.waited ||= this.waits;
    return !this.waits;
  }
}

const HOUR_MS = 3_600_000;

/** A person has to do something about it; each owner hears of it once an hour, however many of its tasks wait. */
async function tellOfDisk(tx: Tx, context: Context, task: Task, { why }: Shortage): Promise<void> {
  const { host } = context;
  await enqueue(tx, context, {
    to: task.owner,
    key: `disk:${host}:${Math.floor(tx.now / HOUR_MS)}`,
    kind: 'warning',
    from: { kind: 'harness' },
    task: task.id,
    text: `Nothing new is started on ${host}: "${task.name}" ${why}. Make room, as by discarding the worktrees of tasks that are over; it goes on by itself then. What is wanted is set by governor.minDiskMb.`,
  });
}

/** The numbers of the moment when it began to wait stay: a wait that is told again every second is no news. */
export function sayWhy(tx: Tx, task: Task, { on, why }: Shortage): void {
  if (task.waitingOn === on) return;
  if (task.state === 'running') moveTask(tx, task, 'waiting', { why, on });
  else tx.put('task', { ...task, waitingOn: on, why, since: tx.now });
}
