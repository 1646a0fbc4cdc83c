import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '@reveille/core';
import {
  compose,
  loadConfig,
  openLog,
  openPlace,
  placeOf,
  startDaemon,
  type Daemon,
  type Parts,
  type Place,
  type World,
} from '@reveille/daemon';
import {
  createClient,
  type Caller,
  type Client,
  type Orchestrator,
  type SessionId,
} from '@reveille/protocol';
import { findLock } from '../src/place/lock-file.ts';
import { systemClock } from '@reveille/daemon/system';
import { Stage, type Puppet } from './puppets.ts';

export interface InsideOptions {
  readonly flags?: Readonly<Record<string, string>>;
  readonly parts?: Partial<Parts>;
}

/** A place of its own, with agents that the test plays. */
abstract class Inside implements AsyncDisposable {
  readonly stage = new Stage();
  readonly place: Place;
  readonly #folder: string;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'reveille-inside-'));
    this.place = placeOf({ REVEILLE_HOME: join(this.#folder, 'state') });
    openPlace(this.place);
  }

  protected start({ flags = {}, parts = {} }: InsideOptions) {
    const { config } = loadConfig({ flags: { 'logs.level': 'debug', 'daemon.drainMs': '0', ...flags } });
    const log = openLog({ path: this.place.log, ...config.logs });
    const made: Parts = {
      agents: () => ({ names: () => ['agent', 'coder', 'reviewer'] }),
      executors: (world) => {
        this.world = world;
        return {
          backends: () => ['scripted'],
          get: (name) => (name === 'scripted' ? this.stage : undefined),
        };
      },
      ...parts,
    };
    return { config, log, parts: made };
  }

  protected world: World | null = null;

  get log(): string {
    return readFileSync(this.place.log, 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true });
  }

  abstract stop(): Promise<void>;
}

/** Ways to the same operations: what is expected of one is expected of the other. */
export interface Door extends AsyncDisposable {
  readonly stage: Stage;
  readonly person: Orchestrator;
  session(name: string): Promise<{ id: SessionId; self: Orchestrator }>;
  worker(puppet: Puppet): Orchestrator;
}

/** The engine itself. */
export class InProcess extends Inside implements Door {
  #engine: Engine | null = null;
  #close: () => Promise<void> = async () => undefined;

  static async open(options: InsideOptions = {}): Promise<InProcess> {
    const self = new InProcess();
    const { config, log, parts } = self.start(options);
    const composition = await compose({
      world: { config, place: self.place, clock: systemClock(), log, url: '', credentialOf: () => '' },
      identity: { secret: '00', host: 'here' },
      parts,
      committed: () => undefined,
    });
    self.#engine = composition.engine;
    self.#close = async () => {
      await composition.engine.stop();
      await composition.close();
      log[Symbol.dispose]();
    };
    await composition.engine.start();
    return self;
  }

  as(caller: Caller): Orchestrator {
    return this.#engine!.as(caller);
  }

  get person(): Orchestrator {
    return this.as({ kind: 'person', name: 'ada' });
  }

  async session(name: string) {
    const { id } = await this.person.openSession('chat', name);
    return { id, self: this.as({ kind: 'session', session: id }) };
  }

  worker(puppet: Puppet): Orchestrator {
    return this.as(puppet.caller);
  }

  stop(): Promise<void> {
    return this.#close();
  }
}

/** A daemon in this process, reached through its socket. */
export class OverHttp extends Inside implements Door {
  readonly clients: Client[] = [];
  #daemon: Daemon | null = null;
  #closeLog: () => void = () => undefined;

  static async open(options: InsideOptions = {}): Promise<OverHttp> {
    const self = new OverHttp();
    await self.begin(options);
    return self;
  }

  /** Again, in the same place, after a stop. */
  async begin(options: InsideOptions = {}): Promise<void> {
    const { config, log, parts } = this.start(options);
    this.#closeLog = () => log[Symbol.dispose]();
    this.#daemon = await startDaemon({ place: this.place, config, log, parts });
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get url(): string {
    return this.#daemon!.url;
  }

  get token(): string {
    const found = findLock(this.place.lockFile);
    if (found.state !== 'live') throw new Error('it does not run');
    return found.lock.token;
  }

  get person(): Client {
    return createClient({ url: this.url, token: this.token });
  }

  async session(name: string) {
    const { session, credential } = await this.person.grantSession({ name });
    return { id: session.id, self: this.person.as(credential), credential };
  }

  credentialOf(puppet: Puppet): string {
    return this.world!.credentialOf(puppet.caller);
  }

  worker(puppet: Puppet): Client {
    return this.person.as(this.credentialOf(puppet));
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop('the test is over');
    this.#daemon = null;
    this.#closeLog();
    this.#closeLog = () => undefined;
  }
}
