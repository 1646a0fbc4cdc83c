import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestPermissionResponse } from '@agentclientprotocol/sdk';
import type { Agent, ExecutorEvent, Seen, StartSpec, TurnInput } from '@reveille/core';
import { isReveilleError } from '@reveille/protocol';
import { costOf, type Consumed } from '../prices/prices.ts';
import { ApprovedWrites } from './approved-writes.ts';
import { Listener } from './events.ts';
import { cutWords, exitWords, failureInWords, startFailure, type Failure } from './failures.ts';
import type { Ledger } from './ledger.ts';
import type { Life } from './life.ts';
import { WAITS, type AcpOptions, type AgentPermits } from './options.ts';
import {
  actionOf,
  allows,
  judge,
  optionFor,
  ownToolsOf,
  ruledOut,
  wishOf,
  type AgentAction,
  type Judging,
  type OwnTools,
} from './permission.ts';
import { interruptedIn, restarted } from './restart-words.ts';
import { fieldsOf, type Fields } from './shapes.ts';
import { readToken, writeToken, type ResumeToken } from './token.ts';
import { UsageCounter, type Amounts } from './usage.ts';

interface Turn {
  readonly input: TurnInput;
  /** Ends what waits for an answer in this turn. */
  readonly over: AbortController;
  /** Settles when the prompt has been answered, however. */
  readonly answered: PromiseWithResolvers<void>;
  /** What it was told; null: nothing yet. */
  prompt: string | null;
  cancelled: boolean;
  giveUp?: NodeJS.Timeout;
}

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

/**
 * One agent that speaks the protocol, as core knows it.
 *
 *   starting ─ ready ─┬─ prompted ─ … ─ answered ─┐        and from anywhere: gone by itself → failed, exited;
 *                     └──────── rest ◄────────────┘        stopped → ended, exited
 *
 * A turn that is asked for while it starts waits for that. One that was cancelled and goes on all the same ends with
 * its process; the next turn begins another life, which takes the session up.
 */
export class AcpAgent implements Agent {
  readonly #spec: StartSpec;
  readonly #options: AcpOptions;
  readonly #ledger: Ledger;
  readonly #name: string;
  readonly #listener: Listener;
  readonly #usage: UsageCounter;
  readonly #ownTools: OwnTools;
  readonly #writes = new ApprovedWrites();
  /** Wishes that somebody is being asked about; the same one twice is asked once. */
  readonly #wishes = new Map<string, Promise<string>>();
  #life: Life | null = null;
  #starting: Promise<Life | null>;
  #turn: Turn | null = null;
  #token: ResumeToken | null;
  #readOnly = false;
  /** Words for the next prompt: its role, and what it no longer knows. */
  #words = '';
  #memory = '';
  #forgotten = '';
  #lives = 0;
  #usages = 0;
  #stopped = false;
  #gone = false;
  #dead: Promise<void> | null = null;

