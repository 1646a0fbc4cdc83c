import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DEFAULTS,
  Engine,
  type Agent,
  type Clock,
  type Executor,
  type ExecutorEvent,
  type Settings,
  type StartSpec,
} from '@reveille/core';
import type { ModelScript } from '@reveille/model-server';
import type {
  Caller,
  CallerWorld,
  Orchestrator,
  SessionId,
  TaskId,
  TaskView,
  ToolWorkspace,
} from '@reveille/protocol';
import { openMemory } from '@reveille/stores';
import { OutputShelf } from '@reveille/tools';

/** A backend as the contract takes it. */
export interface Backend {
  readonly name: string;
  /** It writes files with tools of its own: what it wrote is what it says it touched. */
  readonly ownFiles?: boolean;
  /** Its answers come whole: it has no model, or one whose answers it does not stream. */
  readonly speaksWhole?: boolean;
  /** Of a message that its history does not show it cannot say that it never had it. */
  readonly doubts?: boolean;
  /** Opened anew after the engine was killed; what it keeps, it keeps in the stand's folder. */
  open(stand: Stand): Promise<Opened>;
}

export interface Opened extends AsyncDisposable {
  readonly executor: Executor;
  /** A prompt that makes its agents do this. */
  prompt(script: ModelScript): string;
  /** Lets go what is held under this name. */
  release(name: string): void;
  /** How many wait there. */
  held(name: string): number;
}

/** An agent that was started, and all that was said of it. */
export interface Life {
  readonly spec: StartSpec;
  readonly agent: Agent;
  readonly events: ExecutorEvent[];
  /** Its engine is dead: nobody hears it. */
  orphan: boolean;
}

export const realClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

/** Longer than any busy machine needs: nobody waits for it unless something is wrong. */
const WAIT_MS = 100_000;

