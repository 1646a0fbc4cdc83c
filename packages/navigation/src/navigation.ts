import { availableParallelism } from 'node:os';
import type { ToolNavigation } from '@reveille/protocol';
import type { Place } from './place.ts';
import { ServerPool } from './pool/pool.ts';
import type { PoolFigures, PoolSettings } from './pool/settings.ts';
import { definitions } from './questions/definitions.ts';
import { Inquiry, type Means } from './questions/inquiry.ts';
import { moduleView } from './questions/module.ts';
import { outline, typeOf } from './questions/outline.ts';
import { usages } from './questions/usages.ts';
import { findServer, type NoServer, type ServerSources, type ServerSpec } from './servers.ts';
import { Syntax } from './syntax/syntax.ts';
import { Scout } from './text/scout.ts';

export interface NavigationSettings extends PoolSettings {
  readonly warmMs: number;
  readonly loadMs: number;
}

export const NAVIGATION_DEFAULTS: NavigationSettings = {
  budgetBytes: 3 * 2 ** 30,
  idleMs: 10 * 60_000,
  coldStarts: availableParallelism(),
  startMs: 60_000,
  hangMs: 120_000,
  restMs: 5 * 60_000,
  pressShare: 0.5,
  reliefMs: 10_000,
  watchMs: 500,
  warmMs: 20_000,
  loadMs: 60_000,
};

export interface NavigationOptions {
  readonly settings?: Partial<NavigationSettings>;
  readonly sources?: Partial<ServerSources>;
  readonly log?: (message: string, data: Record<string, unknown>) => void;
}

/** Where symbols are, in every tree, under one budget. Whoever makes it disposes of it: then no server is left. */
export class Navigation implements AsyncDisposable {
  readonly #means: Means;
  readonly #found = new Map<string, Promise<ServerSpec | NoServer>>();
  readonly #sources: ServerSources;

  constructor(options: NavigationOptions = {}) {
    const settings = { ...NAVIGATION_DEFAULTS, ...options.settings };
    this.#sources = { configured: {}, folders: [], path: process.env['PATH'] ?? '', ...options.sources };
    const pool = new ServerPool({
      settings,
      find: (language) => this.#find(language),
      log: options.log ?? (() => undefined),
    });
    const { warmMs, loadMs } = settings;
    this.#means = { scout: new Scout(), syntax: new Syntax(), pool, warmMs, loadMs };
  }

  get figures(): PoolFigures {
    return this.#means.pool.figures;
  }

  /** Measures the servers' memory now. */
  async measure(): Promise<number> {
    return await this.#means.pool.measure();
  }

  in(place: Place): ToolNavigation {
    const { signal: none } = new AbortController();
    const inquire = (asking: { signal?: AbortSignal; waitMs: number }): Inquiry =>
      new Inquiry(this.#means, place, { signal: asking.signal ?? none, waitMs: asking.waitMs });
    return {
      definitions: (ask, asking) => definitions(inquire(asking), ask),
      usages: (ask, asking) => usages(inquire(asking), ask),
      module: (ask, asking) => moduleView(inquire(asking), ask),
      outline: (ask, asking) => outline(inquire(asking), ask),
      typeOf: (ask, asking) => typeOf(inquire(asking), ask),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#means.pool[Symbol.asyncDispose]();
    await this.#means.scout[Symbol.asyncDispose]();
    await this.#means.syntax[Symbol.asyncDispose]();
  }

  /** Looked for once: what is installed later is found after a restart. What is missing is looked for again. */
  async #find(language: string): Promise<ServerSpec | NoServer> {
    const known = this.#found.get(language) ?? findServer(language, this.#sources);
    this.#found.set(language, known);
    const found = await known;
    if ('missing' in found) this.#found.delete(language);
    return found;
  }
}
