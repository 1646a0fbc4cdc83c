import type { Caller, Orchestrator, Request, ReveilleEvent, SessionId } from '@reveille/protocol';
import { askApproval, type AskedApproval } from './approval.ts';
import { knownCaller } from './authority.ts';
import { Retries, type Context, type Ports } from './context.ts';
import { Gate } from './gate.ts';
import { Awake } from './awake.ts';
import { decide } from './decide.ts';
import { Governor } from './governor.ts';
import { Moments } from './hand-overs.ts';
import { Host } from './host.ts';
import { deliveredMessages, giveBack } from './mailbox.ts';
import { visibleEvents } from './operations/mail.ts';
import { onDisk } from './ports/store.ts';
import { Mailroom } from './mailroom.ts';
import { orchestratorFor } from './orchestrator.ts';
import { Permits } from './permits.ts';
import { LEASE } from './ports/dispatch.ts';
import { passOn } from './requests.ts';

const TICK_MS = 1_000;
const SWEEP_LIMIT = 1_000;

export interface Exchange {
  readonly orchestrator: Orchestrator;
  /** The answer got out. A call that begins after this shows that whoever called has it (WAK9). */
  readonly answered: () => void;
  /** The answer did not arrive, as far as anybody knows: the mail in it, and no other, is queued again (MBX3). */
  readonly lost: () => Promise<void>;
}

/**
 * Puts the parts together and keeps time for them. All it has in memory can be lost at any moment: `start` finds
 * everything that was under way again.
 */
export class Engine {
  readonly context: Context;
  readonly host: Host;
  /** Whether an agent may do what it wants to do: by policy, or by asking. */
  readonly permits: Permits;
  readonly #requestsSeen = new Map<string, number>();
  #cancelTick: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;
  #ticks = 0;
  #sweeping = false;
  #stopped = false;

