import type { Agent, AskedApproval, ExecutorEvent, Permit, Seen, StartSpec, TurnInput } from '@reveille/core';
import type { Action, Caller, Orchestrator } from '@reveille/protocol';
import { historyOf } from './audit-swaps.ts';
import { auditDependencies } from './audit-tasks.ts';
import type { Life } from './life.ts';
import type { Mind } from './mind.ts';
import { ConnectionLost } from './connection-lost.ts';
import { sayLate } from './late-word.ts';
import { script } from './script.ts';
import type { Habit } from './options.ts';
import { Travel } from './travel.ts';
import type { World } from './world.ts';

/** An answer within the process has arrived when it is made, so that a call beside it would be later. */
const BY_EXCHANGE: readonly Habit[] = ['exchanges', 'calls_beside', 'pause_busy'];

/**
 * One agent process on a host, as an executor starts it. It lives or dies apart from the engine: after a crash of the
 * host's engine it may go on, and speak to the next one with the credential of the old.
 */
export class Process implements Agent {
  readonly world: World;
  readonly spec: StartSpec;
  readonly mind: Mind;
  readonly identity: string;
  /** The engine it speaks to, and the one that listens to its executor. */
  life: Life;
  readonly born: Life;
  alive = true;
  turnOpen: number | null = null;
  /** It has the input of its turn. */
  atWork = false;
  /** Calls of it that wait for others. */
  blocked = 0;
  readonly startedAt: number;
  /** What it grows to. */
  readonly size: number;
  /** Since when it has been at work without a pause; null: it is not. */
  busySince: number | null = null;
  /** It has said its last word and waits to hear that it was heard: it takes nothing more. */
  #reporting = false;
  #stretch = 0;
  #silence: (() => void)[] = [];
  #aborts = new Set<AbortController>();
  #lost: (() => void)[] = [];
  #lastTold = 0;
  #stopping: Promise<void> | null = null;
  #steered: (() => void)[] = [];
  /** It took the run over from another agent and has not been told yet what it is to do. */
  #isNew: boolean;

  constructor(life: Life, spec: StartSpec) {
    this.world = life.world;
    this.life = life;
    this.born = life;
    this.spec = spec;
    this.identity = `${life.host.name}:${this.world.nextPid()}`;
    this.mind = this.world.mindOf(spec.task);
    this.mind.wakeUp(this.identity, spec.resume);
    this.world.say(
      life,
      `starts ${this.identity} for ${spec.task.name} (${spec.run}, epoch ${spec.epoch}${spec.resume ? ', resumed' : ''})`,
    );
    this.startedAt = this.world.timeline.now;
    this.size = life.host.machine?.size() ?? 0;
    this.#checkStart();
    this.#isNew = this.world.auditor.swaps.started(spec);
    life.host.processes.set(this.identity, this);
    life.host.machine?.checkStart(this);
    const resume = this.mind.history === 'starts_anew' ? null : historyOf(spec);
    this.tell({ type: 'started', identity: this.identity, resume });
    if (spec.epoch > 1 && this.world.strikes('late_reports', 0.3)) sayLate(this.world, spec);
  }

