import { userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { HTTP_PROTOCOL, type Health } from '@reveille/protocol';
import { compose, type Composition } from './compose/compose.ts';
import type { Parts } from './compose/parts.ts';
import { standardParts } from './compose/standard.ts';
import { systemClock } from './system.ts';
import type { LoadedConfig } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { DASHBOARD } from './dashboard-folder.ts';
import { DashboardFiles } from './dashboard/files.ts';
import { Pages } from './dashboard/pages.ts';
import { views } from './dashboard/views.ts';
import { EventFeed } from './events/feed.ts';
import { createApp, type App } from './http/app.ts';
import { Credentials } from './http/credentials.ts';
import { callerOf } from './http/door.ts';
import { listen, type HttpServer } from './http/server.ts';
import { sseMessage } from './http/sse.ts';
import type { Log } from './log/log.ts';
import type { Place } from './place/folder.ts';
import { ownIdentity, type Identity } from './place/identity.ts';
import { keepPort, lastPort } from './place/last-port.ts';
import { OwnLock, urlOf } from './place/lock-file.ts';
import { Presence } from './place/presence.ts';
import { stopInSteps } from './stop.ts';
import { VERSION } from './version.ts';

export interface DaemonOptions {
  /** Whose guard the caller holds. */
  readonly place: Place;
  readonly config: Config;
  /** What holds in a repository that says something of its own; without it, none is asked. */
  readonly configIn?: LoadedConfig['in'];
  readonly log: Log;
  readonly parts?: Parts;
  /** Whose agents and logins count; the home of this process unless told. */
  readonly home?: string;
  /** Puts something round the usual parts: the demo measures there. */
  readonly around?: (parts: Parts) => Parts;
  /** Called when a stop begins. */
  readonly stopping?: () => void;
}

export interface Daemon {
  readonly url: string;
  /** Stops in three steps; the same stop for everybody who asks. */
  stop(why: string): Promise<void>;
  /** Resolves when it has stopped. */
  readonly done: Promise<void>;
}

const REPAIR_MS = 2_000;
const CONNECTIONS_MS = 1_000;
/** A place that cannot be written now may be later; everything else goes on meanwhile. */
type Phase = 'running' | 'draining' | 'stopping';

/** Runs until it is stopped. Whatever an earlier life left is taken up before anybody is answered. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { place, config, log, configIn, home, stopping, around = (parts) => parts } = options;
  const startedAt = Date.now();
  const identity = ownIdentity(place.identity);
  const { credentials, pages } = letIn(place, identity);
  const presence = new Presence(place.home);
  presence.hold(place.guard);
  const server = await listenAt(place, { limits: config.daemon, log, credentials, presence });
  const undo = new AsyncDisposableStack();
  undo.defer(() => server.close(0));
  try {
    const url = urlOf(server);
    const clock = systemClock();
    const credentialOf = credentials.ofRun.bind(credentials);
    const world = { config, place, clock, log, credentialOf, url };
    const composition = await compose({
      world,
      identity,
      committed: (last) => feed.committed(last),
      parts: around(options.parts ?? (await standardParts({ config, configIn, place, log, url, home }))),
    });
    undo.defer(() => composition.close());
    presence.hold(place.database);
    const { engine } = composition;
    const feed: EventFeed = new EventFeed({
      store: engine.context.store,
      batchMs: config.daemon.batchMs,
      encode: (events) => Buffer.from(sseMessage({ id: events.at(-1)?.number ?? 0, data: events })),
      failed: (error) => log.warn('events could not be read; the next look tries again', { error }),
    });
    await engine.start();
    composition
      .started()
      .catch((error: unknown) => log.warn('could not look for what was left over', { error: String(error) }));
    const lock = lockOf(place, { port: server.port, token: credentials.token, startedAt });
    const running = new RunningDaemon({
      url,
      startedAt,
      config,
      log,
      server,
      composition,
      feed,
      credentials,
      pages,
      lock,
      presence,
      ...(stopping ? { stopping } : {}),
    });
    running.serve();
    undo.move();
    log.info('the daemon runs', { url, version: VERSION, home: place.home });
    return running;
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

const lockOf = (
  { lockFile }: Place,
  own: { readonly port: number; readonly token: string; readonly startedAt: number },
): OwnLock => new OwnLock(lockFile, { version: VERSION, ...own });

async function listenAt(
  { port, socket }: Place,
  options: {
    readonly limits: Config['daemon'];
    readonly log: Log;
    readonly credentials: Credentials;
    readonly presence: Presence;
  },
): Promise<HttpServer> {
  const { credentials, presence, ...rest } = options;
  const server = await listen({
    ...rest,
    wished: lastPort(port),
    socket,
    callerOf: (request) => callerOf(credentials, request),
    lost: () => presence.look(),
  });
  keepPort(port, server.port);
  return server;
}

/** Who may come in, by what they hold. */
function letIn(place: Place, { secret }: Identity): { credentials: Credentials; pages: Pages } {
  const isPageIn = (page: string): boolean => pages.isIn(page, Date.now());
  const credentials: Credentials = new Credentials({ secret, person: personName(), isPageIn });
  const pages = new Pages({ path: place.pages, seal: (page) => credentials.ofPage(page) });
  return { credentials, pages };
}

/** Containers have users without a name. */
function personName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'person';
  }
}

