import {
  isStoreError,
  type ErrorClass,
  type Message,
  type Run,
  type RunId,
  type SessionId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { turnText } from './briefing.ts';
import { spend, wallLimit } from './budget.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import { Vitals, type Alert } from './health.ts';
import { enqueue, giveBack } from './mailbox.ts';
import type { Mailroom, Taker } from './mailroom.ts';
import type { Agent, Executor, ExecutorEvent, Seen, Workspace } from './ports/executor.ts';
import {
  begin,
  endTurn,
  fault,
  held,
  openTurn,
  park,
  signOfLife,
  steerTurn,
  type OpenedTurn,
} from './run-acts.ts';
import { cancelled, settle } from './settle.ts';
import { silenceDue, watchSilence } from './silence.ts';

const RETRY_STORE_MS = 1_000;
const HISTORY_MS = 30_000;
const NOWHERE: Workspace = { path: '', branch: '' };

export interface WorkerRunHooks {
  readonly mailroom: Mailroom;
  /** It began or stopped executing, so a slot was taken or given. */
  readonly slotChanged: () => void;
  readonly done: (run: WorkerRun) => void;
}

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
export class WorkerRun implements Taker {
  readonly taskId: TaskId;
  readonly #context: Context;
  readonly #hooks: WorkerRunHooks;
  readonly vitals: Vitals;
  #task: Task | null = null;
  #run: Run | null = null;
  #executor: Executor | null = null;
  #agent: Agent | null = null;
  #leaveDesk: (() => void) | null = null;
  #phase: 'starting' | 'live' | 'stopping' | 'done' = 'starting';
  #turn: number | null = null;
  /** Messages in its hands that no sign of life has followed yet. */
  #unread = false;
  #signed = false;
  #turnEnd: { lastWords: string; interrupted: boolean } | null = null;
  #failure: { class: ErrorClass; message: string } | null = null;
  #exited: string | null = null;
  #started: { identity: string | null; resume: string | null } | null = null;
  #usage: { id: string; tokens: number; usd: number }[] = [];
  #alerts: Alert[] = [];
  #blockedCalls = 0;
  readonly #usageSeen = new Set<string>();
  #steering = false;
  #refused: Message[] = [];
  #wall: { readonly since: number; readonly limitMs: number } | null = null;
  #cancelRetry: (() => void) | null = null;
  #leftOpen = true;
  #stepping = false;
  #again = false;

  constructor(context: Context, hooks: WorkerRunHooks, taskId: TaskId) {
    this.#context = context;
    this.#hooks = hooks;
    this.taskId = taskId;
    this.vitals = new Vitals(context.clock.mono());
    this.poke();
  }

  /** Whether it holds a slot: a run that rests, or waits in a call, does not (LIM2). */
  get executing(): boolean {
    return this.#phase === 'starting' || (this.#turn !== null && this.#blockedCalls === 0);
  }

  get runId(): RunId | null {
    return this.#run?.id ?? null;
  }

  /** Whether there may be more for somebody to do: it left a run that is still open. */
  get leftOpen(): boolean {
    return this.#leftOpen;
  }

  get session(): SessionId | null {
    return this.#task?.session ?? null;
  }

  /** A call of its agent waits for others; until it returns, the run holds no slot. */
  blocked(): () => void {
    this.#blockedCalls++;
    this.#hooks.slotChanged();
    return () => {
      this.#blockedCalls--;
      this.#hooks.slotChanged();
    };
  }

  /** A call arrived from the agent: whatever it had been given before, it has. */
  sign(): void {
    this.vitals.lastSign = this.#context.clock.mono();
    this.vitals.alive = true;
    if (this.#unread) this.#signed = true;
    if (this.#signed) this.poke();
  }

  /** A call is answering with messages; only what the agent does next shows that they arrived. */
  handedOver(): void {
    this.#unread = true;
    this.#signed = false;
  }

  async look(): Promise<void> {
    this.poke();
  }

  /** Ends the open turn, keeps the worker (WRK1). */
  interrupt(): void {
    if (this.#turn !== null) this.#agent?.interrupt();
  }

  tick(): void {
    this.#alerts.push(...this.vitals.due(this.#context.clock.mono(), this.#context.settings));
    if (this.#wall && this.#context.clock.mono() - this.#wall.since >= this.#wall.limitMs) {
      this.#failure ??= { class: 'limit', message: `the wall time of ${this.#wall.limitMs} ms is used up` };
    }
    if (this.#alerts.length > 0 || this.#failure || silenceDue(this.#context, this.vitals)) this.poke();
  }

  /** The lease is lost: another host may hold the run. Stop, and write nothing. */
  async fence(): Promise<void> {
    if (this.#phase === 'done') return;
    this.#phase = 'stopping';
    await this.#agent?.stop('the lease was lost');
    this.#finish();
  }

  poke(): void {
    this.#again = true;
    if (this.#stepping || this.#phase === 'done') return;
    this.#stepping = true;
    void this.#steps();
  }

  async #steps(): Promise<void> {
    try {
      while (this.#again && this.#phase !== 'done') {
        this.#again = false;
        await this.#step();
      }
    } catch (error) {
      this.#context.log?.(isStoreError(error) ? 'warn' : 'error', 'a step failed and will be made again', {
        task: this.taskId,
        error: String(error),
      });
      if (this.#phase !== 'done')
        this.#cancelRetry = this.#context.clock.after(RETRY_STORE_MS, () => this.poke());
    } finally {
      this.#stepping = false;
    }
  }

  async #step(): Promise<void> {
    if (this.#phase === 'stopping') return;
    if (this.#phase === 'starting') return this.#start();
    if (this.#started) await this.#recordStart(this.#started);
    const rows = await this.#current();
    if (!rows) {
      this.#leftOpen = false;
      return this.#stop('the run has ended');
    }
    if (rows.task.cancelling) return this.#cancel(rows.task.cancelling.why);
    await this.#tell();
    if (await this.#spendUsage()) return;
    if (this.#failure || this.#exited !== null) return this.#fault();
    if (this.#turnEnd) await this.#endTurn(this.#turnEnd);
    if (this.#turn === null) return this.#next(rows.run);
    if (rows.run.paused) this.#agent?.interrupt();
    if (this.#signed) await this.#markRead();
    if (this.#refused.length > 0) await this.#takeBack();
    if (this.#executor?.steers && this.#context.settings.steer && !this.#steering) await this.#steer();
    await this.#watch();
  }

  /** The rows as they are on disk, or null if this run is no longer this host's to advance. */
  async #current(): Promise<{ run: Run; task: Task } | null> {
    const { store } = this.#context;
    const run = this.#run ? await store.get('run', this.#run.id) : undefined;
    const task = await store.get('task', this.taskId);
    await store.barrier();
    if (!run || !task || run.doc.state === 'ended' || run.doc.epoch !== this.#run?.epoch) return null;
    this.#run = run.doc;
    this.#task = task.doc;
    return { run: run.doc, task: task.doc };
  }

  async #start(): Promise<void> {
    const begun = await decide(this.#context, (tx) => begin(tx, this.#context, this.taskId));
    if (begun.kind === 'nothing') return this.#finish();
    this.#task = begun.task;
    this.#run = begun.run;
    this.#executor = this.#context.executors.get(begun.task.agent.backend) ?? null;
    if (begun.reap !== null) await this.#executor?.reap(begun.reap);
    if (this.#phase !== 'starting') return;
    if (begun.waits) {
      await this.#decideHeld(async (tx, run, task) => park(tx, task, run));
      return this.#finish();
    }
    this.#phase = 'live';
    await this.#setWall(begun.task, begun.run);
    this.#leaveDesk = this.#hooks.mailroom.sit(begun.task.session, 'holder', this);
    if (!begun.task.cancelling) await this.#launch(begun.task, begun.run);
    if (begun.turn) await this.#handOver(begun.turn);
    this.#hooks.slotChanged();
    this.#again = true;
  }

  /** Wall time counts from the start of the run; the part before this life is known by the wall clock only. */
  async #setWall(task: Task, run: Run): Promise<void> {
    const { clock } = this.#context;
    const limitMs = task.budget ? await decide(this.#context, (tx) => wallLimit(tx, task.budget)) : null;
    const before = Math.max(0, clock.now() - run.startedAt);
    this.#wall = limitMs === null ? null : { since: clock.mono() - before, limitMs };
  }

  async #launch(task: Task, run: Run): Promise<void> {
    const { workspaces } = this.#context;
    if (!this.#executor) {
      this.#failure = { class: 'invalid', message: `there is no backend "${task.agent.backend}"` };
      return;
    }
    try {
      const workspace = workspaces ? await workspaces.open(task, run.id) : NOWHERE;
      if (this.#phase !== 'live') return;
      const { id, epoch, session, resume } = run;
      const report = (event: ExecutorEvent): void => this.#hear(event);
      this.#agent = this.#executor.start({
        task,
        run: id,
        epoch,
        session,
        agent: task.agent,
        resume,
        workspace,
        report,
      });
    } catch (error) {
      this.#failure = { class: 'invalid', message: `could not be started: ${String(error)}` };
    }
  }

  /** Facts from the executor. Nothing here waits: what needs the store is left for the next step. */
  #hear(event: ExecutorEvent): void {
    if (this.#phase !== 'live') return;
    this.#alerts.push(...this.vitals.hear(event, this.#context.clock.mono(), this.#context.settings));
    switch (event.type) {
      case 'started':
        if (event.identity !== null || event.resume !== null) this.#started = event;
        break;
      case 'output':
      case 'tool_call':
        if (this.#unread) this.#signed = true;
        break;
      case 'usage':
        if (this.#usageSeen.has(event.id)) return;
        this.#usageSeen.add(event.id);
        this.#usage.push(event);
        break;
      case 'turn_ended':
        if (event.turn === this.#turn)
          this.#turnEnd = { lastWords: event.lastWords, interrupted: event.interrupted ?? false };
        break;
      case 'failed':
        this.#failure ??= { class: event.class, message: event.message };
        break;
      case 'exited':
        this.#exited = event.detail;
        break;
      case 'tool_end':
      case 'file_touched':
        return;
      default:
        event satisfies never;
    }
    if (this.#signed || this.#alerts.length > 0 || (event.type !== 'output' && event.type !== 'tool_call'))
      this.poke();
  }

  async #recordStart(started: { identity: string | null; resume: string | null }): Promise<void> {
    await this.#decideHeld(async (tx, run) => {
      tx.put('run', { ...run, identity: started.identity, resume: started.resume ?? run.resume });
    });
    if (this.#started === started) this.#started = null;
  }

  /** Opens the next turn if there is something to say, and asks a resumed agent's history first if it must. */
  async #next(run: Run): Promise<void> {
    const seen = run.turn ? await this.#askHistory(run) : undefined;
    const turn = await this.#decideHeld((tx, row, task) => openTurn(tx, this.#context, task, row, seen));
    if (turn) await this.#handOver(turn);
    else await this.#watch();
  }

  async #askHistory(run: Run): Promise<ReadonlyMap<string, Seen>> {
    const delivered = await this.#context.store.find('message', {
      list: 'byState',
      equal: [run.session, 'delivered'],
    });
    const asked = this.#agent?.seen([run.id, ...delivered.map((row) => row.doc.id)]);
    return new Promise((resolve) => {
      // An agent that does not say is one that cannot.
      const giveUp = this.#context.clock.after(HISTORY_MS, () => resolve(new Map()));
      void Promise.resolve(asked).then((seen) => {
        giveUp();
        resolve(seen ?? new Map());
      });
    });
  }

  async #handOver(turn: OpenedTurn): Promise<void> {
    const { store, clock } = this.#context;
    if (!this.#task || !this.#run) return;
    const text = await turnText(store, this.#task, turn);
    if (this.#phase !== 'live') return;
    this.#turn = turn.number;
    this.#turnEnd = null;
    this.#usageSeen.clear();
    this.#unread = turn.messages.length > 0;
    this.#signed = false;
    this.vitals.turnOpened(clock.mono());
    this.#hooks.slotChanged();
    const given = [...(turn.assignment ? [this.#run.id] : []), ...turn.messages.map((message) => message.id)];
    this.#agent?.turn({ turn: turn.number, given, text });
  }

  async #endTurn(end: { lastWords: string; interrupted: boolean }): Promise<void> {
    const { worked, alive } = this.vitals;
    await this.#decideHeld((tx, run, task) =>
      endTurn(tx, this.#context, task, run, { ...end, worked, alive }),
    );
    this.#turnEnd = null;
    this.#turn = null;
    this.#unread = false;
    this.#signed = false;
    this.vitals.turnEnded(this.#context.clock.mono());
    this.#hooks.slotChanged();
    this.#again = true;
  }

  async #markRead(): Promise<void> {
    this.#signed = false;
    this.#unread = false;
    try {
      await this.#decideHeld((tx, run) => signOfLife(tx, run));
    } catch (error) {
      this.#signed = true;
      this.#unread = true;
      throw error;
    }
  }

  /** Mail for a busy agent whose backend can take it: delivered in a commit, then sent; refused, it is queued again. */
  async #steer(): Promise<void> {
    const { mailroom } = this.#hooks;
    const keep = (message: Message): boolean => mailroom.wanted(message.to, message);
    const messages = await this.#decideHeld((tx, run) => steerTurn(tx, run, keep));
    if (!messages || messages.length === 0 || !this.#task || this.#turn === null) return;
    const text = await turnText(this.#context.store, this.#task, {
      number: this.#turn,
      assignment: false,
      resumed: false,
      messages,
    });
    this.handedOver();
    // An agent that never answers must not keep a cancel waiting, so nobody waits here.
    this.#steering = true;
    const steer = this.#agent?.steer({
      turn: this.#turn,
      given: messages.map((message) => message.id),
      text,
    });
    void Promise.resolve(steer).then((answer) => {
      this.#steering = false;
      if (answer !== 'taken') this.#refused.push(...messages);
      this.poke();
    });
  }

  async #takeBack(): Promise<void> {
    const refused = this.#refused;
    await this.#decideHeld(async (tx) => {
      for (const { id } of refused) giveBack(tx, [await tx.need('message', id)], 'no');
    });
    this.#refused = this.#refused.slice(refused.length);
  }

  async #tell(): Promise<void> {
    const alerts = this.#alerts;
    if (alerts.length === 0) return;
    await this.#decideHeld(async (tx, run, task) => {
      for (const [i, alert] of alerts.entries())
        await this.#tellOwner(tx, run, task, { ...alert, key: `${alert.what}:${run.id}:${tx.now}:${i}` });
    });
    this.#alerts = this.#alerts.slice(alerts.length);
  }

  async #tellOwner(
    tx: Parameters<Parameters<typeof decide>[1]>[0],
    run: Run,
    task: Task,
    alert: Alert & { key: string },
  ): Promise<void> {
    const agent = `@${task.agent.backend}:${task.agent.name}`;
    const kind = alert.what === 'progress' ? 'progress' : 'health';
    const from = { kind: 'task', task: task.id, agent } as const;
    tx.note({ type: `health.${alert.what}`, task: task.id, run: run.id, data: { text: alert.text } });
    await enqueue(tx, this.#context, {
      to: task.owner,
      key: alert.key,
      kind,
      from,
      task: task.id,
      text: alert.text,
    });
  }

  /** Records what was used; past a limit the run ends, in order, with what it has (LIM1). */
  async #spendUsage(): Promise<boolean> {
    const usage = this.#usage;
    if (usage.length === 0) return false;
    const over = await this.#decideHeld(async (tx, run, task) => {
      let why: string | null = null;
      const used = { ...run.used };
      for (const { id, tokens, usd } of usage) {
        used.tokens += tokens;
        used.usd += usd;
        if (task.budget) why = (await spend(tx, task.budget, `${run.id}/${id}`, { tokens, usd })) ?? why;
      }
      tx.put('run', { ...run, used });
      return why;
    });
    this.#usage = this.#usage.slice(usage.length);
    if (!over) return false;
    await this.#agent?.stop(over);
    const error = { class: 'limit', message: over } as const;
    await this.#settle({
      status: 'failed',
      cause: 'limit',
      output: this.vitals.lastWords,
      error,
      work: null,
    });
    return true;
  }

  async #cancel(why: string): Promise<void> {
    await this.#agent?.stop(why);
    await this.#settle(cancelled(why));
  }

  async #fault(): Promise<void> {
    const error = this.#failure ?? { class: 'crash' as const, message: `the agent is gone: ${this.#exited}` };
    await this.#agent?.stop(error.message);
    await this.#decideHeld((tx, run, task) => fault(tx, this.#context, task, run, error));
    this.#finish();
  }

  async #watch(): Promise<void> {
    if (silenceDue(this.#context, this.vitals))
      await watchSilence(this.#context, this.vitals, (act) => this.#decideHeld(act));
  }

  async #settle(ending: Parameters<typeof settle>[4]): Promise<void> {
    const work =
      this.#task && this.#run ? await this.#context.workspaces?.collect(this.#task, this.#run.id) : null;
    await this.#decideHeld((tx, run, task) =>
      settle(tx, this.#context, task, run, {
        ...ending,
        work: work ? { ...work, files: [...work.files] } : null,
      }),
    );
    this.#finish();
  }

  /** Every write about the run: only while it is open and the epoch is ours. */
  async #decideHeld<T>(
    act: (tx: Parameters<Parameters<typeof decide>[1]>[0], run: Run, task: Task) => Promise<T>,
  ): Promise<T | null> {
    const mine = this.#run;
    if (!mine) return null;
    return decide(this.#context, async (tx) => {
      const rows = await held(tx, mine.id, mine.epoch);
      return rows ? act(tx, rows.run, rows.task) : null;
    });
  }

  async #stop(reason: string): Promise<void> {
    this.#phase = 'stopping';
    await this.#agent?.stop(reason);
    this.#finish();
  }

  #finish(): void {
    if (this.#phase === 'done') return;
    this.#phase = 'done';
    this.#cancelRetry?.();
    this.#turn = null;
    this.#leaveDesk?.();
    this.#hooks.done(this);
  }
}
