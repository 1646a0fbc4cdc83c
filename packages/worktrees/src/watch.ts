import type { ConflictNews, Findings, IsLive } from '@reveille/core';
import type { TaskId } from '@reveille/protocol';
import type { FoundRepository } from './repository.ts';
import { baseline, compare, type AuditChange, type Baseline } from './work/audit.ts';
import { Forecaster, type Pair } from './work/forecast.ts';
import { atHome } from './work/refs.ts';

/** What is watched of one repository: who works on which branch, and what the person's checkout looked like. */
interface Watched {
  readonly forecaster: Forecaster;
  /** By branch. */
  readonly live: Map<string, Live>;
  /** The tasks of branches, also of those that a look has just found to be live no more. */
  readonly owners: Map<string, TaskId>;
  /** Runs that have begun and not ended. Only one of them can have changed the person's checkout, or the person. */
  readonly open: Set<string>;
  /** Null while no run is open: until the next one begins, every change is the person's own. */
  before: Baseline | null;
}

interface Live {
  readonly task: TaskId;
  readonly tip: string;
  readonly start: string;
}

/** A branch after a turn, or after the end of its run. */
export interface SeenBranch extends Live {
  readonly run: string;
  readonly branch: string;
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
    { run, branch, task, tip, start }: SeenBranch,
    isLive: IsLive,
  ): Promise<Findings> {
    return await this.#alone(repository, async (watched) => {
      watched.live.set(branch, { task, tip, start });
      const conflicts = await news(watched, isLive);
      await this.#audit(repository, watched);
      return { conflicts, escapes: this.#escapes.get(run) ?? [] };
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
   */
  async end(repository: FoundRepository, run: string): Promise<readonly string[]> {
    return await this.#alone(repository, async (watched) => {
      const late = watched.open.has(run) ? await this.#audit(repository, watched) : [];
      this.#escapes.delete(run);
      watched.open.delete(run);
      if (watched.open.size === 0) watched.before = null;
      return late;
    });
  }

  /** The conflicts that are over because a branch is not live any more. */
  async settled(repository: FoundRepository, isLive: IsLive): Promise<readonly ConflictNews[]> {
    return await this.#alone(repository, async (watched) => await news(watched, isLive));
  }

  /** Its worktree is gone: nothing of the branch is to be merged. */
  async forget(repository: FoundRepository, branch: string): Promise<void> {
    await this.#alone(repository, async (watched) => void watched.live.delete(branch));
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

  /** The branch of the person that holds a commit: the one that is checked out, if it does. */
  async #baseOf(repository: FoundRepository, commit: string): Promise<string | null> {
    const format = '--format=%(HEAD)%(refname:short)';
    const { stdout } = await atHome(repository, {
      args: ['for-each-ref', '--contains', commit, format, 'refs/heads'],
    });
    const lines = stdout.split('\n').filter((line) => line !== '');
    const current = lines.find((line) => line.startsWith('*'));
    const names = lines.map((line) => line.slice(1)).filter((name) => !name.startsWith(`${this.#prefix}/`));
    return current?.slice(1) ?? names[0] ?? null;
  }

  #baseline(repository: FoundRepository): Promise<Baseline> {
    return baseline(repository, { branchPrefix: this.#prefix });
  }

  #alone<T>(repository: FoundRepository, work: (watched: Watched) => Promise<T>): Promise<T> {
    const { root } = repository;
    let watched = this.#watched.get(root);
    if (!watched) {
      watched = {
        forecaster: new Forecaster(repository, (commit) => this.#baseOf(repository, commit)),
        live: new Map(),
        owners: new Map(),
        open: new Set(),
        before: null,
      };
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

/** Forgets what is not live any more, and says which conflicts began and ended by that and by what changed. */
async function news({ forecaster, live, owners }: Watched, isLive: IsLive): Promise<ConflictNews[]> {
  for (const [name, { task }] of live) {
    owners.set(name, task);
    if (!(await isLive(task))) live.delete(name);
  }
  const { began, stopped } = await forecaster.look(
    [...live].map(([name, { tip, start }]) => ({ name, tip, start })),
  );
  const tell = (pair: Pair, isNew: boolean): ConflictNews[] => {
    const [name, other] = pair.branches;
    const [task, second] = [owners.get(name), owners.get(other)];
    const side = pair.isBase ? { base: other } : second && { task: second };
    if (!task || !side) return [];
    return [{ task, with: side, began: isNew, files: pair.files.map(({ path }) => path), key: pair.key }];
  };
  const told = [
    ...began.flatMap((pair) => tell(pair, true)),
    ...stopped.flatMap((pair) => tell(pair, false)),
  ];
  for (const name of owners.keys()) if (!live.has(name)) owners.delete(name);
  return told;
}

const inWords = ({ kind, path, what }: AuditChange): string =>
  `${kind === 'file' ? '' : `${kind} `}${path} was ${what}`;