interface Running {
  readonly url: string;
  readonly startedAt: number;
  readonly config: Config;
  readonly log: Log;
  readonly server: HttpServer;
  readonly composition: Composition;
  readonly feed: EventFeed;
  readonly credentials: Credentials;
  readonly pages: Pages;
  readonly lock: OwnLock;
  readonly presence: Presence;
  readonly stopping?: () => void;
}

class RunningDaemon implements Daemon {
  readonly done: Promise<void>;
  readonly #with: Running;
  #phase: Phase = 'running';
  #app: App | null = null;
  #repair: NodeJS.Timeout | null = null;
  #stopping: Promise<void> | null = null;
  #finished: () => void = () => undefined;

  constructor(running: Running) {
    this.#with = running;
    this.done = new Promise((resolve) => (this.#finished = resolve));
  }

  get url(): string {
    return this.#with.url;
  }

  /** The lock file comes last: whoever finds it is answered. */
  serve(): void {
    const { composition, feed, credentials, pages, config, log, lock, presence, server, startedAt } =
      this.#with;
    const { engine, transcripts } = composition;
    this.#app = createApp({
      engine,
      feed,
      credentials,
      limits: config.daemon,
      log,
      mounts: composition.mounts,
      health: () => this.#health(),
      isStopping: () => this.#phase === 'stopping',
      rotate: () => {
        pages.putAllOut();
        lock.write(credentials.rotate());
      },
      pages,
      files: new DashboardFiles(DASHBOARD),
      view: views({ engine, transcripts, startedAt, lastEvent: () => feed.last() }),
      stop: () => void this.stop('somebody asked for it'),
    });
    server.serve(this.#app.hono);
    lock.write();
    presence.whenLost((why) => void (this.#stopping ??= this.#leave(why.message)));
    this.#repair = setInterval(() => this.#repairLock(), REPAIR_MS);
  }

  stop(why: string): Promise<void> {
    return (this.#stopping ??= this.#stop(why));
  }

  async #stop(why: string): Promise<void> {
    const { composition, config, log, server, lock, stopping } = this.#with;
    log.info('the daemon stops', { why });
    stopping?.();
    await stopInSteps({
      composition,
      limits: config.daemon,
      log,
      step: (phase) => (this.#phase = phase),
    });
    await this.#app?.endStreams();
    await server.close(CONNECTIONS_MS);
    lock.remove();
    await this.#finish();
  }

  /**
   * Its place is gone or another daemon's. Whoever calls is told so for a moment; then all connections are cut, before the
   * agents are stopped, because no call that waits would be answered by mail.
   */
  async #leave(why: string): Promise<void> {
    const { composition, config, log, server, stopping } = this.#with;
    log.error('the daemon ends because its place is gone', { why });
    stopping?.();
    await this.#app?.endStreams();
    await sleep(CONNECTIONS_MS);
    server.cut();
    const limits = { ...config.daemon, drainMs: 0 };
    await stopInSteps({ composition, limits, log, step: (phase) => (this.#phase = phase) });
    await this.#finish();
  }

  async #finish(): Promise<void> {
    const { composition, log } = this.#with;
    if (this.#repair) clearInterval(this.#repair);
    await composition
      .close()
      .catch((error: unknown) => log.error('the database did not close well', { error }));
    log.info('the daemon has stopped', {});
    this.#finished();
  }

  async #health(): Promise<Health> {
    const { startedAt, feed, composition } = this.#with;
    const warnings = [...composition.warnings];
    const state = this.#phase === 'running' && !this.#stopping ? 'running' : 'stopping';
    // After the engine has stopped its store may be closed.
    const lastEvent = this.#phase === 'stopping' ? 0 : await feed.last();
    return {
      protocol: HTTP_PROTOCOL,
      version: VERSION,
      pid: process.pid,
      state,
      startedAt,
      lastEvent,
      warnings,
    };
  }

  #repairLock(): void {
    const { lock, log, presence } = this.#with;
    if (presence.look()) return;
    try {
      if (lock.repair()) log.warn('the lock file was gone or changed; it is written again', {});
    } catch (error) {
      log.error('the lock file cannot be written', { error });
    }
  }
}
