import {
  DEFAULTS,
  Engine,
  INTEGRATOR,
  type Agents,
  type Capabilities,
  type Change,
  type Executor,
  type Outcome,
  type RunTally,
  type Settings,
  type Store,
  type Workspaces,
  type Write,
} from '@reveille/core';
import {
  Budget,
  Message,
  Plan,
  Request,
  Run,
  Session,
  Task,
  type WorkProduct,
  type Caller,
  type Delivery,
  type ErrorCode,
  type Orchestrator,
  type PlanInput,
  type PlanView,
  type ReveilleEvent,
  type SessionId,
  type SessionKind,
  type TaskId,
  type TaskView,
} from '@reveille/protocol';
import { Memory, openMemory, type MemoryBackend } from '@reveille/stores';
import { expect } from 'vitest';
import { FakeAgent, type AgentWorld } from './fake-agent.ts';
import { FakeClock, quiet, type ClockView } from './fake-clock.ts';
import type { FakeMachine } from './fake-machine.ts';
import { paperCheckouts } from './paper-checkouts.ts';

type Nested<T> = { readonly [K in keyof T]?: T[K] extends object ? Partial<T[K]> : T[K] };

export interface WorldOptions {
  readonly settings?: Nested<Settings>;
  readonly host?: string;
  /** Another host on the same store and the same time. */
  readonly beside?: World;
  readonly steers?: boolean;
  /** Agents that cannot take a session up. */
  readonly forgets?: boolean;
  /** When agents say what they use; they have no model unless told. */
  readonly reports?: Capabilities['reports'];
  readonly history?: AgentWorld['history'];
  readonly agents?: readonly string[];
  /** Agents whose last message is their report. */
  readonly byLastMessage?: readonly string[];
  /** What runs do is counted here; made anew for every life. */
  readonly tally?: () => RunTally;
  /** What else is said of agents. */
  readonly definitions?: Partial<Agents>;
  readonly chance?: () => number;
  readonly work?: (task: Task) => WorkProduct | null;
  /** Checkouts that do otherwise than the plain ones. */
  readonly workspaces?: Partial<Workspaces>;
  /** The backends that can be used now; both there are unless told. */
  readonly usable?: readonly string[];
  /** Work that agents of the backend `scripted` cannot do. */
  readonly refuses?: Executor['refuses'];
  /** Whether somebody integrates plans. */
  readonly integrates?: boolean;
  /** No word of other hosts arrives. */
  readonly deaf?: boolean;
  /** The host itself knows which agents it started. */
  readonly reaps?: boolean;
  /** The host; then agents of the backend `claude` are processes that need memory. */
  readonly machine?: FakeMachine;
  /** An agent without a process to name. */
  readonly anonymous?: boolean;
  /** What an agent does by itself as soon as a turn begins, inside the engine's call. */
  readonly reflex?: (agent: FakeAgent) => void;
  /** Called before an agent is started; what it throws, the executor throws. */
  readonly onStart?: () => void;
  /** The store has every row at hand; else each third is to be waited for. */
  readonly atHand?: boolean;
  /** See openMemory. */
  readonly sync?: () => Promise<void>;
}

const AGENTS = ['agent', 'coder', 'reviewer', 'researcher', 'tester'];

/**
 * An engine on a memory store with a clock that stands still and agents that wait to be told what to do.
 *
 *   await using world = await start();
 */
export class World implements AsyncDisposable {
  readonly options: WorldOptions;
  readonly clock: FakeClock;
  readonly memory: Memory;
  readonly host: string;
  readonly agents: FakeAgent[] = [];
  readonly reaped: string[] = [];
  readonly logs: { level: string; message: string; data: Record<string, unknown> }[] = [];
  readonly given: AgentWorld['given'];
  history: AgentWorld['history'];
  /** In [0, 1). */
  chance: () => number;
  engine: Engine;
  #backend: MemoryBackend;
  #timers: ClockView;
  #ids = 0;
  #writes = 0;
  #looks = 0;
  readonly #misfits: string[] = [];

