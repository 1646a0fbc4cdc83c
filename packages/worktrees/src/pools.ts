import { fillPool } from './creation/fill.ts';
import type { WorktreeSettings } from './creation/settings.ts';
import type { SetupRunner } from './creation/setup.ts';
import type { FoundRepository } from './repository.ts';

interface PoolOptions {
  readonly runSetup?: SetupRunner;
  readonly log?: (message: string, data: Record<string, unknown>) => void;
}

interface Wanted {
  readonly repository: FoundRepository;
  readonly commit: string;
  readonly settings: WorktreeSettings;
}

/** Keeps the pools of all repositories filled, one at a time, behind everything else. */
export class Pools {
  readonly #options: PoolOptions;
  readonly #stopping = new AbortController();
  /** The commit each repository's pool is to be brought to next. */
  readonly #wanted = new Map<string, Wanted>();
  #filling: Promise<void> | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  refill(repository: FoundRepository, commit: string, settings: WorktreeSettings): void {
    if (settings.pool === 0 || this.#stopping.signal.aborted) return;
    this.#wanted.set(repository.root, { repository, commit, settings });
    this.#filling ??= this.#fill();
  }

  async #fill(): Promise<void> {
    const { runSetup, log } = this.#options;
    const { signal } = this.#stopping;
    for (const [root, { repository, commit, settings }] of this.#wanted) {
      this.#wanted.delete(root);
      if (signal.aborted) break;
      await fillPool(repository, { settings, commit, signal, ...(runSetup ? { runSetup } : {}) }).catch(
        (error: unknown) => {
          if (!signal.aborted)
            log?.('the pool of worktrees could not be filled', { root, error: String(error) });
        },
      );
    }
    this.#filling = null;
  }

  async close(): Promise<void> {
    this.#stopping.abort(new Error('stopping'));
    await this.#filling;
  }
}
