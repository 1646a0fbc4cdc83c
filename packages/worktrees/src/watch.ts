import { createHash } from 'node:crypto';
import { INTEGRATOR, type ConflictNews, type Findings } from '@reveille/core';
import type { Task, TaskId } from '@reveille/protocol';
import type { FoundRepository } from './repository.ts';
import { baseline, compare, type AuditChange, type Baseline } from './work/audit.ts';
import { Forecaster, type Pair } from './work/forecast.ts';

/** What is watched of one repository: who works on which branch, and what the person's checkout looked like. */
interface Watched {
  readonly forecaster: Forecaster;
  /** By branch. */
  readonly live: Map<string, Live>;
  before: Baseline | null;
}

interface Gone {
  readonly task: Task;
  readonly branch: string;
  readonly run: string;
}

interface Live {
  readonly task: TaskId;
  readonly plan: string | null;
  readonly tip: string;
}

/**
 * Looks at all the branches that are being worked on, and at the person's checkout. One look at a time per repository:
 * what changed since the last one is told once, to whoever looks first.
 */
export class Watch {
  readonly #audits: (root: string) => boolean;
  readonly #prefix: string;
  readonly #watched = new Map<string, Watched>();
  readonly #turns = new Map<string, Promise<unknown>>();
  /** What a run did outside its checkout stays true until the run is over, whoever asks, however often. */
  readonly #escapes = new Map<string, readonly string[]>();

  constructor(options: { readonly audits: (root: string) => boolean; readonly branchPrefix: string }) {
    this.#audits = options.audits;
    this.#prefix = options.branchPrefix;
  }

  /** Before an agent starts: from now on changes of the person's checkout count. */
  async begin(repository: FoundRepository): Promise<void> {
    if (!this.#audits(repository.root)) return;
    await this.#alone(repository, async (watched) => {
      watched.before ??= await baseline(repository, { branchPrefix: this.#prefix });
    });
  }

  async look(
    repository: FoundRepository,
    seen: { readonly task: Task; readonly run: string; readonly branch: string; readonly tip: string },
  ): Promise<Findings> {
    return await this.#alone(repository, async (watched) => {
      const { id: task, plan } = seen.task;
      watched.live.set(seen.branch, { task, plan, tip: seen.tip });
      const conflicts = await news(watched, seen.branch);
      return { conflicts, escapes: await this.#escapesOf(repository, watched, seen.run) };
    });
  }

  /**
   * Nobody works on the branch any more. One of a plan whose task completed is still to be merged: it is forecast until the
   * plan is integrated, or given up.
   */
  async end(repository: FoundRepository, { task, branch, run }: Gone): Promise<void> {
    await this.#alone(repository, async (watched) => {
      this.#escapes.delete(run);
      const isMerged = task.agent.backend === INTEGRATOR.backend;
      if (task.plan === null || task.state !== 'completed' || isMerged) watched.live.delete(branch);
      if (!isMerged) return;
      for (const [name, { plan }] of watched.live) if (plan === task.plan) watched.live.delete(name);
    });
  }

  /** What we change in the person's checkout ourselves, on their wish, is no escape. */
  async ours<T>(repository: FoundRepository, change: () => Promise<T>): Promise<T> {
    return await this.#alone(repository, async (watched) => {
      const done = await change();
      if (watched.before) watched.before = await baseline(repository, { branchPrefix: this.#prefix });
      return done;
    });
  }

  async #escapesOf(repository: FoundRepository, watched: Watched, run: string): Promise<readonly string[]> {
    const known = this.#escapes.get(run) ?? [];
    if (!watched.before) return known;
    const changes = await compare(repository, watched.before, { branchPrefix: this.#prefix });
    if (changes.length === 0) return known;
    const found = [...known, ...changes.map(inWords)];
    this.#escapes.set(run, found);
    watched.before = await baseline(repository, { branchPrefix: this.#prefix });
    return found;
  }

  #alone<T>(repository: FoundRepository, work: (watched: Watched) => Promise<T>): Promise<T> {
    const { root } = repository;
    let watched = this.#watched.get(root);
    if (!watched) {
      watched = { forecaster: new Forecaster(repository), live: new Map(), before: null };
      this.#watched.set(root, watched);
    }
    const mine = watched;
    const done = (this.#turns.get(root) ?? Promise.resolve()).then(() => work(mine));
    this.#turns.set(
      root,
      done.catch(() => undefined),
    );
    return done;
  }
}

async function news({ forecaster, live }: Watched, branch: string): Promise<ConflictNews[]> {
  const branches = [...live].map(([name, { tip }]) => ({ name, tip }));
  const { began, stopped } = await forecaster.look(branches);
  const tell = (pair: Pair, isNew: boolean): ConflictNews[] => {
    const other = pair.branches.find((name) => name !== branch);
    const task = other === undefined ? undefined : live.get(other)?.task;
    if (!task || !pair.branches.includes(branch)) return [];
    const key = createHash('sha256').update([...pair.branches, ...pair.tips, String(isNew)].join('\0'));
    const files = pair.files.map(({ path }) => path);
    return [{ with: task, began: isNew, files, key: key.digest('hex').slice(0, 32) }];
  };
  return [...began.flatMap((pair) => tell(pair, true)), ...stopped.flatMap((pair) => tell(pair, false))];
}

const inWords = ({ kind, path, what }: AuditChange): string =>
  `${kind === 'file' ? '' : `${kind} `}${path} was ${what}`;