  constructor(spec: StartSpec, options: AcpOptions, ledger: Ledger) {
    this.#spec = spec;
    this.#options = options;
    this.#ledger = ledger;
    this.#name = `${spec.run}.${spec.epoch}`;
    this.#token = readToken(spec.resume);
    this.#ownTools = ownToolsOf(options);
    const [{ namesWords = false, usage }, root] = [options.preset.quirks, spec.workspace?.path ?? null];
    this.#listener = new Listener((event) => this.#tell(event), { root, namesWords });
    this.#usage = new UsageCounter(usage);
    // On record before there is a process, so that none can be forgotten.
    spec.report({ type: 'started', identity: this.#name, resume: null });
    this.#starting = this.#start();
  }

  turn(input: TurnInput): void {
    if (this.#dead || this.#stopped) return;
    const [over, answered] = [new AbortController(), Promise.withResolvers<void>()];
    const turn: Turn = { input, over, answered, prompt: null, cancelled: false };
    this.#turn = turn;
    this.#writes.clear();
    this.#listener.turnBegins();
    this.#usage.turnBegins();
    if (!this.#life) this.#starting = this.#starting.then((life) => life ?? this.#startAgain());
    // What goes wrong with us is told like what goes wrong with it: nobody must wait for ever.
    this.#play(turn).catch((error: unknown) => this.#fail(startFailure(error)));
  }

  async steer(input: TurnInput): Promise<'taken' | 'refused'> {
    const [life, turn] = [this.#life, this.#turn];
    if (!life?.steers || !turn || turn.prompt === null || turn.cancelled) return 'refused';
    const taken = await life.steer(input.text).catch((error: unknown) => {
      this.#log('an agent did not take what it was offered in its turn', { error: String(error) });
      return false;
    });
    return taken ? 'taken' : 'refused';
  }

  interrupt(): void {
    const turn = this.#turn;
    if (!turn || turn.cancelled || this.#stopped) return;
    turn.cancelled = true;
    turn.over.abort();
    if (turn.prompt === null) return this.#endTurn(turn, true);
    this.#life?.cancel();
    const { cancelMs } = { ...WAITS, ...this.#options.waits };
    turn.giveUp = setTimeout(() => this.#abandon(turn), cancelMs);
  }

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const life = await this.#starting;
    if (!life?.resumed) return new Map(ids.map((id) => [id, 'unknown']));
    return new Map(ids.map((id) => [id, life.history.seen(id, life.steers)]));
  }

  async stop(reason: string): Promise<void> {
    this.#stopped = true;
    this.#turn?.over.abort();
    if (this.#turn && this.#turn.prompt !== null && !this.#dead) await this.#lastAnswer(this.#turn);
    await (this.#dead ??= this.#endStarting(reason));
  }

  async #start(): Promise<Life | null> {
    try {
      // The protocol is loaded when the first agent is started: a daemon without agents does without it.
      const { Life } = await import('./life.ts');
      const launch = await this.#options.launch(this.#spec);
      if (this.#stopped) {
        await launch.dispose();
        return null;
      }
      const life = (this.#life = new Life(this.#owner(), this.#options, launch));
      this.#lives++;
      const { pid, kept } = life.process;
      if (pid !== undefined) this.#ledger.record(this.#name, pid, kept);
      this.#watch(life);
      await life.begin(this.#token?.session ?? null);
      await this.#introduce(life);
      const { restatesUsage = false } = this.#options.preset.quirks;
      const usd = life.resumed ? (this.#token?.usd ?? 0) : 0;
      this.#usage.processBegins({ usd, restates: life.resumed && restatesUsage });
      this.#keep(life.token);
      return life;
    } catch (error) {
      if (!this.#stopped) await this.#fail(startFailure(error));
      return null;
    }
  }

  /** Its last process was ended; if the agent was, there is none after it. */
  async #startAgain(): Promise<Life | null> {
    return this.#dead || this.#stopped ? null : this.#start();
  }

  #owner() {
    return {
      spec: this.#spec,
      name: this.#name,
      update: (update: unknown) => this.#hear(update),
      permission: (toolCall: unknown, options: unknown) => this.#permission(toolCall, options),
      touched: (path: string) => this.#tell({ type: 'file_touched', path }),
      takeApproval: (path: string, content: string) => this.#writes.take(path, content),
    };
  }

  /** So that a later life can go on with the session, and does not count again what it has cost. */
  #keep(session: string | null): void {
    this.#token = session === null ? null : { session, usd: this.#usage.usd };
    const resume = this.#token && writeToken(this.#token);
    this.#tell({ type: 'started', identity: this.#name, resume });
  }

  /** Who it is, and, if it should remember something and does not, what that was. */
  async #introduce(life: Life): Promise<void> {
    const { role, digest } = this.#options;
    const known = await role?.(this.#spec);
    this.#readOnly = known?.readOnly ?? false;
    if (life.resumed) return;
    this.#words = known?.words ?? '';
    const { epoch, resume } = this.#spec;
    if (epoch > 1 || resume !== null || this.#lives > 1)
      this.#memory = restarted(this.#spec, (await digest?.(this.#spec)) ?? '');
  }

  /** Nobody asked it to go. */
  #watch(life: Life): void {
    void life.process.exited.then(async (exit) => {
      await life.end();
      // One that is being started is told of by who starts it.
      if (this.#life !== life || this.#stopped || !life.ready) return;
      this.#log('an agent is gone', { how: exitWords(exit) });
      await this.#fail(life.exitFailure(exit));
    });
  }

  async #play(turn: Turn): Promise<void> {
    const life = await this.#starting;
    if (!life || this.#turn !== turn || this.#stopped) return;
    turn.prompt = this.#textOf(turn.input);
    try {
      const response = await life.prompt(turn.prompt);
      if (this.#turn === turn) await this.#answered(turn, fieldsOf(response));
    } catch (error) {
      await this.#broke(life, turn, error);
    } finally {
      turn.answered.resolve();
    }
  }

  #textOf({ text, given }: TurnInput): string {
    // Whoever is handed its task again need not be told of it twice.
    const memory = given.includes(this.#spec.run) ? '' : this.#memory;
    const parts = [this.#words, memory, this.#forgotten, text];
    this.#words = this.#memory = this.#forgotten = '';
    return parts.filter((part) => part !== '').join('\n\n');
  }

  async #answered(turn: Turn, response: Fields): Promise<void> {
    this.#listener.turnEnds();
    const used = this.#usage.turnEnded(response, this.#listener.calls);
    if (used) this.#tellUsage('final', used);
    if (response['stopReason'] === 'refusal' && !turn.cancelled)
      return this.#fail({ class: 'refusal', message: `${this.#options.preset.title} refused to go on.` });
    const failure = failureInWords(this.#options.preset, this.#listener.lastWords);
    if (failure && !turn.cancelled) return this.#fail(failure);
    this.#endTurn(turn, turn.cancelled, cutWords(this.#options.preset, response['stopReason']));
  }

  /** What the table says, if it is known which model this was. */
  #priced(parts: Consumed | null): number | null {
    const { priceOf } = this.#options;
    const { model } = this.#spec.task;
    return parts && model !== null && priceOf ? costOf(priceOf(model), parts) : null;
  }

  /** A prompt that was answered with an error. If the process died with it, that is told by who watches it. */
  async #broke(life: Life, turn: Turn, error: unknown): Promise<void> {
    const failure = await life.failureOf('in its turn', error);
    if (this.#turn !== turn || this.#life !== life || this.#stopped) return;
    this.#listener.turnEnds();
    // Some answer a cancel with an error.
    if (turn.cancelled && failure.class !== 'crash') return this.#endTurn(turn, true);
    await this.#fail(failure);
  }

  #endTurn(turn: Turn, interrupted: boolean, why = ''): void {
    clearTimeout(turn.giveUp);
    turn.over.abort();
    this.#turn = null;
    const { forgetsCancelled = false } = this.#options.preset.quirks;
    if (interrupted && forgetsCancelled && turn.prompt !== null) this.#forgotten = interruptedIn(turn.prompt);
    const lastWords = `${this.#listener.lastWords}${why}`;
    const ended = { type: 'turn_ended', turn: turn.input.turn, lastWords } as const;
    this.#tell(interrupted ? { ...ended, interrupted } : ended);
  }

  /** It was cancelled and goes on: its process ends, the agent does not. */
  #abandon(turn: Turn): void {
    const life = this.#life;
    if (this.#turn !== turn || !life) return;
    this.#log('an agent did not heed a cancel: its process is ended, its session taken up later', {});
    this.#life = null;
    this.#starting = life.end().then(
      () => null,
      () => null,
    );
    this.#endTurn(turn, true);
  }

  #hear(update: unknown): void {
    // What comes between turns belongs to none, and shows nothing.
    if (!this.#turn || this.#turn.prompt === null) return;
    // A budget that is used up must not wait for the end of the turn.
    const used = this.#usage.hear(update);
    if (used) this.#tellUsage('interim', used);
    this.#listener.hear(update);
  }

  #tellUsage(kind: 'interim' | 'final', { tokens, usd, parts, estimated }: Amounts): void {
    const id = `${this.#spec.epoch}-${++this.#usages}`;
    this.#tell({
      type: 'usage',
      id,
      kind,
      tokens,
      usd: usd ?? this.#priced(parts),
      ...(estimated ? { estimated } : {}),
    });
    if (this.#token && this.#token.usd !== this.#usage.usd) this.#keep(this.#token.session);
  }

  async #permission(toolCall: unknown, options: unknown): Promise<RequestPermissionResponse> {
    const turn = this.#turn;
    if (!turn || turn.cancelled || this.#stopped) return CANCELLED;
    const call = this.#listener.callOf(toolCall);
    const confined = this.#life?.confined ?? false;
    const { policy } = this.#options;
    const judging = { policy, ownTools: this.#ownTools, confined, writes: !this.#readOnly };
    const verdict = await this.#verdict(turn, call, judging);
    if (verdict === 'gone' || turn.over.signal.aborted) return CANCELLED;
    if (verdict === 'allow') this.#writes.add(call);
    const optionId = optionFor(options, verdict);
    return optionId === null ? CANCELLED : { outcome: { outcome: 'selected', optionId } };
  }

  async #verdict(turn: Turn, call: Fields, judging: Judging): Promise<'allow' | 'deny' | 'gone'> {
    const { permits } = this.#options;
    if (permits) return ruledOut(call, judging) ?? this.#permit(turn, permits, actionOf(call, judging));
    const judged = judge(call, judging);
    return judged === 'ask' ? this.#ask(turn, call) : judged;
  }

  async #permit(turn: Turn, permits: AgentPermits, action: AgentAction): Promise<'allow' | 'deny' | 'gone'> {
    const { signal } = turn.over;
    try {
      return (await permits.permit(this.#spec, action, signal)).allowed ? 'allow' : 'deny';
    } catch (error) {
      return this.#unasked(error, signal);
    }
  }

  async #ask(turn: Turn, call: Fields): Promise<'allow' | 'deny' | 'gone'> {
    const wish = wishOf(call);
    const { signal } = turn.over;
    const asked = this.#wishes.get(wish.key) ?? this.#options.approve(this.#spec, wish, signal);
    this.#wishes.set(wish.key, asked);
    try {
      return allows(await asked) ? 'allow' : 'deny';
    } catch (error) {
      return this.#unasked(error, signal);
    } finally {
      this.#wishes.delete(wish.key);
    }
  }

  #unasked(error: unknown, signal: AbortSignal): 'deny' | 'gone' {
    if (!signal.aborted && !isReveilleError(error, 'stopping') && !isReveilleError(error, 'stale_caller'))
      this.#log('leave could not be asked for; it counts as denied', { error: String(error) });
    return signal.aborted ? 'gone' : 'deny';
  }

  async #fail(failure: Failure): Promise<void> {
    this.#tell({ type: 'failed', ...failure });
    await (this.#dead ??= this.#end(failure.message));
  }

  /** It is asked to stop: most answer at once, and say what the turn has used. */
  async #lastAnswer(turn: Turn): Promise<void> {
    const { lastMs } = { ...WAITS, ...this.#options.waits };
    this.#life?.cancel();
    const late = new AbortController();
    const deadline = sleep(lastMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([turn.answered.promise, deadline]);
    late.abort();
  }

  /** One that is being started when it is stopped ends by that, or does not begin. */
  async #endStarting(reason: string): Promise<void> {
    await this.#life?.end();
    await this.#starting;
    await this.#end(reason);
  }

  async #end(detail: string): Promise<void> {
    clearTimeout(this.#turn?.giveUp);
    this.#turn?.over.abort();
    await this.#life?.end();
    this.#ledger.forget(this.#name);
    this.#stopped = this.#gone = true;
    this.#spec.report({ type: 'exited', detail });
  }

  /** `exited` is the last word. One that is being stopped still says what it used, and by what it is resumed. */
  #tell(event: ExecutorEvent): void {
    const counts = event.type === 'usage' || (event.type === 'started' && event.resume !== null);
    if (!this.#stopped || (counts && !this.#gone)) this.#spec.report(event);
  }

  #log(message: string, data: Record<string, unknown>): void {
    const { run, task } = this.#spec;
    this.#options.log(message, { backend: this.#options.preset.name, run, task: task.id, ...data });
  }
}
