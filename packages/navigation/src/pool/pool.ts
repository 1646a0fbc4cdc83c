import { existsSync } from 'node:fs';
import { Connection, ServerBroken } from '../lsp/connection.ts';
import { ServerSession } from '../lsp/session.ts';
import type { Language } from '../languages.ts';
import type { Place } from '../place.ts';
import type { NoServer, ServerSpec } from '../servers.ts';
import { residentBytes } from './memory.ts';
import type { PoolFigures, PoolSettings } from './settings.ts';

interface Entry {
  readonly key: string;
  /** What is known of the size of those like it goes by this. */
  readonly size: string;
  readonly root: string;
  readonly repository: string;
  readonly language: Language;
  /** It has answered a question: its project is loaded. */
  warm: boolean;
  users: number;
  lastUsed: number;
  bytes: number;
  /** When it was last made to forget something. */
  relieved: number;
  readonly server: Promise<Server>;
  connection: Connection | null;
  /** Once it has answered. */
  session: ServerSession | null;
}
interface Server {
  readonly connection: Connection;
  readonly session: ServerSession;
}

const FAILURES = 3;
/** What an unknown server is taken for, until one like it was measured. */
const GUESS = 1.4 * 2 ** 30;
/** Servers written in Go collect before they have so much of the budget, and not only when they have twice what they need. */
const COLLECT_AT = 0.8;

/**
 * All servers of all trees, under one budget of measured memory.
 *
 * A server is started when it is first asked. Before that there must be room for it: what it will need is what the
 * last one of its repository and language needed. To make room, those that nobody asks are ended, the one that was
 * used longest ago first; if all are in use, the question waits in line. At most `coldStarts` load their project
 * at once. While any lives, their memory is measured: over the budget the idle ones go, then the largest, whose
 * question is answered from text.
 *
 * A server that broke is gone at once, and the next question starts another, unless it failed `FAILURES` times in a row.
 */
export class ServerPool implements AsyncDisposable {
  readonly #settings: PoolSettings;
  readonly #find: (language: string) => Promise<ServerSpec | NoServer>;
  readonly #log: (message: string, data: Record<string, unknown>) => void;
  readonly #entries = new Map<string, Entry>();
  /** Ended, and their memory not given back yet. */
  readonly #leaving = new Set<Entry>();
  readonly #failures = new Map<string, { count: number; until: number; why: string }>();
  readonly #sizes = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #line: Promise<unknown> = Promise.resolve();
  #watch: NodeJS.Timeout | null = null;
  #measuring: Promise<void> | null = null;
  #closed = false;
  #figures = { highest: 0, started: 0, evicted: 0, failed: 0 };

  constructor(options: {
    readonly settings: PoolSettings;
    readonly find: (language: string) => Promise<ServerSpec | NoServer>;
    readonly log: (message: string, data: Record<string, unknown>) => void;
  }) {
    this.#settings = options.settings;
    this.#find = options.find;
    this.#log = options.log;
  }

  get figures(): PoolFigures {
    const pids = [...this.#entries.values()].flatMap(({ connection }) =>
      connection ? [connection.pid] : [],
    );
    return { servers: this.#entries.size, bytes: this.#used(), pids, ...this.#figures };
  }

  isWarm(root: string, language: Language): boolean {
    return this.#entries.get(keyOf(root, language))?.warm ?? false;
  }

  /** The server of a tree that has answered before, to be asked what does not count unless it is asked again. */
  warmSession(root: string, language: Language): ServerSession | null {
    const entry = this.#entries.get(keyOf(root, language));
    return entry?.warm ? entry.session : null;
  }

  /** Trees of the same repository that have a server now. */
  roots(repository: string, language: Language): string[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.repository === repository && entry.language === language && entry.warm)
      .map(({ root }) => root);
  }

  /** Why no server can be had for this at all; null: one can. */
  async missing(language: Language): Promise<string | null> {
    const spec = await this.#find(language.name);
    return 'missing' in spec ? spec.missing : null;
  }

  /**
   * Asks the server of a tree, which is started if need be. `patience` counts only while it waits in line: what has been
   * started goes on, so that the next question finds it warm.
   */
  async use<T>(
    place: Pick<Place, 'root' | 'repository' | 'launch'>,
    language: Language,
    options: { readonly patience: () => AbortSignal; readonly act: (session: ServerSession) => Promise<T> },
  ): Promise<T> {
    const entry =
      this.#take(keyOf(place.root, language)) ?? (await this.#enter(place, language, options.patience()));
    try {
      const { session } = await entry.server;
      this.#relieve(entry, session);
      const answer = await options.act(session);
      entry.session = session;
      entry.warm = true;
      this.#failures.delete(entry.key);
      return answer;
    } catch (error) {
      if (error instanceof ServerBroken) this.#fail(entry, error.message);
      throw error;
    } finally {
      entry.users -= 1;
      entry.lastUsed = performance.now();
      // Whoever waits for room looks for some now. Nobody does, mostly, and a look would only hold the next question up.
      this.#tell();
    }
  }

