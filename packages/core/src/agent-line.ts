import { isScarce, type ErrorClass, type Message, type Run, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { hadArrived, type CallExchange, type HandOver } from './hand-overs.ts';
import { Vitals, type Alert } from './health.ts';
import type { Role } from './ports/agents.ts';
import type { Agent, Executor, ExecutorEvent, Seen, TurnInput } from './ports/executor.ts';
import type { Workspace } from './ports/workspaces.ts';
import { reservationsOf } from './reservations.ts';
import { UsageMeter } from './usage-meter.ts';
import { checkedUsage, type UsageItem } from './usage.ts';

const HISTORY_MS = 30_000;
const STEER_MS = 10_000;

/**
 * How a message got into an agent's hands. Its calls and what its executor observes come by different ways, and one may
 * lag behind the other: what a call answered with is shown to have arrived by a later call, what was given between two
 * calls by what is observed later, and the input of a turn by either.
 */
type Road = 'turn' | 'call' | 'steering';

interface InHand {
  readonly road: Road;
  readonly handOver: HandOver;
}

/** Mail that was taken for the open turn. */
export interface Offered {
  readonly input: TurnInput;
  readonly messages: readonly Message[];
}

/** What an agent is started with. */
export interface Given {
  readonly workspace: Workspace | null;
  readonly role: Role | null;
}

/**
 * One live agent, and what it said that has not been dealt with yet. Nothing here waits or writes: whoever holds the
 * line takes what is pending when the store can take it, and clears it when the store has.
 */
export class AgentLine {
  readonly vitals: Vitals;
  readonly #context: Context;
  readonly #holder: { poke(): void };
  #agent: Agent | null = null;
  #open = true;
  #steerMs = STEER_MS;
  /** The number of the open turn. */
  turn: number | null = null;
  #hands: Map<string, InHand> | null = null;
  #proven: Map<string, HandOver> | null = null;
  started: { readonly identity: string | null; readonly resume: string | null } | null = null;
  /** `at`: the moment at which the agent said so. It takes nothing that arrives later into that turn. */
  turnEnd: { readonly lastWords: string; readonly interrupted: boolean; readonly at: number } | null = null;
  failure: Omit<Extract<ExecutorEvent, { type: 'failed' }>, 'type'> | null = null;
  usage: UsageItem[] = [];
  alerts: Alert[] = [];
  /** What it was offered during the turn and did not take, or did not say whether it took. */
  refused: { readonly message: Message; readonly seen: 'no' | 'unknown' }[] = [];
  /** Mail is on its way into the open turn. Until this resolves, with what arrived, nobody knows whether the turn has it. */
  #offer: Promise<readonly Message[]> | null = null;
  /** How many of its calls are being judged by what it has: nothing is offered to it meanwhile. */
  #judged = 0;
  /** It did not take what it was offered in this turn: what comes now waits for the end of it. */
  declines = false;
  #giveUpOffer: (() => void) | null = null;
  #meter: UsageMeter | null = null;

  constructor(context: Context, holder: { poke(): void }) {
    this.#context = context;
    this.#holder = holder;
    this.vitals = new Vitals(context.awake.ms);
  }

  /** Messages in its hands (and its task, by the id of the run) that no sign of life has followed yet. */
  get hands(): Map<string, InHand> {
    return (this.#hands ??= new Map());
  }

  /** Those that one has followed, until that is recorded, each with the hand-over that is proven. */
  get proven(): Map<string, HandOver> {
    return (this.#proven ??= new Map());
  }

  /** Starts the agent, once; that it could not be is a failure of it like any other. */
  launch(executor: Executor | null, task: Task, run: Run, given: Given): void {
    if (this.#agent || this.failure || !this.#open) return;
    if (!executor) return this.cannot(`there is no backend "${task.agent.backend}"`);
    try {
      const { id, epoch, session, resume } = run;
      const report = (event: ExecutorEvent): void => this.#hear(event);
      const reserve = reservationsOf(this.#context, { id, epoch });
      const spec = { task, run: id, epoch, session, agent: task.agent, resume, report, reserve, ...given };
      const { callTokens } = this.#context.settings.budgets;
      this.#meter = new UsageMeter(executor.capabilities?.reports, callTokens);
      this.#steerMs = executor.steerMs ?? STEER_MS;
      this.#agent = executor.start(spec);
    } catch (error) {
      const fault = isScarce(error) ? ({ class: 'workspace', scarce: true } as const) : undefined;
      this.cannot(`could not be started: ${String(error)}`, fault);
    }
  }

  cannot(
    message: string,
    as: { readonly class: ErrorClass; readonly scarce?: boolean } = { class: 'invalid' },
  ): void {
    this.failure ??= { ...as, message };
  }

  #hear(said: ExecutorEvent): void {
    // Of one that is being stopped only what it used counts, and the token that says how much of that is counted.
    if (!this.#open && said.type === 'started') this.started = said;
    if (!this.#open && said.type !== 'usage') return;
    const { awake, settings } = this.#context;
    const event = said.type === 'usage' ? checkedUsage(said, settings.budgets.callTokens) : said;
    this.usage.push(...(this.#meter?.hear(event, this.vitals.alive) ?? []));
    this.alerts.push(...this.vitals.hear(event, awake.ms, settings));
    switch (event.type) {
      case 'started':
        if (event.identity !== null || event.resume !== null) this.started = event;
        break;
      case 'output':
      case 'thought':
      case 'tool_call':
        this.#prove('steering');
        break;
      case 'turn_ended':
        if (event.turn === this.turn) {
          const { lastWords, interrupted = false } = event;
          this.turnEnd = { lastWords, interrupted, at: this.#context.moments.next() };
        }
        break;
      case 'failed':
        this.failure ??= failureOf(event);
        break;
      case 'exited':
        this.failure ??= { class: 'crash', message: `the agent is gone: ${event.detail}` };
        break;
      case 'turn_started':
      case 'usage':
      case 'sign':
      case 'tool_end':
      case 'file_touched':
      case 'permission_asked':
      case 'permission_settled':
        break;
      default:
        event satisfies never;
    }
    if (this.#pending()) this.#holder.poke();
  }

  #pending(): boolean {
    if (this.started || this.turnEnd || this.failure) return true;
    if (this.vitals.patterns.fileCheck) return true;
    return (this.#proven?.size ?? 0) + this.usage.length + this.alerts.length > 0;
  }

  /** A call of the agent began at this moment: it has what had arrived before. A call beside it proves nothing (WAK9). */
  sign(began: number): void {
    const alerts = this.vitals.calledUs(this.#context.awake.ms);
    this.alerts.push(...alerts);
    const proves = this.#hands !== null && this.#hands.size > 0;
    if (proves) this.#prove('call', began);
    if (proves || alerts.length > 0) this.#holder.poke();
  }

  #prove(by: Road, began = Infinity): void {
    for (const [id, { road, handOver }] of this.#hands ?? []) {
      if ((road !== 'turn' && road !== by) || !hadArrived(handOver, began)) continue;
      this.proven.set(id, handOver);
      this.hands.delete(id);
    }
  }

  /** Whether the message had arrived in its open turn, before `moment` if one is given. */
  holds(id: string, moment = Infinity): boolean {
    const inHand = this.#hands?.get(id);
    return inHand ? hadArrived(inHand.handOver, moment) : (this.#proven?.has(id) ?? false);
  }

  /** The answer of a call takes messages to the agent. */
  handedOver(messages: readonly Message[], call: CallExchange): void {
    this.#put(messages, { road: 'call', handOver: call });
  }

  #put(messages: readonly { readonly id: string }[], inHand: InHand): void {
    for (const { id } of messages) this.hands.set(id, inHand);
  }

  /** A hand-over that is complete as of now. */
  #now(road: Road): InHand {
    return { road, handOver: { arrivedAt: this.#context.moments.next() } };
  }

  /** The answer of a call did not arrive, so nothing that the agent did or does shows that its mail did. */
  lost(call: CallExchange): void {
    for (const [id, { handOver }] of this.#hands ?? []) if (handOver === call) this.hands.delete(id);
    for (const [id, handOver] of this.#proven ?? []) if (handOver === call) this.proven.delete(id);
  }

  beginTurn(input: TurnInput): void {
    if (!this.#open) return;
    this.turn = input.turn;
    this.turnEnd = null;
    this.declines = false;
    this.#meter?.turnBegins();
    this.#emptyHands();
    this.#put(
      input.given.map((id) => ({ id })),
      this.#now('turn'),
    );
    this.vitals.turnOpened(this.#context.awake.ms);
    this.#agent?.turn(input);
  }

  endTurn(): void {
    this.turn = null;
    this.turnEnd = null;
    this.#emptyHands();
    this.vitals.turnEnded(this.#context.awake.ms);
  }

  /** Ten thousand may rest, with nothing in their hands. */
  #emptyHands(): void {
    this.#hands = null;
    this.#proven = null;
  }

  get steering(): boolean {
    return this.#offer !== null;
  }

  /** Whether the open turn may be offered mail now. */
  get receptive(): boolean {
    return !this.steering && !this.declines && this.#judged === 0;
  }

  /** Offers the open turn what `take` takes for it. Returns when it is offered; what comes of it is said by a poke. */
  async steer(take: () => Promise<Offered | null>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<readonly Message[]>();
    const settle = (arrived: readonly Message[]): void => {
      this.#offer = null;
      resolve(arrived);
    };
    this.#offer = promise;
    let offered: Offered | null = null;
    try {
      offered = await take();
    } finally {
      if (!offered) settle([]);
    }
    if (!offered) return;
    void this.#offered(offered).then((arrived) => {
      settle(arrived);
      this.#holder.poke();
    });
  }

  /** What of it arrived. */
  async #offered({ input, messages }: Offered): Promise<readonly Message[]> {
    const answer = await this.#answerTo(input);
    // It has it from now on: what it did before shows nothing.
    if (answer === 'taken') this.#put(messages, this.#now('steering'));
    else if (this.#judged === 0) this.declines = true;
    const seen = answer === 'silent' ? 'unknown' : 'no';
    if (answer !== 'taken') this.refused.push(...messages.map((message) => ({ message, seen }) as const));
    return answer === 'taken' ? messages : [];
  }

  /** One that does not say in time whether it took what it was offered may have. */
  #answerTo(input: TurnInput): Promise<'taken' | 'refused' | 'silent'> {
    const agent = this.#agent;
    if (!agent || !this.#open || this.#judged > 0) return Promise.resolve('refused');
    return new Promise((resolve) => {
      const cancel = this.#context.clock.after(this.#steerMs, () => resolve('silent'));
      this.#giveUpOffer = () => {
        cancel();
        resolve('silent');
      };
      const answered = (answer: 'taken' | 'refused'): void => {
        cancel();
        resolve(answer);
      };
      agent.steer(input).then(answered, () => answered('refused'));
    });
  }

  /**
   * Judges a call by what the agent has: nothing is on its way to it meanwhile. What waits for its next pause, which is
   * after this call, is called back; what cannot be may have come too late for the call, and `judge` is told of it.
   */
  async judge<T>(judge: (late: readonly Message[]) => Promise<T>): Promise<T> {
    this.#judged++;
    this.alerts.push(...this.vitals.calledUs(this.#context.awake.ms));
    try {
      if (this.#offer) this.#agent?.withdraw?.();
      return await judge((await this.#offer) ?? []);
    } finally {
      this.#judged--;
      this.#holder.poke();
    }
  }

  interrupt(): void {
    if (this.turn !== null) this.#agent?.interrupt();
  }

  /** Asks a resumed agent's history. One that does not say in time is one that cannot. */
  seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    return new Promise((resolve) => {
      const giveUp = this.#context.clock.after(HISTORY_MS, () => resolve(new Map()));
      const answer = (seen: ReadonlyMap<string, Seen> | undefined): void => {
        giveUp();
        resolve(seen ?? new Map());
      };
      Promise.resolve(this.#agent?.seen(ids)).then(answer, () => answer(undefined));
    });
  }

  async stop(reason: string): Promise<void> {
    this.#open = false;
    this.#giveUpOffer?.();
    await this.#agent?.stop(reason);
    this.usage.push(...(this.#meter?.stopped(this.vitals.alive) ?? []));
  }
}

/** Without the word that says what kind of event it is: it goes on record as it is. */
function failureOf(event: Extract<ExecutorEvent, { type: 'failed' }>): NonNullable<AgentLine['failure']> {
  const { type: _type, ...failure } = event;
  return failure;
}
