import { join } from 'node:path';
import type { PolicyLayer } from '@reveille/protocol';
import { findRepository, type TrustItem } from '@reveille/worktrees';
import { readText } from '../config/layers.ts';
import type { LoadedConfig } from '../config/load.ts';
import { REPOSITORY_FILE, repositoryItem } from '../config/repository.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';

interface From {
  readonly config: Config;
  readonly configIn: LoadedConfig['in'] | undefined;
  /** Reveille's own folders: no repository lies there. */
  readonly own?: readonly string[];
  readonly log: Log;
}

interface Known {
  readonly content: string;
  readonly trusted: boolean;
  readonly layers: readonly PolicyLayer[];
}

/**
 * What the person says of what agents may do, and what each repository says besides. The person's word always holds;
 * that of a repository comes on top of it, so it can only take away.
 */
export class RepositoryPolicies {
  readonly #from: From;
  readonly #person: PolicyLayer;
  readonly #known = new Map<string, Known>();
  readonly #roots = new Map<string, string>();

  constructor(from: From) {
    this.#from = from;
    this.#person = layerOf('your settings', from.config);
  }

  of(repository: string | null): readonly PolicyLayer[] {
    const own = repository === null ? undefined : this.#known.get(repository);
    return [this.#person, ...(own?.layers ?? [])];
  }

  /** Looks at the repository's file. One that is wrong keeps its tasks from starting, which is said there. */
  async know(repository: string, isTrusted: (item: TrustItem) => boolean): Promise<void> {
    const { configIn, own = [], log } = this.#from;
    if (!configIn) return;
    const root = this.#roots.get(repository) ?? (await findRepository(repository, { home: null, own })).root;
    this.#roots.set(repository, root);
    const text = readText(join(root, REPOSITORY_FILE));
    const content = typeof text === 'string' ? text : '';
    const trusted = isTrusted(repositoryItem(content));
    const known = this.#known.get(repository);
    if (known?.content === content && known.trusted === trusted) return;
    try {
      const { config } = configIn({ root, trusts: (file) => isTrusted(repositoryItem(file.content)) });
      const layer = layerOf(`the settings of ${root}`, config);
      const same = JSON.stringify(config.approvals) === JSON.stringify(this.#from.config.approvals);
      this.#known.set(repository, { content, trusted, layers: same ? [] : [layer] });
    } catch (error) {
      log.warn('what a repository says of approvals cannot be read', { root, error: String(error) });
    }
  }
}

const layerOf = (from: string, { approvals }: Config): PolicyLayer => ({
  from,
  preset: approvals.preset,
  // The frozen settings, as a record has them: what was not said is not there.
  rules: structuredClone(approvals.rules) as PolicyLayer['rules'],
});