  constructor(options: WorldOptions) {
    this.options = options;
    this.clock = options.beside?.clock ?? new FakeClock();
    this.memory = options.beside?.memory ?? new Memory(this.clock);
    this.given = options.beside?.given ?? new Map();
    this.host = options.host ?? 'here';
    this.history = options.history ?? 'shows';
    this.chance = options.chance ?? (() => 0.5);
    this.#timers = this.clock.view();
    this.#backend = this.#open();
    this.engine = this.#engine();
  }

  get store(): MemoryBackend['store'] {
    return this.#backend.store;
  }

  get person(): Orchestrator {
    return this.as({ kind: 'person', name: 'ada' });
  }

  as(caller: Caller): Orchestrator {
    return this.engine.as(caller);
  }

  /** The newest agent at work on the task of this name or id. */
  worker(task: string): FakeAgent {
    const agent = this.agents.findLast(({ spec }) => spec.task.id === task || spec.task.name === task);
    if (!agent) throw new Error(`no agent was started for "${task}"`);
    return agent;
  }

  hasWorker(task: string): boolean {
    return this.agents.some(({ spec, alive }) => alive && (spec.task.id === task || spec.task.name === task));
  }

  /** Names of the tasks whose agents have a turn open, in the order they were started. */
  get working(): string[] {
    return this.agents.filter((agent) => agent.open !== null).map((agent) => agent.spec.task.name);
  }

  /** A plan from `{ b: ['a'], a: [] }`, or with more said about each task. Started. */
  async plan(
    tasks: Record<string, readonly string[] | Partial<PlanInput['tasks'][number]>>,
    more: Partial<PlanInput> = {},
  ): Promise<PlanView> {
    const inputs = Object.entries(tasks).map(([id, about]) => ({
      id,
      prompt: `do ${id}`,
      ...('length' in about ? { dependencies: [...(about as readonly string[])] } : about),
    }));
    const view = await this.person.savePlan(
      { name: 'plan', tasks: inputs, ...this.#files, ...more },
      { start: true },
    );
    await quiet();
    return view;
  }

  /** The task of this name, as it is now. */
  async task(name: string): Promise<TaskView> {
    const agent = this.agents.findLast(({ spec }) => spec.task.id === name || spec.task.name === name);
    if (agent) return this.person.getTask(agent.task);
    for (const plan of await this.person.listPlans()) {
      const found = (await this.person.getPlan(plan.id)).tasks.find((view) => view.task.name === name);
      if (found) return found;
    }
    if (name.startsWith('task_')) return this.person.getTask(name as TaskId);
    throw new Error(`there is no task "${name}"`);
  }

  async state(name: string): Promise<string> {
    return (await this.task(name)).task.state;
  }

  async states(...names: string[]): Promise<string[]> {
    return Promise.all(names.map((name) => this.state(name)));
  }

  get #hasFiles(): boolean {
    return this.options.work !== undefined || this.options.workspaces !== undefined;
  }

