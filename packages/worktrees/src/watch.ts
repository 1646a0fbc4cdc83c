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
  /** Runs that have begun and not ended. Only one of them can have changed the person's checkout, or the person. */
  readonly open: Set<string>;
  /** Null while no run is open: until the next one begins, every change is the person's own. */
  before: Baseline | null;
}

interface Gone {
  readonly task: Task;
  /** Null: it had no branch of its own. */
  readonly branch: string | null;
  readonly run: string;
}

interface Live {
  readonly task: TaskId;
  readonly plan: string | null;
  readonly tip: string;
}

/**
 * Looks at all the branches that are being worked on, and at the person's checkout. One look at a time per repository.
 * A change of the checkout counts against every run that was open when it happened: which of them made it nobody can
 * say, and the one that did must be among those that are stopped.
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

  /** Before the agent of a run starts: from now on changes of the person's checkout count against the run. */
  async begin(repository: FoundRepository, run: string): Promise<void> {
    if (!this.#audits(repository.root)) return;
    await this.#alone(repository, async (watched) => {
      // Changes made before this run began count against the others alone.
      await this.#audit(repository, watched);
      watched.before ??= await this.#baseline(repository);
      watched.open.add(run);
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
      await this.#audit(repository, watched);
      return { conflicts, escapes: this.#escapes.get(seen.run) ?? [] };
    });
  }

  /** The changes of the person's checkout that count against a run, for one that works on no branch of its own. */
  async escapesOf(repository: FoundRepository, run: string): Promise<readonly string[]> {
    return await this.#alone(repository, async (watched) => {
      await this.#audit(repository, watched);
      return this.#escapes.get(run) ?? [];
    });
  }

  /**
   * The agent of the run is gone. Returns the changes of the person's checkout that no look has seen yet: an agent may
   * make them after its report and before it is stopped.
   *
   * Nobody works on the branch any more. One of a plan whose task completed is still to be merged: it is forecast until the
   * plan is integrated, or given up.
   */
  async end(repository: FoundRepository, { task, branch, run }: Gone): Promise<readonly string[]> {
    return await this.#alone(repository, async (watched) => {
      const late = watched.open.has(run) ? await this.#audit(repository, watched) : [];
      this.#escapes.delete(run);
      watched.open.delete(run);
      if (watched.open.size === 0) watched.before = null;
      if (branch !== null) this.#endBranch(watched, task, branch);
      return late;
    });
  }

  #endBranch(watched: Watched, task: Task, branch: string): void {
    const isMerged = task.agent.backend === INTEGRATOR.backend;
    if (task.plan === null || task.state !== 'completed' || isMerged) watched.live.delete(branch);
    if (!isMerged) return;
    for (const [name, { plan }] of watched.live) if (plan === task.plan) watched.live.delete(name);
  }

  /** What we change in the person's checkout ourselves, on their wish, is no escape. */
  async ours<T>(repository: FoundRepository, change: () => Promise<T>): Promise<T> {
    return await this.#alone(repository, async (watched) => {
      await this.#audit(repository, watched);
      try {
        return await change();
      } finally {
        if (watched.before) watched.before = await this.#baseline(repository);
      }
    });
  }

  /** Counts what changed since the last look against every open run, and returns it. */
  async #audit(repository: FoundRepository, watched: Watched): Promise<readonly string[]> {
    if (!watched.before) return [];
    const changes = await compare(repository, watched.before, { branchPrefix: this.#prefix });
    if (changes.length === 0) return [];
    const found = changes.map(inWords);
    for (const run of watched.open) this.#escapes.set(run, [...(this.#escapes.get(run) ?? []), ...found]);
    watched.before = await this.#baseline(repository);
    return found;
  }

  #baseline(repository: FoundRepository): Promise<Baseline> {
    return baseline(repository, { branchPrefix: this.#prefix });
  }

  #alone<T>(repository: FoundRepository, work: (watched: Watched) => Promise<T>): Promise<T> {
    const { root } = repository;
    let watched = this.#watched.get(root);
    if (!watched) {
      watched = { forecaster: new Forecaster(repository), live: new Map(), open: new Set(), before: null };
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
