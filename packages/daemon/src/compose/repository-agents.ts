import { homedir } from 'node:os';
import { catalogue, type AgentDefinition, type Catalogue } from '@reveille/agents';
import type { Agents, Assignment, Role } from '@reveille/core';
import type { AgentType, PolicyLayer, RunId, Task } from '@reveille/protocol';
import { findRepository, type Trust, type TrustItem } from '@reveille/worktrees';
import type { RepositoryPolicies } from './repository-policies.ts';

interface Opened {
  readonly catalogue: Catalogue;
  /** What the person has agreed to, as of the last look. */
  readonly trust: { has: (item: TrustItem) => boolean };
}

/**
 * The agents of every repository, of the person's home, and our own. What a repository brings counts once the person has
 * agreed to its content; whether they have is looked up when the repository is named, since that needs the disk.
 */
export class RepositoryAgents implements Agents {
  readonly #trust: Trust;
  readonly #home: string;
  readonly #own: readonly string[];
  /** Absent: nobody says anything of what agents may do. */
  readonly #policies: RepositoryPolicies | undefined;
  readonly #suggested: (run: RunId) => void;
  readonly #opened = new Map<string, Opened>();
  readonly #gitDirs = new Map<string, string>();
  readonly #everywhere: Catalogue;
  readonly #listeners = new Set<() => void>();

  constructor(
    trust: Trust,
    options: {
      readonly home?: string;
      /** Reveille's own folders: no repository lies there. */
      readonly own?: readonly string[];
      readonly policies?: RepositoryPolicies;
      /** Told of runs to which a specialist was suggested. */
      readonly suggested?: (run: RunId) => void;
    } = {},
  ) {
    const { home = homedir(), own = [], suggested = () => undefined, policies } = options;
    this.#trust = trust;
    this.#policies = policies;
    this.#home = home;
    this.#own = own;
    this.#suggested = suggested;
    this.#everywhere = catalogue({ home, isTrusted: () => true });
    this.#everywhere.onChange(() => this.#changed());
  }

  names(repository: string | null = null): readonly string[] {
    return this.in(repository).names();
  }

  async know(repository: string): Promise<void> {
    const opened = this.#open(repository);
    opened.trust.has = await this.#trust.grantedIn(await this.#gitDirOf(repository));
    opened.catalogue.refresh();
    await this.#policies?.know(repository, opened.trust.has);
  }

  /** A definition adds its own word to the person's and the repository's, and can only take away from them. */
  policy({ name }: AgentType, repository: string | null): readonly PolicyLayer[] {
    const approvals = this.defined(name, repository)?.approvals;
    return [
      ...(this.#policies?.of(repository) ?? []),
      ...(approvals ? [{ from: `the definition of ${name}`, ...approvals }] : []),
    ];
  }

  /** What trust was given for. It stays where it is. */
  async #gitDirOf(repository: string): Promise<string> {
    const known = this.#gitDirs.get(repository);
    if (known !== undefined) return known;
    const { gitDir } = await findRepository(repository, { home: null, own: this.#own });
    this.#gitDirs.set(repository, gitDir);
    return gitDir;
  }

  /** The catalogue of a repository; null: of none. */
  in(repository: string | null): Catalogue {
    return repository === null ? this.#everywhere : this.#open(repository).catalogue;
  }

  defined(name: string, repository: string | null): AgentDefinition | undefined {
    return this.in(repository).get(name);
  }

  reportsByLastMessage(agent: AgentType, repository: string | null): boolean {
    return this.in(repository).reportsByLastMessage(agent);
  }

  /** An earlier life of the daemon may have known the repository, this one not yet. */
  async role(task: Task, place: Pick<Assignment, 'mayNotDelegate'> = {}): Promise<Role> {
    if (task.repository !== null) await this.know(task.repository);
    return this.in(task.repository).role(task, place);
  }

  briefing(assignment: Assignment): string {
    const those = this.in(assignment.task.repository);
    if (those.betterFor(assignment)) this.#suggested(assignment.run);
    return those.briefing(assignment);
  }

  /** Called when the agents of any repository, or anybody's, have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#everywhere.close();
    for (const { catalogue: each } of this.#opened.values()) each.close();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #open(repository: string): Opened {
    const known = this.#opened.get(repository);
    if (known) return known;
    const trust: Opened['trust'] = { has: () => false };
    const isTrusted = (item: TrustItem): boolean => trust.has(item);
    const opened = { catalogue: catalogue({ repository, home: this.#home, isTrusted }), trust };
    opened.catalogue.onChange(() => this.#changed());
    this.#opened.set(repository, opened);
    return opened;
  }
}