  constructor(ports: Ports) {
    const mailroom = new Mailroom(
      (session) => this.#adopt(session),
      (session, error) =>
        this.#log('a look at the mailbox failed; the sweep looks again', error, { session }),
    );
    const wake = (sessions: Iterable<SessionId>): void => {
      if (this.#stopped) return;
      for (const session of sessions) mailroom.wake(session);
    };
    const { clock, executors, machine } = ports;
    this.context = {
      ...ports,
      gate: new Gate(),
      retries: new Retries(clock),
      awake: new Awake(clock),
      moments: new Moments(),
      ...(machine ? { governor: new Governor({ clock, executors, ...machine }) } : {}),
      wake,
    };
    this.host = new Host(this.context, mailroom);
    this.permits = new Permits({ context: this.context, mailroom, blocked: (who) => this.#blocked(who) });
  }

  /** Every operation, as this caller may use it. Whoever calls `as` has checked the credential. */
  as(caller: Caller): Orchestrator {
    return orchestratorFor(this.host, caller);
  }

  /** As `as`, for one exchange over a connection that may break before its answer has arrived. */
  exchange(caller: Caller): Exchange {
    const call = this.host.begin();
    return {
      orchestrator: orchestratorFor(this.host, caller, call),
      answered: () => call.answered(),
      lost: () => this.host.lost(caller, call),
    };
  }

  /**
   * Asks for leave in the name of a run's agent that stands still until it is answered. If `signal` fires nobody waits any
   * more.
   */
  async approve(
    caller: Extract<Caller, { kind: 'worker' }>,
    asked: AskedApproval,
    signal: AbortSignal,
  ): Promise<string> {
    const { context, mailroom } = this.host;
    await this.host.alive(caller, this.host.begin());
    const blocked = (who: Caller): (() => void) => this.#blocked(who);
    return askApproval({ context, mailroom, blocked }, caller, asked, signal);
  }

  /** The events from one number to another that a caller may see (ID6). */
  async visibleEvents(caller: Caller, first: number, last: number): Promise<readonly ReveilleEvent[]> {
    const { rows } = this.host.records;
    const events = await this.context.store.events(first - 1, last - first + 1);
    return visibleEvents(rows, await knownCaller(rows, caller), events);
  }

  #blocked(who: Caller): () => void {
    return this.host.workerOf(who)?.blocked() ?? ((): void => undefined);
  }

  /** Goes on with whatever an earlier life was doing. Until the store answers, nothing is claimed. */
  async start(): Promise<void> {
    // First of all: nobody may be given a task whose last agent still lives here.
    await this.context.executors.reapAll?.();
    await this.context.dispatch.reclaim(this.context.host);
    await this.#takeBackCalls();
    this.#unsubscribe = this.context.store.onHint((sessions) => this.context.wake(sessions as SessionId[]));
    await this.#sweep(true);
    this.#schedule();
    this.host.scheduler.start();
  }

  /** Stops claiming, stops the agents, leaves their runs to a later life. */
  async stop(): Promise<void> {
    // A wake from now on is left to a later life, which looks at every mailbox.
    this.#stopped = true;
    this.#cancelTick?.();
    this.#unsubscribe?.();
    this.host.mailroom.close();
    this.context.governor?.close();
    await this.host.scheduler.drain();
    this.context.retries.close();
    // What was being decided is decided, and on disk if it can be, before the store may be closed.
    await this.context.gate.idle();
    await this.context.store
      .barrier()
      .catch((error: unknown) => this.#log('the last changes were lost', error, {}));
  }

  #schedule(): void {
    this.#cancelTick = this.context.clock.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    this.#schedule();
    this.context.awake.look();
    this.#ticks++;
    this.host.scheduler.tick();
    if ((this.#ticks * TICK_MS) % LEASE.renewEveryMs === 0) void this.host.scheduler.renew();
    if ((this.#ticks * TICK_MS) % this.context.settings.sweepEveryMs === 0) void this.#sweep(false);
  }

  /** A wake may be lost; the mailbox is the truth and is looked at again (WAK4). Requests that nobody answers move up. */
  async #sweep(first: boolean): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      this.host.scheduler.look();
      this.context.wake((await this.context.store.sessionsWithMail(SWEEP_LIMIT)) as SessionId[]);
      await this.#passOnRequests(first);
    } catch (error) {
      this.#log('the sweep failed; the next one looks again', error, {});
    } finally {
      this.#sweeping = false;
    }
  }

  async #passOnRequests(first: boolean): Promise<void> {
    const { passOnAfterMs, expireAfterMs } = this.context.settings.requests;
    // A person's item waits for ever unless a setting says otherwise, and there may be thousands.
    const list = expireAfterMs === null ? 'passing' : 'open';
    const { store } = this.context;
    // Nobody is late with what it could not be told yet.
    const open = await onDisk(store, () => store.find('request', { list, equal: [1] }));
    const seen = new Set<string>();
    for (const { doc } of open) {
      const key = `${doc.id}:${doc.movedAt}`;
      seen.add(key);
      const limit = doc.with === null ? expireAfterMs : passOnAfterMs;
      if (limit !== null && this.#openFor(doc, key, first) >= limit) {
        await decide(this.context, (tx) => passOn(tx, this.context, doc));
      }
    }
    for (const key of this.#requestsSeen.keys()) if (!seen.has(key)) this.#requestsSeen.delete(key);
  }

  /** On the monotonic clock since it was first seen; the wall clock counts only for what an earlier life left (HLT4). */
  #openFor(request: Request, key: string, first: boolean): number {
    const mono = this.context.awake.ms;
    const since = this.#requestsSeen.get(key);
    if (since !== undefined) return mono - since;
    const before = first ? Math.max(0, this.context.clock.now() - request.movedAt) : 0;
    this.#requestsSeen.set(key, mono - before);
    return before;
  }

  /** The connections of an earlier life are gone; what their calls were answered with may have been seen. */
  async #takeBackCalls(): Promise<void> {
    for (const kind of ['chat', 'terminal', 'orchestrator']) {
      for (const { doc } of await this.context.store.find('session', { list: 'byKind', equal: [kind] })) {
        // Who is at work on a task has no connection: its own history says what it has seen.
        if (doc.task !== null) continue;
        await decide(this.context, async (tx) =>
          giveBack(tx, await deliveredMessages(tx, doc.id), 'unknown'),
        );
      }
    }
  }

  #adopt(session: SessionId): void {
    if (this.#stopped) return;
    this.host.scheduler
      .adopt(session)
      .catch((error: unknown) =>
        this.#log('mail for a parked worker; the sweep looks again', error, { session }),
      );
  }

  #log(message: string, error: unknown, data: Record<string, unknown>): void {
    this.context.log?.('warn', message, { ...data, error: String(error) });
  }
}
