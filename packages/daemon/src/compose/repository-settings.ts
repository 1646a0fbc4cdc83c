import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import {
  INCLUDE_FILE,
  includeItem,
  readInclude,
  type BoundarySettings,
  type FoundRepository,
  type Sandbox,
  type Trust,
} from '@reveille/worktrees';
import type { LoadedConfig } from '../config/load.ts';
import { repositoryItem } from '../config/repository.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';

const withInclude = (settings: BoundarySettings, include: string | null): BoundarySettings => ({
  ...settings,
  worktrees: { ...settings.worktrees, include },
});

interface From {
  /** What holds where a repository says nothing. */
  readonly config: Config;
  readonly configIn: LoadedConfig['in'] | undefined;
  readonly settingsOf: (config: Config) => BoundarySettings;
  readonly trust: Trust;
  readonly log: Log;
}

/**
 * What holds in each repository: one daemon serves many, and each may say something about its own checkouts. Its file is
 * read when a checkout of it is opened, so a change counts from the next task on, without a restart.
 */
export class RepositorySettings {
  readonly #from: From;
  readonly #usual: BoundarySettings;
  readonly #byRoot = new Map<string, BoundarySettings>();
  readonly #told = new Set<string>();

  constructor(from: From) {
    this.#from = from;
    this.#usual = from.settingsOf(from.config);
  }

  get usual(): BoundarySettings {
    return this.#usual;
  }

  of(root: string): BoundarySettings {
    return this.#byRoot.get(root) ?? this.#usual;
  }

  /** Reads what the repository says now. A file that is wrong, or wants what is not here, keeps its tasks from starting. */
  async enter({ root, gitDir }: FoundRepository, sandbox: Pick<Sandbox, 'kind'>): Promise<void> {
    const { configIn, settingsOf, trust } = this.#from;
    const isTrusted = await trust.grantedIn(gitDir);
    const trusts = ({ content }: { readonly content: string }): boolean => isTrusted(repositoryItem(content));
    const { config, ignored } = configIn?.({ root, trusts }) ?? { config: this.#from.config, ignored: [] };
    const include = await readInclude(root);
    const trustsInclude = include !== null && isTrusted(includeItem(include));
    const untrusted = include !== null && !trustsInclude ? [join(root, INCLUDE_FILE)] : [];
    for (const path of [...ignored, ...untrusted]) this.#tell(path);
    const settings = withInclude(settingsOf(config), trustsInclude ? include : null);
    if (settings.sandbox === 'require' && sandbox.kind === 'none')
      throw new ReveilleError(
        'sandbox_missing',
        `The settings of ${root} require a sandbox, and there is none here: reveille doctor says why.`,
      );
    this.#byRoot.set(root, settings);
  }

  /** Once: it is so for every task until the person has looked. */
  #tell(path: string): void {
    if (this.#told.has(path)) return;
    this.#told.add(path);
    this.#from.log.warn('the settings of a repository do not count until they are trusted: reveille init', {
      path,
    });
  }
}
