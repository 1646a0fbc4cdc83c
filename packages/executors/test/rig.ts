import { DEFAULTS, Engine, type Clock, type Random, type Settings } from '@reveille/core';
import { openMemory } from '@reveille/stores';
import type { Caller, Orchestrator, ReveilleEvent, SessionId, TaskId, TaskView } from '@reveille/protocol';
import { expect } from 'vitest';
import { scriptedExecutor, type ScriptedOptions } from '../src/index.ts';

/** A clock that moves only when a test moves it, from timer to timer. */
export class FakeClock implements Clock {
  #mono = 0;
  #timers: { at: number; fire: () => void }[] = [];

  now(): number {
    return 1_700_000_000_000 + this.#mono;
  }

  mono(): number {
    return this.#mono;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#mono + ms, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** The same time for one process: with it die the timers it set. */
  ofProcess(): Clock & { die(): void } {
    const cancels = new Set<() => void>();
    const after = (ms: number, fire: () => void): (() => void) => {
      const cancel = this.after(ms, () => {
        cancels.delete(cancel);
        fire();
      });
      cancels.add(cancel);
      return cancel;
    };
    const die = (): void => cancels.forEach((cancel) => cancel());
    return { now: () => this.now(), mono: () => this.mono(), after, die };
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Lets everything that can happen now happen, then the next timer, until `ms` have passed. */
  async pass(ms: number): Promise<void> {
    const end = this.#mono + ms;
    for (;;) {
      await quiet();
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#mono = Math.max(this.#mono, next.at);
      next.fire();
    }
    this.#mono = end;
  }
}

/** The memory store answers in microtasks; a few rounds of the event loop let all of them run. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

function counting(): Random {
  let count = 0;
  return { next: () => 0.5, id: () => (++count).toString(36).padStart(6, '0') };
}

export interface Rig {
  readonly clock: FakeClock;
  readonly person: Orchestrator;
  readonly agents: ReturnType<typeof scriptedExecutor>['world'];
  as(caller: Caller): Orchestrator;
  view(task: TaskId): Promise<TaskView>;
  events(type?: string): Promise<ReveilleEvent[]>;
  /** A chat that spawns: the owner of what a test starts. */
  chat(): Promise<{ session: SessionId; calls: Orchestrator; mail: string[] }>;
  /** The engine dies where it is, and another one goes on with what it wrote. */
  restart(): Promise<void>;
  /** A plan of one task for this agent. */
  plan(agent: string): Promise<TaskId>;
  /** Stops, and checks that nothing is left. */
  end(): Promise<void>;
}

type RigOptions = Omit<ScriptedOptions, 'connect' | 'clock'> & { settings?: Partial<Settings> };

export async function rig(options: RigOptions = {}): Promise<Rig> {
  const clock = new FakeClock();
  const random = counting();
  const first = openMemory({ clock });
  const { memory } = first;
  let backend = first;
  const connect = (caller: Caller): Orchestrator => made.engine.as(caller);
  const executor = scriptedExecutor({ ...options, clock, connect });
  let life = clock.ofProcess();
  const newEngine = (): Engine => {
    const executors = {
      backends: () => ['scripted'],
      get: (name: string) => (name === 'scripted' ? executor : undefined),
    };
    const agents = {
      names: () => ['agent', 'coder', 'tester', 'parent', ...Object.keys(options.scripts ?? {})],
    };
    const settings = { ...DEFAULTS, ...options.settings };
    return new Engine({
      store: backend.store,
      dispatch: backend.dispatch,
      clock: life,
      random,
      executors,
      agents,
      host: 'test',
      settings,
    });
  };
  const made = { engine: newEngine() };
  const person = (): Orchestrator => made.engine.as({ kind: 'person', name: 'ann' });
  await made.engine.start();
  return {
    clock,
    agents: executor.world,
    get person() {
      return person();
    },
    as: connect,
    view: (task) => person().getTask(task),
    async events(type) {
      const all = await backend.store.events(0, 10_000);
      return all.filter((event) => type === undefined || event.type === type);
    },
    async chat() {
      const { id } = await person().openSession('chat', 'ann');
      const calls = made.engine.as({ kind: 'session', session: id });
      const mail: string[] = [];
      await calls.attach(id, async (deliveries) => void mail.push(...deliveries.map(({ text }) => text)));
      return { session: id, calls, mail };
    },
    async restart() {
      backend.crash();
      life.die();
      life = clock.ofProcess();
      backend = openMemory({ clock, memory });
      made.engine = newEngine();
      await made.engine.start();
    },
    async plan(agent) {
      const { tasks } = await person().savePlan(
        { name: 'test', tasks: [{ id: 'one', prompt: 'the task', agent }] },
        { start: true },
      );
      const [task] = tasks;
      if (!task) throw new Error('the plan has no task');
      return task.task.id;
    },
    async end() {
      await made.engine.stop();
      expect(executor.world.lives.size, 'agents left alive').toBe(0);
      expect(clock.timers, 'timers left').toBe(0);
    },
  };
}
