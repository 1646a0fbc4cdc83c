import { isReveilleError, type Delivery, type Orchestrator, type TaskId } from '@reveille/protocol';
import type { Agent, Executor, Seen, StartSpec, TurnInput } from '@reveille/core';
import { assignmentOf, letterOf, lettersIn, type Letter } from './letters.ts';
import { ROLES } from './roles.ts';
import { childrenIn, patiently, type World } from './world.ts';

/** Thrown into a role whose agent was stopped. */
const GONE = new Error('the agent is gone');

/** Agents inside the victim's process: they die with it. `remembers`: what they noted is a history they can show. */
export function innerExecutor(world: World, options: { remembers: boolean }): Executor {
  return {
    steers: true,
    start: (spec) => new InnerAgent(spec, world, options.remembers),
    reap: async () => {},
  };
}

export class InnerAgent implements Agent {
  readonly spec: StartSpec;
  readonly remembers: boolean;
  readonly #world: World;
  readonly #orchestrator: Orchestrator;
  readonly #abort = new AbortController();
  readonly children: readonly string[];
  /** All it was given in this life. */
  readonly letters: Letter[] = [];
  spawned: readonly TaskId[] | null = null;
  #fresh = false;
  #open = false;
  #held = false;

  constructor(spec: StartSpec, world: World, remembers: boolean) {
    this.spec = spec;
    this.remembers = remembers;
    this.#world = world;
    this.#orchestrator = world.orchestratorOf(spec);
    this.children = childrenIn(spec.task.prompt);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  // The executor's side.

  turn(input: TurnInput): void {
    this.#hold();
    this.#open = true;
    this.take('turn', [
      ...input.given.filter((id) => id === this.spec.run).map(assignmentOf),
      ...lettersIn(input.text),
    ]);
    void this.#play(input.turn);
  }

  async steer(input: TurnInput): Promise<'taken' | 'refused'> {
    if (!this.#open || this.signal.aborted) return 'refused';
    this.take('steer', lettersIn(input.text));
    return 'taken';
  }

  interrupt(): void {}

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    if (!this.remembers) return new Map(ids.map((id) => [id, 'unknown']));
    const given = new Set(this.history().map((words) => words[2]));
    return new Map(ids.map((id) => [id, given.has(id) ? 'yes' : 'no']));
  }

  async stop(reason: string): Promise<void> {
    if (this.signal.aborted) return;
    this.#abort.abort();
    if (this.#held) this.#world.locks.release(this.spec.task.id);
    this.spec.report({ type: 'exited', detail: reason });
  }

  // What its role does with it.

  /** Takes letters in: they are noted first, so that a later life can show them. */
  take(via: string, letters: readonly Letter[]): void {
    for (const letter of letters) this.#world.effects.got(this.spec.session, via, letter);
    this.letters.push(...letters);
    this.#fresh ||= letters.length > 0;
  }

  takeDeliveries(deliveries: readonly Delivery[], via: 'call' | 'spawn' = 'call'): void {
    this.take(via, deliveries.map(letterOf));
  }

  note(...words: string[]): void {
    this.#world.effects.note(this.spec.session, ...words);
  }

  /** What it knows of itself: all of its effects if it remembers, else those of this life. */
  history(): readonly (readonly string[])[] {
    const effects = this.#world.effects.read(this.spec.session);
    return effects
      .filter(({ life }) => this.remembers || life === this.#world.life)
      .map(({ words }) => words);
  }

  async work(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#world.chance() * 12));
    if (this.signal.aborted) throw GONE;
  }

  async call<T>(act: (orchestrator: Orchestrator) => Promise<T>): Promise<T> {
    const over = (): boolean => this.signal.aborted;
    return patiently(over, async () => {
      if (this.signal.aborted) throw GONE;
      this.#world.point('before-call');
      const answer = await act(this.#orchestrator);
      this.#world.point('before-answer');
      if (this.signal.aborted) throw GONE;
      return answer;
    });
  }

  crash(): never {
    this.spec.report({ type: 'failed', class: 'crash', message: 'it was told to' });
    void this.stop('crashed');
    throw GONE;
  }

  #hold(): void {
    if (this.#held) return;
    this.#held = true;
    const other = this.#world.locks.take(this.spec.task.id);
    if (other !== null) this.note('two', this.spec.task.id, other, String(process.pid));
  }

  async #play(turn: number): Promise<void> {
    try {
      const role = ROLES[this.spec.agent.name];
      if (!role) throw new Error(`no role "${this.spec.agent.name}"`);
      do {
        this.#fresh = false;
        await role(this);
      } while (this.#fresh && !this.signal.aborted);
      this.#open = false;
      if (!this.signal.aborted) this.spec.report({ type: 'turn_ended', turn, lastWords: '' });
    } catch (error) {
      if (error === GONE || isOver(error) || this.signal.aborted) return;
      this.spec.report({ type: 'failed', class: 'unknown', message: String(error) });
    }
  }
}

/** Its run is over or its engine stops: somebody is about to stop it. */
const isOver = (error: unknown): boolean =>
  isReveilleError(error, 'stale_caller') ||
  isReveilleError(error, 'stopping') ||
  isReveilleError(error, 'aborted');
