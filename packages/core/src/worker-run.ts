import { isStoreError, type Message, type Run, type Task, type TaskId } from '@reveille/protocol';
import { AgentLine } from './agent-line.ts';
import { BlockedCalls } from './blocked-calls.ts';
import { Berth, sayWhy } from './berth.ts';
import { turnText } from './briefing.ts';
import type { Context } from './context.ts';
import { Checkout } from './checkout.ts';
import { decide, standingOf, tellLate } from './decide.ts';
import { held, type DecideHeld, type Held, type HolderHooks } from './holding.ts';
import type { Taker } from './mailroom.ts';
import { checkFiles, spendUsage, tellAlerts } from './observations.ts';
import type { Executor } from './ports/executor.ts';
import { onDisk } from './ports/store.ts';
import {
  begin,
  endTurn,
  fault,
  isLimit,
  letGo,
  openTurn,
  type Begun,
  mayPark,
  type OpenedTurn,
} from './run-acts.ts';
import { park } from './parking.ts';
import { cancelled, type Ending } from './ending.ts';
import { settle } from './settle.ts';
import { silenceDue, watchSilence } from './silence.ts';
import { askHistory, recordProven, steer, takeBack } from './steering.ts';
import { leaveToNext } from './swap.ts';
import { Stepper, type Stepped } from './stepper.ts';
import type { Tx } from './tx.ts';
import { WallTime } from './wall-time.ts';

/**
 * One run that this host holds, and the agent that carries it out.
 *
 * It is level-triggered. Whatever happens (a word of the agent, a wake, a tick, a commit by somebody else) asks for a
 * step; steps run one at a time; each looks at the rows and at what the agent said, and does the next thing that
 * is due. A step that fails because the store does is made again: nothing depends on an event being seen twice.
 *
 *   begin ─ start the agent ─┬─ open turn ─ hand over ─ … ─ end turn ─┐
 *                            └────────────── rest ◄───────────────────┘
 *   and from anywhere: run ended or epoch taken over → stop the agent; cancel wish → stop, settle;
 *   agent gone → fault; lease lost → stop, write nothing.
 */
export class WorkerRun implements Taker, Stepped {
  readonly taskId: TaskId;
  readonly #context: Context;
  readonly #hooks: HolderHooks<WorkerRun>;
  /** What calls of the agent tell of it. */
  readonly line: AgentLine;
  readonly #stepper = new Stepper(this);
  #held: Held | null = null;
  #executor: Executor | null = null;
  #backend = '';
  readonly #checkout: Checkout;
  #phase: 'starting' | 'live' | 'leaving' | 'stopping' | 'done' = 'starting';
  readonly #blocked = new BlockedCalls();
  #wall: WallTime | null = null;
  /** Whether there may be more for somebody to do: it left a run that is still open. */
  leftOpen = true;
  /** Somebody else went on with the run. */
  overtaken = false;
  #tried = false;
  /** What `begin` said, until the agent has been given its first turn: if the store fails before, the rest is made again. */
  #begun: Begun | null = null;
  /** On the way from a claim to its first turn; it holds its slot meanwhile. */
  #beginning = true;
  readonly #berth: Berth | null;

  constructor(context: Context, hooks: HolderHooks<WorkerRun>, taskId: TaskId) {
    this.#context = context;
    this.#hooks = hooks;
    this.taskId = taskId;
    this.line = new AgentLine(context, this);
    this.#checkout = new Checkout(context, taskId);
    this.#berth = Berth.of(context, this);
    this.poke();
  }

