import type { Agent, Clock, ExecutorEvent, Seen, StartSpec, TurnInput } from '@reveille/core';
import {
  isReveilleError,
  isScarce,
  type Caller,
  type ErrorClass,
  type Orchestrator,
  type ReportInput,
} from '@reveille/protocol';
import { ScriptedAgent } from './agent.ts';
import { GONE, newMemory, type Body, type Memory } from './body.ts';
import { readLetters, type Letter } from './letters.ts';

/** A script as a program: called for every turn, unless it keeps its place with `rest` or `ask`. */
export type Script = (agent: ScriptedAgent) => void | Promise<unknown>;

/** What an agent's own session holds: which ids it was given, and what it remembers. */
export interface History {
  readonly given: Set<string>;
  readonly memory: Memory;
}

/** What all agents of an executor have in common: ten thousand may rest. */
export interface Surroundings {
  readonly clock: Clock;
  readonly connect: (caller: Caller) => Orchestrator;
  readonly write: (spec: StartSpec, path: string, content: string) => Promise<void>;
  readonly killAfterMs: number;
  /** Nothing of it lives any more. */
  readonly died: (spec: StartSpec) => void;
  /** Its run is over: nobody will resume it. */
  readonly reported: (spec: StartSpec) => void;
}

export interface Mind {
  readonly script: Script;
  /** Null: nobody will ask for it, and what the agent remembers dies with it. */
  readonly history: History | null;
  /** What it can say of an id it was perhaps given. */
  readonly recalls: (id: string) => Seen;
}

const STOPPED = Promise.resolve();
const NONE: readonly TurnInput[] = [];

/**
 * One live agent: born when its executor starts it, dead after `stop`, a crash or a failure. It is a script that is
 * called for each turn; between its calls nothing of it runs, and it owns no timer but those its script waits for.
 */
export class Life implements Agent, Body {
  readonly spec: StartSpec;
  readonly #around: Surroundings;
  readonly #script: Script;
  readonly #history: History | null;
  readonly #recalls: (id: string) => Seen;
  #memory: Memory | null = null;
  #orchestrator: Orchestrator | null = null;
  #turn: TurnInput | null = null;
  #letters: Letter[] | null = null;
  #steered = NONE;
  #open = false;
  #words = '';
  #agent: ScriptedAgent | null = null;
  #resting: (() => void) | null = null;
  #numbers = 0;
  #stubborn = false;
  #late: { input: ReportInput; afterMs: number } | null = null;
  #dead = false;

  constructor(spec: StartSpec, around: Surroundings, mind: Mind) {
    this.spec = spec;
    this.#around = around;
    this.#script = mind.script;
    this.#history = mind.history;
    this.#recalls = mind.recalls;
  }

  // The executor's side.

