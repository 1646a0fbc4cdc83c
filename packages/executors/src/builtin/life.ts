import type { Agent, Clock, ExecutorEvent, Seen, StartSpec, TurnInput } from '@reveille/core';
import { isReveilleError, isScarce, type Orchestrator } from '@reveille/protocol';
import { FaultError, type Fault } from './faults.ts';
import { Loop, type BuiltinRole } from './loop.ts';
import type { Model } from './model.ts';
import type { BuiltinTool } from './tools.ts';
import { Transcript } from './transcript.ts';

export interface LifeOptions {
  readonly clock: Clock;
  readonly chance: () => number;
  readonly model: Model;
  readonly role: () => Promise<BuiltinRole>;
  readonly tools: () => Promise<readonly BuiltinTool[]>;
  readonly orchestrator: Orchestrator;
  /** Where its session is written. */
  readonly path: string;
  readonly retryWithinMs: number;
  readonly killAfterMs: number;
}

interface Turn {
  readonly input: TurnInput;
  readonly abort: AbortController;
}

/** What ends a turn from outside. */
const INTERRUPTED = Symbol('interrupted');

/**
 * One live agent of this process. Between turns nothing of it runs; a turn is one promise, which an interrupt or a stop
 * ends through its signal and which nobody leaves behind: the next turn, and the end of a stop, wait for it.
 */
export class Life implements Agent {
  readonly #spec: StartSpec;
  readonly #options: LifeOptions;
  #opened: Promise<{ transcript: Transcript; loop: Loop }> | null = null;
  #turn: Turn | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | null = null;
  #dead = false;

  constructor(spec: StartSpec, options: LifeOptions) {
    this.#spec = spec;
    this.#options = options;
  }

  turn(input: TurnInput): void {
    if (this.#stopping || this.#dead) return;
    const turn = { input, abort: new AbortController() };
    this.#turn = turn;
    this.#running = this.#running.then(() => this.#play(turn));
  }

  /** Taken means written down: whatever happens to this process, the agent has it. */
  async steer(input: TurnInput): Promise<'taken' | 'refused'> {
    const turn = this.#turn;
    if (!turn || turn.abort.signal.aborted) return 'refused';
    const { transcript } = await this.#open();
    // The end of a turn waits for what is being written, so a turn that is open here will see it.
    if (this.#turn !== turn || turn.abort.signal.aborted) return 'refused';
    await transcript.steer(input);
    return 'taken';
  }

  interrupt(): void {
    this.#turn?.abort.abort(INTERRUPTED);
  }

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const { transcript } = await this.#open();
    const absent = transcript.whole || this.#spec.resume === null ? 'no' : 'unknown';
    return new Map(ids.map((id) => [id, transcript.has(id) ? 'yes' : absent]));
  }

  stop(reason: string): Promise<void> {
    this.#stopping ??= this.#end(reason);
    return this.#stopping;
  }

  /** What ignores its abort is left behind: it is a promise of this process and cannot be killed. */
  async #end(reason: string): Promise<void> {
    this.#turn?.abort.abort(new Error(reason));
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(this.#options.killAfterMs, resolve);
    await Promise.race([this.#running, promise]);
    cancel();
    await this.#die(reason);
  }

  async #die(detail: string): Promise<void> {
    if (this.#dead) return;
    this.#tell({ type: 'exited', detail });
    this.#dead = true;
    this.#turn = null;
    const opened = await this.#opened?.catch(() => null);
    await opened?.transcript.close().catch(() => undefined);
  }

  #tell(event: ExecutorEvent): void {
    if (!this.#dead) this.#spec.report(event);
  }

  #open(): Promise<{ transcript: Transcript; loop: Loop }> {
    this.#opened ??= this.#enter();
    return this.#opened;
  }

  async #enter(): Promise<{ transcript: Transcript; loop: Loop }> {
    const { path, clock, chance, model, tools, orchestrator, retryWithinMs } = this.#options;
    const transcript = await Transcript.open(path);
    const role = await this.#options.role();
    const tell = (event: ExecutorEvent): void => this.#tell(event);
    const parts = { clock, chance, model, role, tools, orchestrator, transcript, tell, retryWithinMs };
    return { transcript, loop: new Loop({ spec: this.#spec, ...parts }) };
  }

  async #play(turn: Turn): Promise<void> {
    const { input, abort } = turn;
    const ended = (lastWords: string, interrupted = false): void => {
      this.#turn = null;
      this.#tell({
        type: 'turn_ended',
        turn: input.turn,
        lastWords,
        ...(interrupted ? { interrupted } : {}),
      });
    };
    try {
      abort.signal.throwIfAborted();
      const { transcript, loop } = await this.#open();
      await transcript.begin(input, this.#textOf(input, transcript));
      this.#tell({ type: 'turn_started', turn: input.turn });
      let end = await loop.play(abort.signal);
      // What is being offered right now is part of this turn or of none: nothing may come between the look and the end.
      while (end.kind === 'rests' && (await transcript.idle(), transcript.hasMail))
        end = await loop.play(abort.signal, { more: true });
      if (end.kind === 'rests') ended(end.words);
      else this.#turn = null;
    } catch (error) {
      if (abort.signal.reason === INTERRUPTED) ended('', true);
      else if (!abort.signal.aborted) await this.#fail(error);
    }
  }

  /** One whose session is lost is told its task again: nobody else will (EXE3). */
  #textOf({ given, text }: TurnInput, { task }: Transcript): string {
    const { run, resume, task: own } = this.#spec;
    if (task !== null || resume === null || given.includes(run)) return text;
    return `You had begun this task, but what you remember of it is lost. Look at what is there before you go on. Your task (${own.id}):\n${own.prompt}\n\n${text}`;
  }

  async #fail(error: unknown): Promise<void> {
    // The run is over, or the engine is stopping: whoever holds it says so.
    if (isReveilleError(error, 'stale_caller') || isReveilleError(error, 'stopping')) return;
    const { class: kind, message, retryAfterMs } = failure(error);
    const when = { ...(retryAfterMs === null ? {} : { retryAfterMs }), scarce: isScarce(error) };
    this.#tell({ type: 'failed', class: kind, message, ...when });
    await this.#die(message);
  }
}

function failure(error: unknown): Pick<Fault, 'class' | 'message' | 'retryAfterMs'> {
  if (error instanceof FaultError) return error.fault;
  const message = error instanceof Error ? error.message : String(error);
  const code = (error as { code?: unknown } | null)?.code;
  // The session could not be written: a full disk may have room again.
  const disk = typeof code === 'string' && /^E[A-Z]+$/.test(code);
  return { class: disk ? 'workspace' : 'unknown', message, retryAfterMs: null };
}