  /** Whether it holds a slot: a run that rests, or waits in a call or for room, does not (LIM2). */
  get executing(): boolean {
    const begins = this.#beginning && this.#berth?.waits !== true;
    return begins || (this.line.turn !== null && !this.#blocked.waitsIn(this.line.turn));
  }

  get run(): Held | null {
    return this.#held;
  }

  /** A call of its agent waits for others; until it returns, the run holds no slot. */
  blocked(): () => void {
    const leave = this.#blocked.enter(this.line.turn);
    this.#hooks.slotChanged();
    return () => {
      leave();
      this.#hooks.slotChanged();
    };
  }

  async look(): Promise<void> {
    this.#checkout.wakened();
    this.#wall?.doubt();
    this.poke();
  }

  poke(): void {
    this.#stepper.poke();
  }

  tick(): void {
    const [{ awake, settings }, line] = [this.#context, this.line];
    // Whoever waits in a call of ours cannot give a sign.
    if (this.#blocked.waitsIn(line.turn)) line.vitals.waits(awake.ms);
    line.alerts.push(...line.vitals.due(awake.ms, settings));
    if (line.alerts.length > 0 || line.failure || this.#wall?.due || silenceDue(this.#context, line.vitals))
      this.poke();
  }

  /**
   * The lease is lost: another host may hold the run. Stop, and write nothing. `wait`: until nothing of it is on its way
   * to the store any more; what was would be taken for a word of whoever claims it next here.
   */
  async fence({ wait }: { wait: boolean }): Promise<void> {
    if (this.#phase === 'done') return;
    this.#phase = 'stopping';
    this.#checkout.abort('this host no longer holds the run');
    await this.line.stop('this host no longer holds the run');
    if (wait) await this.#stepper.idle();
    this.#finish();
  }

  failed(error: unknown): void {
    const level = isStoreError(error) ? 'warn' : 'error';
    this.#context.log?.(level, 'a step failed and will be made again', {
      task: this.taskId,
      error: String(error),
    });
    if (this.#phase === 'done') return;
    this.#context.retries.later(() => this.poke());
  }

  async step(): Promise<void> {
    if (this.#phase === 'starting') return this.#start();
    if (this.#phase === 'leaving') return this.#leave();
    if (this.#phase !== 'live') return;
    const line = this.line;
    if (line.started) await this.#record();
    const rows = await this.#current();
    if (!rows) return this.#leave();
    if (rows.task.cancelling) return this.#settle(cancelled(rows.task.cancelling.why));
    if (line.vitals.patterns.fileCheck) await checkFiles(this.#context, line, this.#checkout);
    if (line.alerts.length > 0) await tellAlerts(this.#context, line, this.#decide);
    while ((await this.#record()) && line.usage.length > 0);
    if (line.failure) return this.#fault(line.failure);
    if (rows.run.swap) return this.#leaveToNext();
    // What the turn did not take may not be counted as read when it ends.
    if (line.refused.length > 0) await takeBack(line, this.#decide);
    if (line.turnEnd) return line.steering ? undefined : this.#endTurn(line.turnEnd);
    if (line.turn === null)
      return this.#berth?.parking ? this.#park(this.#berth, rows.run) : this.#next(rows.run);
    if (rows.run.paused) line.interrupt();
    if (line.proven.size > 0) await recordProven(line, this.#decide);
    const steers = this.#executor?.steers && this.#context.settings.steer;
    if (steers && line.receptive) await this.#steer();
    await watchSilence(this.#context, line.vitals, this.#decide);
  }

  /** The rows as they are on disk, or null if this run is no longer this host's to advance. */
  async #current(): Promise<{ run: Run; task: Task } | null> {
    const [{ store }, held] = [this.#context, this.#held];
    const [run, task] = await onDisk(store, () =>
      Promise.all([held ? store.get('run', held.id) : undefined, store.get('task', this.taskId)]),
    );
    if (!run || !task || run.doc.state === 'ended') return null;
    this.overtaken = run.doc.epoch !== held?.epoch;
    return this.overtaken ? null : { run: run.doc, task: task.doc };
  }

  async #start(): Promise<void> {
    if (!this.#begun && this.#berth && !(await this.#berth.mayBegin())) return this.#hooks.slotChanged();
    const standing = standingOf(this.#context, this.taskId, 'then');
    const begun = (this.#begun ??= await decide(this.#context, (tx) => this.#begin(tx), standing));
    if (begun.kind === 'nothing') return this.#finish();
    const { id, session, epoch, identity } = begun.run;
    this.#held ??= { id, session, epoch, identity };
    this.#backend = begun.task.agent.backend;
    this.#executor = this.#context.executors.get(this.#backend) ?? null;
    const reap = begun.kind === 'reap' ? begun.run.identity : begun.reap;
    if (reap !== null) await this.#context.executors.get(begun.run.on ?? this.#backend)?.reap(reap);
    if (this.#phase !== 'starting') return;
    if (begun.kind === 'reap') return this.#leave();
    if (begun.waits) {
      const parked = await this.#decideHeld(async (tx, run, task) => park(tx, task, run));
      return parked === null ? this.#leave() : this.#finish();
    }
    this.#hooks.mailroom.sit(session, 'holder', this);
    if (this.#berth && !(await this.#hasRoom(this.#berth, begun.task))) return;
    this.#wall ??= new WallTime(this.#context, begun.run);
    await this.#checkout.launch(this.line, this.#executor, begun.task, begun.run);
    // Whoever is given work can be found again by a later life: the identity is on disk before the first word.
    if (this.line.started && !(await this.#record())) return this.#leave();
    if (begun.turn) await this.#handOver(begun.turn);
    if (!this.#working) return;
    this.#phase = 'live';
    this.#begun = null;
    this.#beginning = false;
    this.#hooks.slotChanged();
    this.poke();
  }

  /** Whether its agent may be started. Until then it can be cancelled, paused and swapped as any other. */
  async #hasRoom(berth: Berth, begun: Task): Promise<boolean> {
    const short = berth.shortFor(begun);
    if (!short) return true;
    this.#hooks.slotChanged();
    const rows = await this.#current();
    if (!rows) await this.#leave();
    else if (rows.task.cancelling) await this.#settle(cancelled(rows.task.cancelling.why));
    else if (rows.run.swap) await this.#leaveToNext();
    else if (rows.run.paused) await this.#endHeld(async (tx, run, task) => park(tx, task, run));
    else await this.#decideHeld(async (tx, _, task) => sayWhy(tx, task, short));
    return false;
  }

  /** A claim that was lost while the store did not answer opens nothing any more. */
  async #begin(tx: Tx): Promise<Begun> {
    const isLost = (): Promise<boolean> => this.#hooks.isLost(this.taskId);
    // A pause drops the lease, a resume offers it again: with other hosts about, it may be another's.
    const doubt = this.#tried || this.#berth?.waited || !this.#context.store.readsOwnWrites;
    if (!this.#working || (doubt && (await isLost()))) return { kind: 'nothing' };
    this.#tried = true;
    return begin(tx, this.#context, this.taskId, isLost);
  }

  get #working(): boolean {
    return this.#phase === 'starting' || this.#phase === 'live';
  }

  /**
   * Records the start of the agent and what it used; past a limit the run ends, in order, with what it has (LIM1). False: the
   * run is no longer this host's, and what was used is counted when its agent is gone.
   */
  async #record(): Promise<boolean> {
    const { line } = this;
    const { started, usage } = { started: line.started, usage: [...line.usage] };
    const time = await this.#wall?.short();
    if (!started && usage.length === 0 && !time) return true;
    const recorded = await this.#decideHeld(async (tx, row, task) => {
      const run = started ? { ...row, identity: started.identity, on: this.#backend } : row;
      tx.put('run', run);
      if (started && this.#executor?.memoryBytes) this.#berth?.started(started, row);
      return { over: await spendUsage(tx, this.#context, { run, task }, { usage, started, time }) };
    });
    if (!recorded) return false;
    line.usage = line.usage.slice(usage.length);
    // Kept until the store has the end: the amounts are recorded and will not say it again.
    if (recorded.over) line.failure ??= { class: 'budget', message: recorded.over };
    // What is not on record is not what this host has to let go of.
    if (started && this.#held) this.#held = { ...this.#held, identity: started.identity };
    if (line.started === started) line.started = null;
    return true;
  }

  /** Opens the next turn if there is something to say, and asks a resumed agent's history first if it must. */
  async #next(run: Run): Promise<void> {
    const seen = run.turn ? await askHistory(this.#context, this.line, run) : undefined;
    const turn = await this.#decideHeld((tx, row, task) => openTurn(tx, this.#context, task, row, seen));
    if (turn) return this.#handOver(turn);
    this.#berth?.idles();
    await watchSilence(this.#context, this.line.vitals, this.#decide);
  }

  async #handOver(turn: OpenedTurn): Promise<void> {
    const held = this.#held;
    if (!held) return;
    const given = { run: held.id, workspace: this.#checkout.workspace };
    const text = await turnText(this.#context, this.taskId, turn, given);
    if (!this.#working) return;
    const ids = [...(turn.assignment ? [held.id] : []), ...turn.messages.map((message) => message.id)];
    this.#berth?.works();
    this.line.beginTurn({ turn: turn.number, given: ids, text });
    this.#hooks.slotChanged();
  }

  async #endTurn(end: NonNullable<AgentLine['turnEnd']>): Promise<void> {
    const { worked, alive } = this.line.vitals;
    // A turn that was broken off shows only what it did something after.
    const proven = new Set(this.line.proven.keys());
    const has = (id: string): boolean => (!end.interrupted || proven.has(id)) && this.line.holds(id, end.at);
    const findings = await this.#checkout.look(this.#held);
    const how = { ...end, worked, alive, has, findings };
    const ended = await this.#decideHeld((tx, run, task) =>
      endTurn(tx, this.#context, task, run, how).then(() => true),
    );
    if (!ended && this.#held) void tellLate(this.#context, this.#held.id, findings);
    this.line.endTurn();
    this.#berth?.rests();
    this.#hooks.slotChanged();
    this.poke();
  }

  async #steer(): Promise<void> {
    const keep = (message: Message): boolean => this.#hooks.mailroom.wanted(message.to, message);
    await steer({ context: this.#context, line: this.line, decideHeld: this.#decide, keep });
  }

  /** Its memory is needed, and it has reason to rest: its next message resumes it. */
  async #park(berth: Berth, run: Run): Promise<void> {
    if (!berth.stopped && !(await this.#decideHeld((tx, row, task) => mayPark(tx, task, row)))) {
      berth.works();
      this.#hooks.slotChanged();
      return this.#next(run);
    }
    berth.stopped = true;
    await this.line.stop('it rests, and its memory is needed');
    return this.#endHeld(async (tx, row, task) => park(tx, task, row, 'its memory was needed'));
  }

  async #leaveToNext(): Promise<void> {
    await this.line.stop('another agent goes on with it');
    return this.#endHeld(async (tx, run, task) => leaveToNext(tx, task, run));
  }

  async #fault(error: NonNullable<AgentLine['failure']>): Promise<void> {
    const left = { error, lastWords: this.line.vitals.lastWords };
    const act = (tx: Tx, run: Run, task: Task): Promise<void> => fault(tx, this.#context, task, run, left);
    // It does not work on while what it left is collected.
    if (isLimit(error.class)) this.line.interrupt();
    // The next attempt is to know whether this one had its task.
    if (this.line.proven.size > 0) await recordProven(this.line, this.#decide);
    // Past a limit nothing it says counts any more, however long it takes to stop it.
    if (isLimit(error.class)) return this.#decideHeld(act).then(() => this.#leave());
    await this.line.stop(error.message);
    return this.#endHeld(act);
  }

  /** Stops the agent, takes what it leaves, and ends the run. */
  async #settle(ending: Ending): Promise<void> {
    await this.line.stop(ending.output);
    await this.#endHeld((tx, run, task) => settle(tx, this.#context, task, run, ending));
  }

  /** The last write of one that has stopped its agent. If somebody ended the run meanwhile, it only lets go of it. */
  async #endHeld(act: (tx: Tx, run: Run, task: Task) => Promise<unknown>): Promise<void> {
    const ended = await this.#decideHeld(async (tx, run, task) => {
      // What it told of while it was being stopped counts too.
      await spendUsage(tx, this.#context, { run, task }, this.line);
      await act(tx, { ...(await tx.need('run', run.id)), identity: null }, task);
      return true;
    });
    if (!ended) return this.#leave();
    await this.#checkout.leave(this.#held);
    this.#finish();
  }

  /** Every write about the run: only while it is open and the epoch is ours. */
  async #decideHeld<T>(act: (tx: Tx, run: Run, task: Task) => Promise<T>): Promise<T | null> {
    const mine = this.#held;
    if (!mine) return null;
    let ended = false;
    const value = await decide(this.#context, async (tx) => {
      const rows = await held(tx, mine.id, mine.epoch);
      const made = rows ? await act(tx, rows.run, rows.task) : null;
      ended = rows !== null && (await tx.need('run', mine.id)).state === 'ended';
      return made;
    });
    // The agent is to be stopped, and the wake that says so may be lost.
    if (ended) this.poke();
    return value;
  }

  get #decide(): DecideHeld {
    return (act) => this.#decideHeld(act);
  }

  /** The run has ended, or is another's. Its agent is stopped; only then does its task no longer need this host. */
  async #leave(): Promise<void> {
    this.#phase = 'leaving';
    this.leftOpen = false;
    await this.line.stop('the run has ended');
    await this.#checkout.leave(this.#held);
    if (this.#phase !== 'leaving') return;
    const mine = this.#held;
    if (mine?.identity) await decide(this.#context, (tx) => letGo(tx, this.#context, mine, this.line));
    this.#finish();
  }

  #finish(): void {
    if (this.#phase === 'done') return;
    this.#phase = 'done';
    this.line.turn = null;
    this.#stepper.close();
    if (this.#held) this.#hooks.mailroom.leave(this.#held.session, this);
    this.#berth?.leave();
    this.#hooks.done(this);
  }
}
