import type { Agent, ExecutorEvent, Seen, StartSpec, TurnInput } from '@reveille/core';
import {
  type ErrorClass,
  type NotifyInput,
  type Orchestrator,
  type ReportInput,
  type ReportResult,
  type RequestId,
  type SpawnInput,
  type TaskId,
} from '@reveille/protocol';
import { quiet } from './fake-clock.ts';

export interface AgentWorld {
  /** What a resumed agent's history says about what it was given. */
  readonly history: 'shows' | 'lacks' | 'unknown';
  /** What the agents of a run were really given, over all their lives. */
  readonly given: Map<string, Set<string>>;
}

/**
 * An agent that does nothing by itself: the test tells it what to do, as a puppeteer would. A turn that begins is
 * recorded and stays open until the test ends it.
 */
export class FakeAgent implements Agent {
  readonly spec: StartSpec;
  readonly orch: Orchestrator;
  /** What it was given at the beginning of each turn, and between. */
  readonly turns: TurnInput[] = [];
  readonly steered: TurnInput[] = [];
  readonly stops: string[] = [];
  /** Aborts when the agent ends: what its open calls are given. */
  readonly life = new AbortController();
  open: number | null = null;
  interrupts = 0;
  takesSteering = true;
  /** What it is offered waits until it pauses; else it takes it at once. */
  waitsForPause = false;
  /** Whether what waits can be called back. */
  canWithdraw = true;
  /** It pauses, and takes what waits or refuses it. */
  pause: (take: boolean) => void = () => undefined;
  heedsInterrupt = true;
  /** What it does when it is asked to stop. */
  onStop: () => void = () => undefined;
  reflex: ((agent: FakeAgent) => void) | null = null;
  #ended = false;
  /** Its host is dead: nobody hears it any more. */
  orphaned = false;
  readonly #world: AgentWorld;

  constructor(spec: StartSpec, orch: Orchestrator, world: AgentWorld) {
    this.spec = spec;
    this.orch = orch;
    this.#world = world;
  }

  get alive(): boolean {
    return !this.#ended;
  }

  get last(): TurnInput {
    const input = this.turns.at(-1);
    if (!input) throw new Error(`the agent of "${this.spec.task.name}" was given no turn`);
    return input;
  }

  get task(): TaskId {
    return this.spec.task.id;
  }

  // What the engine asks of it.

  turn(input: TurnInput): void {
    this.turns.push(input);
    this.open = input.turn;
    this.#note(input);
    this.reflex?.(this);
  }

  async steer(input: TurnInput): Promise<'taken' | 'refused'> {
    if (!this.takesSteering) return 'refused';
    if (this.waitsForPause) {
      const taken = await new Promise<boolean>((resolve) => (this.pause = resolve));
      if (!taken) return 'refused';
    }
    this.steered.push(input);
    this.#note(input);
    return 'taken';
  }

  withdraw(): void {
    if (this.canWithdraw) this.pause(false);
  }

  interrupt(): void {
    this.interrupts++;
    if (!this.heedsInterrupt || this.open === null) return;
    const turn = this.open;
    this.open = null;
    this.hears({ type: 'turn_ended', turn, lastWords: '', interrupted: true });
  }

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const { history, given } = this.#world;
    if (history === 'unknown') return new Map();
    // Who began anew remembers nothing.
    const had = this.spec.resume === null ? undefined : given.get(this.spec.run);
    return new Map(ids.map((id) => [id, history === 'shows' && had?.has(id) ? 'yes' : 'no']));
  }

  async stop(reason: string): Promise<void> {
    this.stops.push(reason);
    this.onStop();
    this.kill();
  }

  /** It ends without a word. */
  kill(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.open = null;
    this.life.abort();
    this.hears({ type: 'exited', detail: 'gone' });
  }

  hears(event: ExecutorEvent): void {
    if (!this.orphaned) this.spec.report(event);
  }

  // What the test makes it do.

  async says(text: string): Promise<void> {
    this.hears({ type: 'output', text });
    await quiet();
  }

  async calls(
    name: string,
    options: { digest?: string; failed?: boolean; news?: boolean } = {},
  ): Promise<void> {
    const id = `call ${name}`;
    this.hears({ type: 'tool_call', id, name, digest: options.digest ?? name });
    this.hears({ type: 'tool_end', id, failed: options.failed ?? false, news: options.news ?? false });
    await quiet();
  }

  async uses(id: string, tokens: number, usd: number | null = 0): Promise<void> {
    this.hears({ type: 'usage', id, tokens, usd });
    await quiet();
  }

  async ends(lastWords = ''): Promise<void> {
    if (this.open === null) throw new Error(`no turn of "${this.spec.task.name}" is open`);
    const turn = this.open;
    this.open = null;
    this.hears({ type: 'turn_ended', turn, lastWords });
    await quiet();
  }

  async fails(errorClass: ErrorClass, message = 'it did not work'): Promise<void> {
    this.hears({ type: 'failed', class: errorClass, message });
    this.kill();
    await quiet();
  }

  async dies(): Promise<void> {
    this.kill();
    await quiet();
  }

  async reports(output = 'done', more: Partial<ReportInput> = {}): Promise<ReportResult> {
    const result = await this.orch.reportCompletion({ status: 'success', output, ...more });
    await quiet();
    return result;
  }

  async spawns(prompt: string, more: Partial<SpawnInput> = {}): Promise<TaskId> {
    const { task } = await this.orch.spawnSubtask({ prompt, ...more }, { blocking: false });
    await quiet();
    return task;
  }

  async asks(message: string, type: NotifyInput['type'] = 'question'): Promise<RequestId> {
    const { request } = await this.orch.notifyParent({ type, message });
    await quiet();
    if (!request) throw new Error('no request was opened');
    return request;
  }

  #note(input: TurnInput): void {
    const given = this.#world.given.get(this.spec.run) ?? new Set();
    for (const id of input.given) given.add(id);
    this.#world.given.set(this.spec.run, given);
  }
}