  /** Measures now; returns when what is known is newer than the call. */
  async measure(): Promise<number> {
    await this.#measure();
    return this.#used();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    if (this.#watch) clearInterval(this.#watch);
    const all = [...this.#entries.values()];
    for (const entry of all) this.#end(entry, 'the daemon stops');
    this.#tell();
    await Promise.all(all.map(async (entry) => (await entry.server.catch(() => null))?.connection.ended));
    await this.#measuring;
  }

  /** Whoever has an entry is one of its users from the first moment on: else it could be ended as idle meanwhile. */
  #take(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry) entry.users += 1;
    return entry;
  }

  /** One at a time, in the order they came. */
  async #enter(
    place: Pick<Place, 'root' | 'repository' | 'launch'>,
    language: Language,
    signal: AbortSignal,
  ): Promise<Entry> {
    const turn = this.#line.then(async () => {
      const key = keyOf(place.root, language);
      const known = this.#take(key);
      if (known) return known;
      this.#checkRest(key);
      const spec = await this.#find(language.name);
      if ('missing' in spec) throw new ServerBroken(spec.missing);
      await this.#makeRoom(sizeKey(place.repository, language), signal);
      return this.#begin(place, language, spec);
    });
    this.#line = turn.catch(() => undefined);
    return await turn;
  }

  #checkRest(key: string): void {
    const failure = this.#failures.get(key);
    if (!failure || failure.count < FAILURES || failure.until < performance.now()) return;
    throw new ServerBroken(
      `it failed ${failure.count} times in a row and is left alone for a while (${failure.why})`,
    );
  }

  async #makeRoom(size: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#measure();
      if (this.#closed) throw new ServerBroken('the daemon stops');
      if (signal.aborted)
        throw new ServerBroken('all servers that fit into the memory budget are in use by others');
      const cold = [...this.#entries.values()].filter(({ warm }) => !warm).length;
      const nobody = this.#entries.size + this.#leaving.size === 0;
      const fits = nobody || this.#spoken() + this.#sizeOf(size) <= this.#settings.budgetBytes;
      if (fits && cold < this.#settings.coldStarts) return;
      const idle = this.#leaving.size === 0 && !fits ? this.#idle()[0] : undefined;
      if (idle) this.#evict(idle, 'others need its memory');
      await this.#change(signal);
    }
  }

  #begin(place: Pick<Place, 'root' | 'repository' | 'launch'>, language: Language, spec: ServerSpec): Entry {
    const { root, repository } = place;
    this.#figures.started += 1;
    const entry: Entry = {
      key: keyOf(root, language),
      size: sizeKey(repository, language),
      root,
      repository,
      language,
      warm: false,
      users: 1,
      lastUsed: performance.now(),
      bytes: 0,
      relieved: -Infinity,
      connection: null,
      session: null,
      server: this.#start(place, language, spec, (connection) => {
        entry.connection = connection;
        // It was ended before it was there.
        if (this.#entries.get(entry.key) !== entry) connection.close('it is not needed any more');
      }),
    };
    entry.server.catch(() => undefined);
    this.#entries.set(entry.key, entry);
    this.#watch ??= setInterval(() => void this.#measure(), this.#settings.watchMs).unref();
    return entry;
  }

  async #start(
    { root, launch }: Pick<Place, 'root' | 'launch'>,
    language: Language,
    spec: ServerSpec,
    opened: (connection: Connection) => void,
  ): Promise<Server> {
    const { argv, reads, env, initializationOptions, settings } = spec;
    const { startMs, hangMs, budgetBytes } = this.#settings;
    const limit = `${Math.floor((budgetBytes * COLLECT_AT) / 2 ** 20)}MiB`;
    const launched = await launch(argv, { reads, env: { GOMEMLIMIT: limit, ...env } }).catch(
      (error: unknown) => {
        throw new ServerBroken(
          `its sandbox cannot be made: ${error instanceof Error ? error.message : String(error)}`,
        );
      },
    );
    const connection = await Connection.open({
      root,
      launched,
      initializationOptions,
      settings,
      startMs,
      hangMs,
      opened,
    });
    return { connection, session: new ServerSession(connection, { language, root }) };
  }

  /**
   * One that loads more and more projects is made to forget those that were needed longest ago, before it has to be ended for
   * its size. Nobody else may be in the middle of a question: what it opened would be closed. Of servers that know only what
   * is open, nothing is closed: they would have to read it again.
   */
  #relieve(entry: Entry, session: ServerSession): void {
    const { budgetBytes, pressShare, reliefMs } = this.#settings;
    const much = budgetBytes * pressShare;
    const presses = this.#used() > much && entry.bytes > much / 2;
    if (!presses || entry.users > 1 || entry.language.opensAsked) return;
    if (performance.now() - entry.relieved < reliefMs) return;
    entry.relieved = performance.now();
    session.shed();
  }

  #fail(entry: Entry, why: string, times = 1): void {
    if (this.#entries.get(entry.key) !== entry) return;
    const count = (this.#failures.get(entry.key)?.count ?? 0) + times;
    this.#failures.set(entry.key, { count, until: performance.now() + this.#settings.restMs, why });
    this.#figures.failed += 1;
    this.#log('a language server failed', { language: entry.language.name, root: entry.root, why });
    this.#end(entry, why);
  }

  #evict(entry: Entry, why: string): void {
    this.#figures.evicted += 1;
    this.#end(entry, why);
  }

  /** Gone from the books at once; its memory counts until its process is gone. */
  #end(entry: Entry, why: string): void {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    this.#leaving.add(entry);
    const left = async (): Promise<void> => {
      const server = await entry.server.catch(() => null);
      await (server?.connection ?? entry.connection)?.ended;
      this.#leaving.delete(entry);
      this.#tell();
    };
    entry.connection?.close(why);
    void entry.server.then(({ connection }) => connection.close(why)).catch(() => undefined);
    void left();
    if (this.#entries.size === 0 && this.#watch) {
      clearInterval(this.#watch);
      this.#watch = null;
    }
  }

  #idle(): Entry[] {
    return [...this.#entries.values()]
      .filter(({ users }) => users === 0)
      .toSorted((a, b) => a.lastUsed - b.lastUsed);
  }

  /** What one like it needed when it was last measured. */
  #sizeOf(key: string): number {
    return this.#sizes.get(key) ?? Math.min(GUESS, this.#settings.budgetBytes / 2);
  }

  #used(): number {
    return [...this.#entries.values(), ...this.#leaving].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** One that loads its project still grows: what it will need is kept for it. */
  #spoken(): number {
    const growing = [...this.#entries.values()]
      .filter(({ warm }) => !warm)
      .reduce((sum, entry) => sum + Math.max(0, this.#sizeOf(entry.size) - entry.bytes), 0);
    return this.#used() + growing;
  }

  #measure(): Promise<void> {
    const next = (this.#measuring ?? Promise.resolve()).then(() => this.#look());
    this.#measuring = next;
    return next;
  }

  async #look(): Promise<void> {
    for (const entry of [...this.#entries.values(), ...this.#leaving]) {
      entry.bytes = await residentBytes(entry.connection?.pid ?? 0);
      if (entry.warm && entry.bytes > 0) this.#sizes.set(entry.size, entry.bytes);
    }
    this.#figures.highest = Math.max(this.#figures.highest, this.#used());
    this.#trim();
  }

  #trim(): void {
    const { idleMs, budgetBytes } = this.#settings;
    for (const entry of this.#idle()) {
      if (performance.now() - entry.lastUsed > idleMs || !existsSync(entry.root))
        this.#evict(entry, 'nobody asks it');
    }
    const over = (): boolean =>
      [...this.#entries.values()].reduce((sum, { bytes }) => sum + bytes, 0) > budgetBytes;
    for (const entry of this.#idle()) if (over()) this.#evict(entry, 'the budget is used up');
    while (over()) {
      const [largest] = [...this.#entries.values()].toSorted((a, b) => b.bytes - a.bytes);
      if (!largest) return;
      const why = `it needs more memory than there is for all servers (${Math.round(budgetBytes / 2 ** 20)} MB)`;
      largest.connection?.close(why);
      // One that was too large for its first question would only grow again; one that became so begins anew.
      this.#fail(largest, why, largest.warm ? 1 : FAILURES);
    }
  }

  #tell(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async #change(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
    await promise;
  }
}

const keyOf = (root: string, { name }: Language): string => `${name}\0${root}`;
const sizeKey = (repository: string, { name }: Language): string => `${name}\0${repository}`;