  turn(input: TurnInput): void {
    if (this.#dead) return;
    this.#turn = input;
    this.#letters = null;
    this.#words = '';
    this.#open = true;
    this.#keep(input);
    const goOn = this.#resting;
    this.#resting = null;
    if (goOn) goOn();
    else this.#play();
  }

  /** It waits where the script will see it: between two of its steps, or when it would end the turn. */
  async steer(input: TurnInput): Promise<'taken' | 'refused'> {
    if (this.#dead || !this.#open) return 'refused';
    this.#steered = [...this.#steered, input];
    return 'taken';
  }

  interrupt(): void {
    if (this.#dead || !this.#open) return;
    this.#leave();
    this.#endTurn(true);
  }

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    return new Map(ids.map((id) => [id, this.#recalls(id)]));
  }

  stop(reason: string): Promise<void> {
    if (this.#dead) return STOPPED;
    if (!this.#stubborn) {
      this.#die(reason);
      return STOPPED;
    }
    return new Promise((resolve) => {
      this.#around.clock.after(this.#around.killAfterMs, () => {
        this.#die(`killed: ${reason}`);
        resolve();
      });
    });
  }

  // The script's side.

  get clock(): Clock {
    return this.#around.clock;
  }

  get memory(): Memory {
    return this.#history?.memory ?? (this.#memory ??= newMemory());
  }

  get orchestrator(): Orchestrator {
    const { session, run, epoch } = this.spec;
    return (this.#orchestrator ??= this.#around.connect({ kind: 'worker', session, run, epoch }));
  }

  get input(): TurnInput {
    if (!this.#turn) throw GONE;
    return this.#turn;
  }

  letters(): readonly Letter[] {
    this.#letters ??= readLetters(this.input.text);
    const steered = this.#steered;
    this.#steered = NONE;
    for (const input of steered) {
      this.#keep(input);
      this.#letters.push(...readLetters(input.text));
    }
    return this.#letters;
  }

  tell(event: ExecutorEvent): void {
    if (!this.#dead) this.spec.report(event);
  }

  write(path: string, content: string): Promise<void> {
    return this.#around.write(this.spec, path, content);
  }

  say(text: string): void {
    this.#words = text;
    this.tell({ type: 'output', text });
  }

  next(): string {
    return `${this.spec.epoch}-${++this.#numbers}`;
  }

  async rest(waits: Set<(reason: unknown) => void>): Promise<void> {
    if (this.#steered.length > 0) {
      this.letters();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      waits.add(reject);
      this.#resting = () => {
        waits.delete(reject);
        resolve();
      };
      this.#endTurn(false);
    });
  }

  reported(): void {
    this.#open = false;
    this.#around.reported(this.spec);
  }

  exit(detail: string, failure?: { class: ErrorClass; message: string; scarce?: boolean }): void {
    if (failure) this.tell({ type: 'failed', ...failure });
    this.#die(detail);
  }

  reportLate(input: ReportInput, afterMs: number): void {
    this.#late = { input, afterMs };
  }

  ignoreAbort(): void {
    this.#stubborn = true;
  }

  // Its own.

  #keep({ given }: TurnInput): void {
    for (const id of given) this.#history?.given.add(id);
  }

  #play(): void {
    const agent = (this.#agent = new ScriptedAgent(this));
    try {
      const playing = this.#script(agent);
      if (playing)
        playing.then(
          () => this.#played(agent),
          (error: unknown) => this.#failed(agent, error),
        );
      else this.#played(agent);
    } catch (error) {
      this.#failed(agent, error);
    }
  }

  /** The script came to its end. What arrived meanwhile and was not looked at is worth another look, in the same turn. */
  #played(agent: ScriptedAgent): void {
    if (this.#agent !== agent || this.#dead) return;
    if (this.#steered.length > 0) {
      this.#letters = [];
      this.letters();
      this.#play();
      return;
    }
    this.#agent = null;
    this.#endTurn(false);
  }

  /** A refused call ends what a script does, as it would a model that has no answer to it. */
  #failed(agent: ScriptedAgent, error: unknown): void {
    if (this.#agent !== agent || this.#dead || error === GONE) return;
    // Its run is over, and its host is about to stop it.
    if (isReveilleError(error, 'stale_caller') || isReveilleError(error, 'stopping')) return;
    const scarce = isScarce(error);
    this.exit('the script failed', {
      class: scarce || isReveilleError(error, 'workspace_failed') ? 'workspace' : 'unknown',
      message: String(error),
      scarce,
    });
  }

  #endTurn(interrupted: boolean): void {
    if (!this.#open || !this.#turn) return;
    this.#open = false;
    const { turn } = this.#turn;
    // Until it is woken it needs neither what it was told nor whom it can call.
    this.#turn = null;
    this.#letters = null;
    this.#orchestrator = null;
    this.tell({ type: 'turn_ended', turn, lastWords: this.#words, ...(interrupted ? { interrupted } : {}) });
  }

  #leave(): void {
    const agent = this.#agent;
    this.#agent = null;
    this.#resting = null;
    agent?.end();
  }

  #die(detail: string): void {
    if (this.#dead) return;
    this.tell({ type: 'exited', detail });
    this.#dead = true;
    this.#open = false;
    this.#leave();
    this.#around.died(this.spec);
    if (this.#late) this.#reportAfterDeath(this.#late);
  }

  /** It is refused and recorded, which is what a script that does this wants to see. */
  #reportAfterDeath(late: { input: ReportInput; afterMs: number }): void {
    const { orchestrator } = this;
    const report = (): void => void orchestrator.reportCompletion(late.input).catch(() => undefined);
    if (late.afterMs > 0) this.#around.clock.after(late.afterMs, report);
    else report();
  }
}
