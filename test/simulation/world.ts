import type { Change, Outcome, TurnInput } from '@reveille/core';
import {
  choiceIn,
  isTerminal,
  type Delivery,
  type Fact,
  type Message as Mail,
  type RequestId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { openMemory, type MemoryBackend } from '@reveille/stores';
import { Auditor, type Invariant } from './auditor.ts';
import { Chance } from './chance.ts';
import { ConnectionLost } from './connection-lost.ts';
import type { Process } from './process.ts';
import { Faults } from './faults.ts';
import { within } from './ledger.ts';
import { Host } from './host.ts';
import type { Life } from './life.ts';
import { Mind, readDelivery, readText, type Memory } from './mind.ts';
import type { Fault, Habit, SimOptions } from './options.ts';
import { OrchestratorAudit } from './audit-orchestrator.ts';
import { PermitAudit } from './audit-permits.ts';
import { Rules } from './rules.ts';
import { Takings } from './takings.ts';
import { Timeline } from './timeline.ts';
import { Trees } from './trees.ts';

export interface Failure {
  readonly invariant: Invariant;
  readonly message: string;
  readonly at: number;
}

interface PendingCall {
  readonly label: string;
  readonly at: number;
  readonly life: Life;
}

/** Everything there is in one simulation, made from a seed. Rules of who does what when are in the other files. */
export class World {
  readonly options: SimOptions;
  readonly chance: Chance;
  readonly timeline: Timeline;
  readonly auditor: Auditor;
  readonly trees: Trees;
  readonly rules: Rules;
  readonly permits = new PermitAudit(this);
  readonly orchestrators: OrchestratorAudit;
  /** Plans that a person wanted started. */
  readonly startedByPerson = new Set<string>();
  /** What an agent stood still for and does not any more, by task and key. */
  readonly gaveUp = new Set<string>();
  readonly memory: MemoryBackend['memory'];
  readonly hosts: Host[];
  readonly minds = new Map<string, Mind>();
  /** Per session: every message that reached whoever is behind it. */
  readonly experienced = new Map<string, Set<string>>();
  readonly calls = new Set<PendingCall>();
  readonly faults: Faults;
  readonly takings = new Takings();
  /** Per run: what its agents told of their use, when, and whether they had set it aside before. */
  readonly usage = new Map<string, { tokens: number; usd: number; at: number; reserved: boolean }[]>();
  /** Requests whose answer was acknowledged to whoever gave it. */
  readonly answered = new Set<string>();
  /** Requests whose answer an agent that stood still has acted on. */
  readonly leaveUsed = new Set<string>();
  /** When runs ended, on the monotonic clock. */
  readonly endedAt = new Map<string, number>();
  quiet = false;
  diskFull = false;
  failure: Failure | null = null;
  onUp: (life: Life) => void = () => {};
  onCrash: (life: Life) => void = () => {};
  onFailed: (task: TaskId) => void = () => {};
  readonly #trace: ((line: string) => void) | null;
  #ids = 0;
  #pids = 0;

  constructor(options: SimOptions, trace: ((line: string) => void) | null) {
    this.options = options;
    this.#trace = trace;
    this.chance = new Chance(options.seed, 2);
    this.timeline = new Timeline(() => this.chance.next());
    this.faults = new Faults(this.timeline);
    const clock = { mono: () => this.timeline.now };
    this.memory = openMemory({ clock }).memory;
    this.auditor = new Auditor({
      settings: options.settings,
      fail: (invariant, message) => this.fail(invariant, message),
      mono: clock.mono,
      starting: () => this.hosts.some((host) => host.life?.starting ?? true),
      gaveUp: ({ task, key }) => this.gaveUp.has(`${task}/${key}`),
      unreserved: (run) => this.#unreserved(run),
      calmSince: (moment) => this.faults.isCalmSince(moment),
      turnedClocks: () => this.faults.turnedClocks,
    });
    this.orchestrators = new OrchestratorAudit(this.auditor, this.startedByPerson);
    this.trees = new Trees(this);
    this.rules = new Rules(this);
    this.hosts = Array.from({ length: options.hosts }, (_, i) => new Host(this, `h${i + 1}`));
  }

  fail(invariant: Invariant, message: string): void {
    if (this.failure) return;
    this.failure = { invariant, message, at: this.timeline.now };
    this.say(null, `VIOLATED: ${invariant}: ${message}`);
  }

  check(holds: boolean, invariant: Invariant, message: () => string): void {
    if (!holds) this.fail(invariant, message());
  }

  say(life: Life | null, text: string): void {
    if (!this.#trace) return;
    const seconds = (this.timeline.now / 1000).toFixed(3).padStart(9);
    this.#trace(`${seconds} ${life ? `${life.host.name}.${life.number}` : 'world'} ${text}`);
  }

  has(habit: Habit): boolean {
    return this.options.habits.has(habit);
  }

  /** Whether a fault happens now: only if this seed has it, and never in the quiet phase. */
  strikes(fault: Fault, probability: number): boolean {
    if (this.quiet || !this.options.faults.has(fault)) return false;
    if (probability < 1 && !this.chance.hit(Math.min(0.9, probability * this.options.wildness))) return false;
    this.faults.strike(fault);
    return true;
  }

  nextId(): string {
    return (++this.#ids).toString(36).padStart(5, '0');
  }

  nextPid(): number {
    return ++this.#pids;
  }

  mayGrow(): boolean {
    return !this.quiet && this.auditor.ledger.rows.task.size < this.options.maxTasks;
  }

  mindOf(task: Task): Mind {
    let mind = this.minds.get(task.session);
    if (!mind)
      this.minds.set(task.session, (mind = new Mind(this, task.session, task.id, task.plan !== null)));
    return mind;
  }

  anyLife(): Life | null {
    const up = this.hosts.flatMap((host) => host.up ?? []);
    return this.chance.pick(up) ?? null;
  }

  onDurable(change: Change, outcome: Outcome, life: Life): void {
    const durable = this.auditor.durable(change, outcome, life.host.name);
    const { facts } = durable;
    this.permits.look(durable);
    this.orchestrators.look(durable);
    for (const task of change.drops) this.say(life, `  drops the lease of ${task}`);
    for (const { task, rank, delayMs } of change.offers)
      this.say(life, `  offers ${task} (rank ${rank}, in ${delayMs} ms)`);
    for (const fact of facts) {
      if (fact.type === 'run.ended' && fact.run) this.#ended(fact.run);
      if (fact.type === 'task.failed') this.onFailed(fact.task as TaskId);
      if (this.#trace) this.say(life, `  ${describe(fact)}`);
    }
  }

  #ended(id: string): void {
    this.endedAt.set(id, this.timeline.now);
    const { run: runs, task: tasks } = this.auditor.ledger.rows;
    const run = runs.get(id);
    const task = run && tasks.get(run.task);
    if (run && task) this.trees.ended(run, task);
  }

  /** Where the tasks of a plan or of a session work. */
  get files(): { repository?: string } {
    return this.options.files ? { repository: '/repos/a' } : {};
  }

  /** A call of anybody to an engine. What it answers is looked at the moment it is given. */
  async invoke<T>(
    life: Life,
    label: string,
    make: () => Promise<T>,
    verify?: (result: T) => void,
  ): Promise<T> {
    if (life.dead) {
      await this.timeline.sleep(100);
      throw new ConnectionLost();
    }
    if (life.stalled) await new Promise<void>((resolve) => life.deliver(resolve));
    this.say(life, label);
    const pending = { label, at: this.timeline.now, life };
    this.calls.add(pending);
    try {
      const result = await make();
      verify?.(result);
      return result;
    } finally {
      this.calls.delete(pending);
    }
  }

  crash(life: Life, why: string, options: { onDisk?: boolean } = {}): void {
    if (life.dead) return;
    const { host } = life;
    this.say(life, `CRASHES ${why}`);
    life.dead = true;
    if (!options.onDisk) life.disk.backend.crash();
    for (const process of host.processes.values()) {
      // An agent that was not yet recorded is tied to its parent and goes with it.
      const known = this.auditor.ledger.rows.run.get(process.spec.run)?.identity === process.identity;
      if (known && this.strikes('agents_survive_crash', 0.5)) process.outlive(() => this.anyLife());
      else process.vanish('with its engine');
    }
    this.onCrash(life);
    const ms = this.chance.skewed(10, this.quiet ? 100 : 25_000);
    this.faults.last(ms);
    this.timeline.after(ms, () => host.boot());
  }

  // What agents and people get.

  /** Everything given with a turn was on disk as taken by that turn. */
  checkHandOver(input: TurnInput, turn: string): void {
    const messages: Mail[] = [];
    for (const id of input.given) {
      if (!id.startsWith('msg_')) continue;
      const message = this.auditor.ledger.rows.message.get(id);
      this.check(
        this.auditor.ledger.takers.get(id)?.has(turn) === true,
        'durable',
        () => `message ${id} was handed to turn ${turn} before that was on disk`,
      );
      if (message) messages.push(message);
    }
    for (const [i, message] of messages.entries()) {
      const before = messages[i - 1];
      const inOrder =
        !before ||
        (before.urgent && !message.urgent) ||
        (before.urgent === message.urgent && before.number < message.number);
      this.check(
        inOrder,
        'mailbox order',
        () =>
          `turn ${turn} brings ${before?.id} (${before?.number}) before ${message.id} (${message.number})`,
      );
    }
  }

  absorb(agent: Process, input: TurnInput): void {
    const got = new Map(readText(input.text).map((one) => [one.id, one.marked]));
    for (const id of input.given) {
      const marked = got.get(id);
      if (!id.startsWith('msg_')) agent.mind.memory.take({ id, marked: true });
      else if (marked === undefined)
        this.fail(
          'ends',
          `turn ${input.turn} of ${agent.spec.run} should bring ${id}; it is not in the text`,
        );
      else this.#took(agent.mind, agent.mind.memory, { id, marked }, input.text);
    }
  }

  absorbDeliveries(agent: Process, deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries)
      this.#took(agent.mind, agent.mind.memory, readDelivery(delivery), delivery.text);
  }

  took(memory: Memory, delivery: Delivery): void {
    this.#took(null, memory, readDelivery(delivery), delivery.text);
  }

  #took(mind: Mind | null, memory: Memory, got: { id: string; marked: boolean }, text: string): void {
    memory.take(got);
    const message = this.auditor.ledger.rows.message.get(got.id);
    if (!message) return this.fail('durable', `${got.id} was handed over and is not on disk`);
    within(this.experienced, message.to).add(got.id);
    if (message.kind === 'end' && message.run) {
      const output = this.auditor.ledger.rows.run.get(message.run)?.end?.output;
      this.check(
        output !== undefined && text.includes(output),
        'ends',
        () => `the end ${got.id} was handed over without its result "${output}"`,
      );
    }
    if (!mind) return;
    this.check(
      mind.session === message.to,
      'ends',
      () => `${got.id} is for ${message.to} and was handed to ${mind.session}`,
    );
    this.check(
      message.kind !== 'answer' || !this.leaveUsed.has(message.request ?? ''),
      'one answer',
      () => `${got.id} brings the answer to ${message.request} again, which was acted on before`,
    );
    if (message.kind === 'end' && message.task) mind.children.delete(message.task);
    if (message.request && (message.kind === 'question' || message.kind === 'approval_request'))
      mind.toAnswer.add(message.request);
    if (message.request) mind.toDecide.add(message.request);
  }

  /** An agent uses something, and its executor says so. Nobody knows the price of some of it. */
  use(agent: Process, tokens: number, held?: { readonly id: string; readonly usd: number }): void {
    const most = held?.usd ?? 2;
    const usd = this.has('money') ? this.chance.int(0, most * 4) / 4 : 0;
    const told = this.usage.get(agent.spec.run) ?? [];
    told.push({ tokens, usd, at: this.timeline.now, reserved: held !== undefined });
    this.usage.set(agent.spec.run, told);
    const unknown = usd === 0 && this.has('money');
    agent.tell({ type: 'usage', id: held?.id ?? `u${this.nextPid()}`, tokens, usd: unknown ? null : usd });
  }

  #unreserved(run: string): { tokens: number; usd: number } {
    const told = (this.usage.get(run) ?? []).filter(({ reserved }) => !reserved);
    const sum = (name: 'tokens' | 'usd'): number => told.reduce((all, one) => all + one[name], 0);
    return { tokens: sum('tokens'), usd: sum('usd') };
  }

  /** Whoever answered was told that it counts: then it does, and no other. */
  acknowledged(request: RequestId, answer: string): void {
    const row = this.auditor.ledger.rows.request.get(request);
    const counts = (text: string | undefined): string => {
      const chosen = row && text !== undefined ? choiceIn(row, text) : null;
      return chosen ? `${chosen.id}: ${chosen.rest}` : `${text}`;
    };
    this.check(
      // An answer about a plan is put in words for its orchestrator.
      row?.state === 'answered' && (row.kind === 'plan' || counts(row.answer?.text) === counts(answer)),
      'durable',
      () =>
        `the answer "${answer}" to ${request} was acknowledged; on disk it is ${row?.state} ${row?.answer?.text}`,
    );
    this.check(!this.answered.has(request), 'one answer', () => `two answers to ${request} were accepted`);
    this.answered.add(request);
  }

  /**
   * SUB7, LIM3: by the time a cancel is acknowledged, what it covers has ended or is marked, on disk. `since`: how many
   * facts there were when it was asked for; what had ended may have been tried again while it was on its way.
   */
  checkStopped(tasks: readonly Task[], since: number): void {
    const { rows, facts } = this.auditor.ledger;
    const reopened = new Set(
      facts.slice(since).flatMap(({ type, session }) => (type === 'session.open' ? (session ?? []) : [])),
    );
    for (const { id, session } of tasks) {
      const task = rows.task.get(id);
      const stopped =
        !task ||
        isTerminal(task.state) ||
        task.state === 'blocked' ||
        task.cancelling !== null ||
        reopened.has(session);
      this.check(
        stopped,
        'cancelled trees',
        () => `the cancel of ${id} was acknowledged; it is ${task?.state} and not being cancelled`,
      );
    }
  }

  /** LIM1: new work is only asked for while there are slots. */
  checkSlots(life: Life, max: number): void {
    let executing = 0;
    for (const process of life.host.processes.values()) {
      if (process.born !== life || !process.alive) continue;
      const run = this.auditor.ledger.rows.run.get(process.spec.run);
      if (
        run?.state === 'open' &&
        run.turn &&
        process.turnOpen !== null &&
        process.atWork &&
        process.blocked === 0
      )
        executing++;
    }
    const { concurrency } = this.options.settings;
    this.check(
      executing + max <= concurrency,
      'limits',
      () =>
        `${life.host.name} asks for ${max} new tasks while ${executing} agents are at work; the limit is ${concurrency}`,
    );
  }
}

function describe(fact: Fact): string {
  const ids = [fact.plan, fact.task, fact.run, fact.session, fact.request, ...(fact.messages ?? [])];
  const data = fact.data ? JSON.stringify(fact.data) : '';
  return `${fact.type} ${ids.filter(Boolean).join(' ')} ${data}`;
}