  get #files(): { repository?: string } {
    return this.#hasFiles ? { repository: '/repos/a' } : {};
  }

  async chat(kind: Exclude<SessionKind, 'worker'> = 'chat', name = 'a chat'): Promise<Chat> {
    const session = await this.person.openSession(kind, name, this.#files);
    return new Chat(this, session.id);
  }

  async mail(session: SessionId, kind?: Message['kind']): Promise<Message[]> {
    const mail = await this.person.mailbox(session);
    return mail.filter((message) => kind === undefined || message.kind === kind);
  }

  /** The mailbox of whoever owns the task. */
  async ownersMail(task: string, kind?: Message['kind']): Promise<Message[]> {
    return this.mail((await this.task(task)).task.owner, kind);
  }

  async events(type?: string): Promise<readonly ReveilleEvent[]> {
    const all = await this.person.events(0, 10_000);
    return all.filter((event) => type === undefined || event.type === type);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** The process dies between two commits, and its agents live on unless they are said to die with it. */
  crash(options: { agentsDie?: boolean } = {}): void {
    this.#backend.crash();
    this.#timers.forget();
    for (const agent of this.agents) {
      agent.orphaned = true;
      if (options.agentsDie ?? true) agent.kill();
    }
  }

  /** A new life on what the last one left. */
  async restart(): Promise<void> {
    this.#backend = this.#open();
    this.engine = this.#engine();
    await this.engine.start();
    await quiet();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.stop();
    const written = this.#writes;
    await quiet();
    // Whoever stops an engine may close its store next.
    expect(this.#writes, 'written after the stop').toBe(written);
    expect(this.#misfits, 'rows that are not what the protocol says').toEqual([]);
    expect(await this.#endedRunsAtWork(), 'ended runs with something still to come').toEqual([]);
    expect(
      this.agents.filter((agent) => agent.alive && !agent.orphaned).map((agent) => agent.spec.task.name),
      'agents left alive',
    ).toEqual([]);
    expect(this.#timers.pending, 'timers left').toBe(0);
    expect(
      this.logs.filter((entry) => entry.level === 'error'),
      'defects in the log',
    ).toEqual([]);
  }

  #open(): MemoryBackend {
    const { sync } = this.options;
    const backend = openMemory({ clock: this.clock, memory: this.memory, ...(sync ? { sync } : {}) });
    const { store } = backend;
    const commit = (change: Change): Promise<Outcome> => {
      this.#writes++;
      this.#misfits.push(...change.writes.flatMap(misfitsOf));
      return store.commit(change);
    };
    // A store has some rows at hand, and no decision may count on it.
    const atHand: Store['atHand'] = (table, id) =>
      !this.options.atHand && this.#looks++ % 3 === 0 ? undefined : store.atHand?.(table, id);
    return { ...backend, store: { ...store, commit, atHand } };
  }

  async #endedRunsAtWork(): Promise<string[]> {
    const { store } = openMemory({ clock: this.clock, memory: this.memory });
    const runs = await Promise.all(this.agents.map(({ spec }) => store.get('run', spec.run)));
    return runs.flatMap((row) => {
      const { id, state, turn, inquiry, retryAt } = row?.doc ?? {};
      return state === 'ended' && (turn || inquiry || retryAt) ? [id ?? ''] : [];
    });
  }

  #engine(): Engine {
    const { store, dispatch } = this.#backend;
    const { options, host } = this;
    const executor = this.#executor(() => engine);
    const { machine } = options;
    const large = machine ? { ...executor, memoryBytes: machine.needBytes } : executor;
    const small = options.refuses ? { ...executor, refuses: options.refuses } : executor;
    const engine: Engine = new Engine({
      store: options.deaf ? { ...store, onHint: () => () => undefined } : store,
      dispatch,
      clock: this.#timers,
      host,
      random: { next: () => this.chance(), id: () => this.#id() },
      executors: {
        backends: () => options.usable ?? ['scripted', 'claude'],
        problem: (backend) => (backend === 'claude' ? 'its SDK is not installed' : undefined),
        get: (backend) =>
          ['scripted', 'claude', ...(options.integrates ? [INTEGRATOR.backend] : [])].includes(backend)
            ? backend === 'claude'
              ? large
              : small
            : undefined,
        ...(options.reaps ? { reapAll: async () => this.#reapAll() } : {}),
      },
      agents: {
        names: () => options.agents ?? AGENTS,
        reportsByLastMessage: (agent) => options.byLastMessage?.includes(agent.name) ?? false,
        ...options.definitions,
      },
      ...(this.#hasFiles ? { workspaces: { ...paperCheckouts(options.work), ...options.workspaces } } : {}),
      settings: merged(options.settings ?? {}),
      ...(options.tally ? { tally: options.tally() } : {}),
      ...(machine ? { machine: machine.ports } : {}),
      log: (level, message, data) => this.logs.push({ level, message, data }),
    });
    return engine;
  }

  #reapAll(): void {
    for (const agent of this.agents.filter(({ alive }) => alive)) agent.kill();
  }

  #executor(engine: () => Engine): Executor {
    return {
      steers: this.options.steers ?? false,
      capabilities: {
        steer: false,
        resume: true,
        approve: false,
        usage: true,
        cost: this.options.reports === 'request',
        reports: this.options.reports,
      },
      start: (spec) => {
        this.options.onStart?.();
        const { session, run, epoch } = spec;
        const agent = new FakeAgent(spec, engine().as({ kind: 'worker', session, run, epoch }), this);
        agent.reflex = this.options.reflex ?? null;
        this.agents.push(agent);
        const identity = this.options.anonymous ? null : `process ${this.agents.length}`;
        const resume = this.options.forgets ? null : `history of ${run}`;
        spec.report({ type: 'started', identity, resume });
        return agent;
      },
      reap: async (identity) => {
        this.reaped.push(identity);
        const all = [...this.agents, ...(this.options.beside?.agents ?? [])];
        for (const [i, agent] of all.entries()) if (identity === `process ${i + 1}`) agent.kill();
      },
    };
  }

  #id(): string {
    const number = (++this.#ids).toString(36).padStart(6, '0');
    return `${this.clock.mono().toString(36).padStart(7, '0')}${number}${this.host.replaceAll(/[^a-z0-9]/g, '')}`;
  }
}

const SCHEMAS = {
  plan: Plan,
  task: Task,
  session: Session,
  run: Run,
  message: Message,
  request: Request,
  budget: Budget,
};

/** What is wrong with a row, by the schema of its table. */
function misfitsOf({ table, id, doc }: Write): string[] {
  const { error } = SCHEMAS[table].safeParse(doc);
  return (error?.issues ?? []).map(({ path, message }) => `${id} ${path.join('.')}: ${message}`);
}

/** A session that is no worker: a person's chat, a terminal, an orchestrator. */
export class Chat {
  readonly id: SessionId;
  readonly #world: World;
  /** What its receiver was given, wake by wake. */
  readonly given: (readonly Delivery[])[] = [];
  #detach: (() => Promise<void>) | null = null;

  constructor(world: World, id: SessionId) {
    this.#world = world;
    this.id = id;
  }

  get orch(): Orchestrator {
    return this.#world.as({ kind: 'session', session: this.id });
  }

  async attach(receive?: (deliveries: readonly Delivery[]) => Promise<void>): Promise<void> {
    this.#detach = await this.orch.attach(this.id, async (deliveries) => {
      this.given.push(deliveries);
      await receive?.(deliveries);
    });
    await quiet();
  }

  async detach(): Promise<void> {
    await this.#detach?.();
    this.#detach = null;
    await quiet();
  }

  async spawns(prompt: string, more: Record<string, unknown> = {}): Promise<TaskId> {
    const { task } = await this.orch.spawnSubtask({ prompt, ...more }, { blocking: false });
    await quiet();
    return task;
  }

  mail(kind?: Message['kind']): Promise<Message[]> {
    return this.#world.mail(this.id, kind);
  }
}

export async function start(options: WorldOptions = {}): Promise<World> {
  const world = new World(options);
  await world.engine.start();
  await quiet();
  return world;
}

function merged(settings: Nested<Settings>): Settings {
  const result: Record<string, unknown> = { ...DEFAULTS };
  for (const [key, value] of Object.entries(settings)) {
    const before = result[key];
    result[key] = typeof value === 'object' && value !== null ? { ...(before as object), ...value } : value;
  }
  return result as unknown as Settings;
}

/** The call is refused with this code; the error is handed back for a closer look. */
export async function refused(
  call: Promise<unknown>,
  code: ErrorCode,
): Promise<Error & { data: Record<string, unknown> }> {
  const error = await call.then(
    (value) => new Error(`not refused: ${JSON.stringify(value ?? null).slice(0, 200)}`),
    (reason: unknown) => reason as Error,
  );
  expect({ code: (error as { code?: string }).code, error: error.message }).toEqual({
    code,
    error: error.message,
  });
  return error as Error & { data: Record<string, unknown> };
}

/** Whether a promise is still pending when everything that does not wait for time has happened. */
export async function pending(promise: Promise<unknown>): Promise<boolean> {
  const open = {};
  const first = await Promise.race([promise.catch(() => null), quiet().then(() => open)]);
  return first === open;
}

export { product } from './paper-checkouts.ts';
export { quiet };