  /** One live agent of a task on a host; another host's may only live on while that host cannot be reached. */
  #checkStart(): void {
    const { world, spec, life } = this;
    auditDependencies(world.auditor, spec.task, 'was started');
    const row = world.auditor.ledger.rows.run.get(spec.run);
    world.check(
      row !== undefined && row.epoch >= spec.epoch,
      'durable',
      () => `${spec.run} was started under epoch ${spec.epoch}, on disk it has ${row?.epoch ?? 'no row'}`,
    );
    for (const host of world.hosts) {
      for (const other of host.processes.values()) {
        if (!other.alive || other.spec.task.id !== spec.task.id) continue;
        const same = other.spec.run === spec.run && other.spec.epoch === spec.epoch;
        world.check(
          !same && other.#excused(life),
          'one agent',
          () =>
            `${this.identity} was started for ${spec.task.id} (${spec.run}, epoch ${spec.epoch}) while ${other.identity} (${other.spec.run}, epoch ${other.spec.epoch}) lives`,
        );
      }
    }
  }

  /** Whether its host may have been unable to stop it before another took over. On one host there is no excuse. */
  #excused(taker: Life): boolean {
    const { host } = this.born;
    const { now } = this.world.timeline;
    const isUnreachable = this.born.dead || this.born.stalled || now - host.stalledAt < 60_000;
    // When another host ends a run and has its task tried again at once, this one may still be stopping the agent.
    const hasEnded = this.world.auditor.ledger.rows.run.get(this.spec.run)?.state === 'ended';
    return host !== taker.host && (isUnreachable || hasEnded);
  }

  // What the engine asks of it.

  turn(input: TurnInput): void {
    const { world } = this;
    if (!this.alive) return;
    world.check(
      this.turnOpen === null,
      'mailbox order',
      () => `turn ${input.turn} of ${this.identity} began while turn ${this.turnOpen} is open`,
    );
    world.checkHandOver(input, `${this.spec.run}/${input.turn}`);
    world.check(
      !this.#isNew || input.given.includes(this.spec.run),
      'swaps',
      () => `${this.identity} took ${this.spec.run} over, and its first turn does not tell it the task`,
    );
    this.#isNew = false;
    world.say(
      this.born,
      `turn ${input.turn} for ${this.identity}: ${input.given.join(' ') || 'nothing given'}`,
    );
    this.turnOpen = input.turn;
    this.busySince = world.timeline.now;
    this.atWork = false;
    const stretch = ++this.#stretch;
    world.timeline.after(world.chance.int(0, 15), () => {
      if (!this.alive || this.#stretch !== stretch) return;
      this.atWork = true;
      world.absorb(this, input);
      void script(this, input);
    });
  }

  steer(input: TurnInput): Promise<'taken' | 'refused'> {
    const { world } = this;
    world.checkHandOver(input, `${this.spec.run}/${input.turn}`);
    return new Promise((resolve) => {
      const refuse = (): void => resolve('refused');
      this.#steered.push(refuse);
      world.timeline.after(world.chance.int(0, 30), () => {
        const possible = this.alive && this.atWork && this.turnOpen === input.turn && this.blocked === 0;
        if (!possible || this.#reporting || world.chance.hit(0.3)) return this.born.deliver(refuse);
        world.absorb(this, input);
        world.say(this.born, `${this.identity} is steered: ${input.given.join(' ')}`);
        this.born.deliver(() => resolve('taken'));
      });
    });
  }

  interrupt(): void {
    const { world } = this;
    const turn = this.turnOpen;
    if (!this.alive || turn === null) return;
    world.timeline.after(world.chance.int(0, 50), () => {
      if (!this.alive || this.turnOpen !== turn) return;
      world.say(this.born, `${this.identity} is interrupted`);
      this.endTurn('interrupted', true);
    });
  }

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const { world, mind } = this;
    await world.timeline.sleep(world.chance.int(0, 20));
    if (!this.alive) return new Map();
    if (mind.history === 'cannot_say') return new Map(ids.map((id) => [id, 'unknown']));
    return new Map(ids.map((id) => [id, mind.memory.has(id) ? 'yes' : 'no']));
  }

  stop(reason: string): Promise<void> {
    this.#stopping ??= this.#stop(reason);
    return this.#stopping;
  }

  async #stop(reason: string): Promise<void> {
    const { world } = this;
    const ms = world.strikes('ignores_stop', 0.4) ? world.chance.int(500, 3_000) : world.chance.int(0, 20);
    await world.timeline.sleep(this.alive ? ms : 0);
    // Asked to stop, it has the time to write its history.
    if (this.alive) this.mind.memory.keep();
    if (this.alive) this.exit(`stopped: ${reason}`);
    if (this.born.dead) await new Promise(() => {});
  }

  // What it does by itself.

  /** A fact for the engine that started it, in order, sometimes late. */
  tell(event: ExecutorEvent): void {
    const { world } = this;
    // Who was started is known at once; what it says may take its time.
    const late =
      event.type !== 'started' && world.strikes('delayed_reports', 0.15) ? world.chance.int(1, 400) : 0;
    const at = Math.max(this.#lastTold, world.timeline.now + late);
    const deliver = (): void => this.born.deliver(() => this.spec.report(event));
    if (at === world.timeline.now) return deliver();
    // Later facts wait for this one, a moment each, so that the order stays.
    this.#lastTold = at + 1;
    world.timeline.after(at - world.timeline.now, deliver);
  }

  endTurn(lastWords: string, interrupted = false): void {
    const turn = this.turnOpen;
    if (turn === null || !this.alive) return;
    if (!interrupted) this.mind.memory.keep();
    this.#leaveTurn();
    this.world.say(this.born, `${this.identity} ends turn ${turn}: ${lastWords}`);
    const event = { type: 'turn_ended', turn, lastWords, ...(interrupted ? { interrupted } : {}) } as const;
    this.tell(event);
    if (this.world.strikes('duplicate_reports', 0.3)) this.tell(event);
    // Once more when a later turn is open, out of its order.
    if (this.world.strikes('late_reports', 0.3)) {
      this.world.timeline.after(this.world.chance.int(20, 4_000), () => {
        if (this.alive) this.born.deliver(() => this.spec.report(event));
      });
    }
  }

  #leaveTurn(): void {
    this.turnOpen = null;
    this.busySince = null;
    this.atWork = false;
    this.blocked = 0;
    this.#reporting = false;
    this.#stretch++;
    for (const abort of this.#aborts) abort.abort();
    this.#aborts.clear();
    this.#refuseSteering();
  }

  #refuseSteering(): void {
    const waiting = this.#steered;
    this.#steered = [];
    for (const refuse of waiting) this.born.deliver(refuse);
  }

  /** The process ends, and its executor says so. */
  exit(detail: string): void {
    if (!this.alive) return;
    this.world.say(this.born, `${this.identity} exits: ${detail}`);
    this.#die();
    this.tell({ type: 'exited', detail });
  }

  /** The process is gone, and nobody is left to say so. */
  vanish(why: string): void {
    if (!this.alive) return;
    this.world.say(this.born, `${this.identity} is gone: ${why}`);
    this.#die();
  }

  #die(): void {
    this.alive = false;
    this.#leaveTurn();
    if (this.mind.process === this.identity) this.mind.memory.lose();
    this.born.host.processes.delete(this.identity);
  }

  /** The engine is gone and the process is not: its calls break, and it finds the next engine. */
  outlive(next: () => Life | null): void {
    this.#reconnect = next;
    for (const fail of this.#lost.splice(0)) this.world.timeline.after(this.world.chance.int(0, 200), fail);
  }
  #reconnect: () => Life | null = () => null;

  #wait(calls: number): void {
    this.blocked += calls;
    this.busySince = this.blocked > 0 ? null : this.world.timeline.now;
  }

  /** Works for a while. Never goes on if the turn is over by then. */
  work(ms: number): Promise<void> {
    const stretch = this.#stretch;
    return new Promise((resolve) => {
      this.world.timeline.after(ms, () => {
        if (this.alive && this.#stretch === stretch) resolve();
      });
    });
  }

  /** Says nothing more until the quiet phase. */
  async hush(): Promise<void> {
    if (this.world.quiet) return;
    const stretch = this.#stretch;
    await new Promise<void>((resolve) => this.#silence.push(resolve));
    if (!this.alive || this.#stretch !== stretch) await new Promise(() => {});
  }

  speakUp(): void {
    for (const resolve of this.#silence.splice(0)) resolve();
  }

  /**
   * A call to the engine, over a connection that takes its time and may break. What it was given before is in its
   * history once it calls. The answer of a call whose turn is over reaches nobody.
   */
  async call<T>(
    name: string,
    make: (orchestrator: Orchestrator, signal: AbortSignal) => Promise<T>,
    verify?: (result: T) => void,
  ): Promise<T> {
    const { world, spec } = this;
    const stretch = this.#stretch;
    const abort = new AbortController();
    if (this.life.dead) this.life = this.#reconnect() ?? this.life;
    const { life } = this;
    const caller = { kind: 'worker', session: spec.session, run: spec.run, epoch: spec.epoch } as const;
    await world.timeline.sleep(world.chance.int(0, 4));
    if (this.alive && this.#stretch === stretch) this.#aborts.add(abort);
    else await new Promise(() => {});
    const travel = BY_EXCHANGE.some((habit) => world.has(habit)) ? new Travel(life, caller) : null;
    // As it is sent: somebody may have steered the agent while the call was on its way.
    this.mind.memory.keep();
    const waits = ['await', 'spawn and wait'].includes(name);
    if (waits) this.#wait(1);
    if (name.startsWith('reports')) this.#reporting = true;
    try {
      const asked = (): Promise<T> => make(travel?.orchestrator ?? life.engine.as(caller), abort.signal);
      const answered = world.invoke(life, `${this.identity} ${name}`, asked, verify);
      if (waits) travel?.giveUpSoon(abort, spec.session);
      const hears = (): boolean => this.alive && this.#stretch === stretch && !abort.signal.aborted;
      return await this.#arrive(travel ? travel.bring(answered, hears) : answered, stretch);
    } finally {
      this.#aborts.delete(abort);
      if (waits && this.#stretch === stretch) this.#wait(-1);
      if (this.#stretch === stretch) this.#reporting = false;
    }
  }

  /** Asks for leave by its executor, which knows no engine but its own, and does nothing until it is answered or gives up. */
  standStill(asked: AskedApproval, patienceMs: number | null): Promise<string> {
    return this.#still(
      `asks for leave (${asked.key})`,
      (caller, abort) => {
        this.#noteGivenUp(abort, asked.key);
        if (patienceMs !== null) this.world.timeline.after(patienceMs, () => abort.abort());
        return this.born.engine.approve(caller, asked, abort.signal);
      },
      () => {},
    );
  }

  /** Wants to do something, and does it if it may. If nobody answers in time the answer comes by mail. */
  permit(action: Action, patienceMs: number | null): Promise<Permit> {
    const since = this.world.timeline.now;
    return this.#still(
      `wants to ${action.digest}`,
      (caller, abort) => {
        this.#noteGivenUp(abort, `permit:${this.spec.run}:${action.digest}`);
        return this.born.engine.permits.permit(caller, action, { signal: abort.signal, patienceMs });
      },
      (permit) => this.world.permits.told(this, action, since, permit),
    );
  }

  #noteGivenUp({ signal }: AbortController, key: string): void {
    const note = (): void => void this.world.gaveUp.add(`${this.spec.task.id}/${key}`);
    // A host that stands still hears of both when it goes on.
    if (signal.aborted) note();
    signal.addEventListener('abort', note, { once: true });
  }

  async #still<T>(
    what: string,
    ask: (caller: Extract<Caller, { kind: 'worker' }>, abort: AbortController) => Promise<T>,
    verify: (answer: T) => void,
  ): Promise<T> {
    const { world, spec, born } = this;
    const stretch = this.#stretch;
    const abort = new AbortController();
    const caller = { kind: 'worker', session: spec.session, run: spec.run, epoch: spec.epoch } as const;
    this.mind.memory.keep();
    if (born.dead) this.exit('nobody is left to ask for leave');
    if (!this.alive) await new Promise(() => {});
    this.#aborts.add(abort);
    this.#wait(1);
    try {
      const answered = world.invoke(born, `${this.identity} ${what}`, () => ask(caller, abort), verify);
      return await this.#arrive(answered, stretch);
    } finally {
      this.#aborts.delete(abort);
      if (this.#stretch === stretch) this.#wait(-1);
    }
  }

  async #arrive<T>(answer: Promise<T>, stretch: number): Promise<T> {
    const broken = new Promise<never>((_, reject) => this.#lost.push(() => reject(new ConnectionLost())));
    const [settled] = await Promise.allSettled([Promise.race([answer, broken])]);
    await this.world.timeline.sleep(this.world.chance.int(0, 4));
    if (!this.alive || this.#stretch !== stretch) await new Promise(() => {});
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  }
}