/** Waits for something that is sure to come; says what if it does not. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`this never came true: ${String(holds)}`);
    await sleep(2);
  }
}

/** A real engine, in memory, with agents of one backend that use the real catalogue in a folder of their own. */
export class Stand implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'reveille-stand-'));
  readonly lives: Life[] = [];
  /** What our tools wrote for its agents, in order. */
  readonly #written: string[] = [];
  readonly clock = realClock;
  readonly #backend: Backend;
  readonly #settings: Partial<Settings>;
  readonly #shelf = new OutputShelf();
  #ids = 0;
  #store = openMemory({ clock: realClock });
  #engine: Engine | null = null;
  #opened: Opened | null = null;

  private constructor(backend: Backend, settings: Partial<Settings>) {
    this.#backend = backend;
    this.#settings = settings;
    mkdirSync(this.files);
  }

  static async open(backend: Backend, settings: Partial<Settings> = {}): Promise<Stand> {
    const stand = new Stand(backend, settings);
    await stand.#begin();
    return stand;
  }

  get files(): string {
    return join(this.folder, 'files');
  }

  get backend(): Opened {
    if (!this.#opened) throw new Error('it is closed');
    return this.#opened;
  }

  get engine(): Engine {
    if (!this.#engine) throw new Error('it is closed');
    return this.#engine;
  }

  get person(): Orchestrator {
    return this.engine.as({ kind: 'person', name: 'ann' });
  }

  async #begin(): Promise<void> {
    const opened = (this.#opened ??= await this.#backend.open(this));
    const executor = this.#recording(opened.executor);
    const { name } = this.#backend;
    this.#engine = new Engine({
      store: this.#store.store,
      dispatch: this.#store.dispatch,
      clock: this.clock,
      random: { next: () => 0.5, id: () => (++this.#ids).toString(36).padStart(6, '0') },
      executors: { backends: () => [name], get: (asked) => (asked === name ? executor : undefined) },
      agents: { names: () => ['agent', 'coder'] },
      host: 'test',
      settings: {
        ...DEFAULTS,
        depth: { orchestrator: 3, standalone: 3 },
        defaultBackend: name,
        ...this.#settings,
      },
    });
    await this.engine.start();
  }

  /** Everything dies where it is, and another engine goes on with what was written. */
  async kill(meanwhile: () => void = () => undefined): Promise<void> {
    this.#store.crash();
    const alive = this.lives.filter(({ orphan }) => !orphan);
    for (const life of alive) life.orphan = true;
    await Promise.all(alive.map(({ agent }) => agent.stop('killed')));
    meanwhile();
    this.#store = openMemory({ clock: this.clock, memory: this.#store.memory });
    await this.#begin();
  }

  #recording(inner: Executor): Executor {
    return {
      ...inner,
      start: (spec) => {
        const events: ExecutorEvent[] = [];
        const report = (event: ExecutorEvent): void => {
          events.push(event);
          if (!life?.orphan) spec.report(event);
        };
        let life: Life | null = null;
        const agent = inner.start({ ...spec, report });
        life = { spec, agent, events, orphan: false };
        this.lives.push(life);
        return agent;
      },
      reap: (identity) => inner.reap(identity),
    };
  }

  /** What its agents wrote, in order. */
  get written(): readonly string[] {
    if (!this.#backend.ownFiles) return this.#written;
    const all = this.lives.flatMap(({ events }) => events);
    return all.flatMap((event) => (event.type === 'file_touched' ? [relative(this.files, event.path)] : []));
  }

  worldOf(caller: Caller): CallerWorld {
    const { orchestrator, answered, lost } = this.engine.exchange(caller);
    return {
      caller,
      orchestrator,
      grants: null,
      workspace: folderWorkspace(this.files, (path) => this.#written.push(path)),
      repository: null,
      outputs: this.#shelf,
      agents: { list: () => [], suggest: () => [], backends: () => [this.#backend.name] },
      skills: { list: () => [], load: (name) => ({ skill: { name, description: '' }, text: '', files: [] }) },
      delivered: answered,
      undelivered: lost,
    };
  }

  /** Whoever gives the tasks, and gets the mail. */
  async chat(): Promise<{ session: SessionId; mail: string[]; spawn(script: ModelScript): Promise<TaskId> }> {
    const { id } = await this.person.openSession('chat', 'ann');
    const mail: string[] = [];
    const calls = this.engine.as({ kind: 'session', session: id });
    await calls.attach(id, async (deliveries) => void mail.push(...deliveries.map(({ text }) => text)));
    const spawn = async (script: ModelScript): Promise<TaskId> => {
      const prompt = this.backend.prompt(script);
      return (await calls.spawnSubtask({ prompt }, { blocking: false })).task;
    };
    return { session: id, mail, spawn };
  }

  view(task: TaskId): Promise<TaskView> {
    return this.person.getTask(task);
  }

  async ended(task: TaskId): Promise<NonNullable<TaskView['end']>> {
    await until(async () => (await this.view(task)).end !== null);
    return (await this.view(task)).end!;
  }

  livesOf(task: TaskId): Life[] {
    return this.lives.filter(({ spec }) => spec.task.id === task);
  }

  /** What its agents were told and said, over all their lives. */
  eventsOf(task: TaskId): ExecutorEvent[] {
    return this.livesOf(task).flatMap(({ events }) => events);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.stop();
    await this.backend[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
    for (const { events, spec } of this.lives)
      if (events.at(-1)?.type !== 'exited') throw new Error(`the agent of ${spec.task.id} is not gone`);
  }
}

/** Files of a folder, without a boundary: who may go where is not the matter here. */
function folderWorkspace(root: string, wrote: (path: string) => void): ToolWorkspace {
  const text = (path: string): string => readFileSync(join(root, path), 'utf8');
  return {
    files: {
      readFile: async (path) => ({ path, size: text(path).length, text: () => text(path) }),
      writeFile: async (path, data) => {
        writeFileSync(join(root, path), data);
        wrote(path);
        return { path, created: true };
      },
      deleteFile: async (path) => {
        rmSync(join(root, path));
        return { path };
      },
      listDirectory: async (path) => ({
        path,
        entries: readdirSync(join(root, path)).map((name) => ({ name, kind: 'file', size: 0 })),
        truncated: false,
      }),
      async *walk() {},
    },
    runCommand: async () => ({ exitCode: 0, signal: null, timedOut: false }),
    testCommand: () => null,
  };
}
