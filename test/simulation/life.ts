import { Engine, type Clock, type Executor } from '@reveille/core';
import type { SessionId } from '@reveille/protocol';
import { Disk } from './disk.ts';
import { Process } from './process.ts';
import type { Host } from './host.ts';
import type { World } from './world.ts';

/** The wall clock of a world starts here; it is a date like any other. */
const EPOCH = 1_700_000_000_000;

/**
 * One life of a host: an engine from its start to its crash. When it is dead its ports are too: what it still calls
 * has no effect and is never answered. While its host is stalled nothing reaches it; all of it comes at once
 * when the stall is over.
 */
export class Life {
  readonly world: World;
  readonly host: Host;
  readonly number: number;
  readonly disk: Disk;
  readonly engine: Engine;
  dead = false;
  starting = true;
  #backlog: (() => void)[] | null = null;

  constructor(world: World, host: Host, number: number) {
    this.world = world;
    this.host = host;
    this.number = number;
    this.disk = new Disk(this);
    this.engine = this.#compose();
    this.#dropWakes();
  }

  #compose(): Engine {
    const { world, host, disk } = this;
    return new Engine({
      store: disk.store,
      dispatch: disk.dispatch,
      clock: this.#clock(),
      random: { next: () => world.chance.next(), id: () => world.nextId() },
      host: host.name,
      executors: {
        backends: () => ['scripted'],
        get: () => this.#executor(),
        ...(world.options.reaps ? { reapAll: () => this.#reapAll() } : {}),
      },
      agents: {
        names: () => ['agent', 'coder', 'speaker', 'orchestrator'],
        reportsByLastMessage: (agent) => agent.name === 'speaker',
        ...(world.has('permits') ? { policy: ({ name }) => world.rules.of(name) } : {}),
      },
      ...(world.options.files ? { workspaces: world.trees.ports(this) } : {}),
      settings: world.options.settings,
      ...(host.machine
        ? { machine: { gauge: host.machine.gauge(this), limits: host.machine.options.limits } }
        : {}),
      log: (level, message, data) => {
        if (this.dead) return;
        world.say(this, `log ${level}: ${message} ${JSON.stringify(data)}`);
        if (level === 'error') world.fail('engine', `${message}: ${JSON.stringify(data)}`);
      },
    });
  }

  #clock(): Clock {
    const { world, host } = this;
    return {
      now: () => EPOCH + world.timeline.now + host.wallOffset,
      mono: () => world.timeline.now,
      after: (ms, fire) => this.after(ms, fire),
    };
  }

  /** A wake is only a hint; some are lost. */
  #dropWakes(): void {
    const context = this.engine.context as { wake: (sessions: Iterable<SessionId>) => void };
    const { wake } = context;
    context.wake = (sessions) => {
      if (this.dead) return;
      if (this.world.strikes('lost_wake', 0.3)) return this.world.say(this, 'a wake is lost');
      wake(sessions);
    };
  }

  #executor(): Executor {
    const { world, host } = this;
    return {
      steers: world.options.steers,
      ...(host.machine ? { memoryBytes: host.machine.options.needBytes } : {}),
      start: (spec) => new Process(this, spec),
      reap: (identity) => this.#reap(host.processes.get(identity)),
    };
  }

  async #reapAll(): Promise<void> {
    for (const process of this.host.processes.values()) if (process.born !== this) await this.#reap(process);
  }

  async #reap(process: Process | undefined): Promise<void> {
    if (!process) return;
    const { world } = this;
    world.say(this, `reaps ${process.identity}`);
    await world.timeline.sleep(world.chance.int(0, 40));
    if (this.dead) await new Promise(() => {});
    if (process.alive) process.vanish('reaped');
  }

  /** Starts, and like a daemon tries again when the store does not answer. */
  start(): void {
    this.engine.start().then(
      () => {
        this.starting = false;
        this.host.started(this);
      },
      (error: unknown) => {
        this.world.say(this, `could not start: ${String(error)}`);
        this.after(1_000, () => this.start());
      },
    );
  }

  stall(ms: number): void {
    if (this.#backlog) return;
    this.#backlog = [];
    this.world.timeline.after(ms, () => {
      const backlog = this.#backlog ?? [];
      this.#backlog = null;
      this.world.say(this, `goes on after a stall of ${ms} ms`);
      for (const go of backlog) this.deliver(go);
    });
  }

  get stalled(): boolean {
    return this.#backlog !== null;
  }

  deliver(go: () => void): void {
    if (this.dead) return;
    if (this.#backlog) this.#backlog.push(go);
    else go();
  }

  after(ms: number, fire: () => void): () => void {
    let wanted = true;
    const cancel = this.world.timeline.after(ms, () => this.deliver(() => wanted && fire()));
    return () => {
      wanted = false;
      cancel();
    };
  }

  /** What comes back to the engine: never to a dead one, late to a stalled one. */
  answer<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.deliver(() => resolve(value)),
        (error: unknown) => this.deliver(() => reject(error as Error)),
      );
    });
  }

  refuse<T>(error: Error): Promise<T> {
    return this.answer<T>(Promise.reject(error));
  }

  /** Tries again when the store does not hang any more. */
  later<T>(op: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.host.hanging.push(() => {
        if (!this.dead) op().then(resolve, reject);
      });
    });
  }
}
