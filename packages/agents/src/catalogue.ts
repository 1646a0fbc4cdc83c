import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { Agents, Assignment, Role } from '@reveille/core';
import type { AgentType, Task } from '@reveille/protocol';
import type { AgentDefinition, AgentEntry, Problem } from './definition.ts';
import { Discovery, type Discovered, type IsTrusted, type Roots } from './discovery.ts';
import { FolderWatch } from './folder-watch.ts';
import { findInstructions, type Instructions } from './instructions.ts';
import { Skills, type LoadedSkill, type Skill } from './skills.ts';
import { betterThan, suggest, type Suggestion } from './suggest.ts';
import { SPAWNING, allowedTools } from './tool-names.ts';
import { briefingOf, roleOf } from './worker.ts';

export interface CatalogueOptions {
  /** The top of the person's checkout; without it only the home and the built-ins count. */
  readonly repository?: string;
  readonly home: string;
  readonly isTrusted: IsTrusted;
  /** The folder of the built-in definitions; ours unless said. */
  readonly builtins?: string;
  /** A change that no watch told of is seen by reads after this time at the latest. */
  readonly recheckMs?: number;
}

const BUILTINS = fileURLToPath(new URL('../definitions', import.meta.url));
const RECHECK_MS = 250;

/** All the agents there are for a repository, as they are now, with the skills and instructions found there. */
export const catalogue = (options: CatalogueOptions): Catalogue => new Catalogue(options);

/**
 * Reads look at the files again when a watch said that something changed, or when the last look is older than
 * `recheckMs`: stamps are compared, and only what changed is parsed. So nothing has to be told or started again, no timer
 * runs, and twenty thousand questions about one plan cost one look.
 */
export class Catalogue implements Agents {
  readonly #roots: Roots;
  readonly #recheckMs: number;
  readonly #discovery: Discovery;
  readonly #skills: Skills;
  readonly #listeners = new Set<() => void>();
  readonly #watch: FolderWatch;
  #closed = false;
  #current: Discovered = { entries: [], used: new Map(), problems: [], folders: [] };
  #names: readonly string[] = [];
  #lookedAt = 0;

  constructor(options: CatalogueOptions) {
    const { repository, home, builtins = BUILTINS, isTrusted, recheckMs = RECHECK_MS } = options;
    this.#roots = { repository, home, builtins };
    this.#recheckMs = recheckMs;
    this.#discovery = new Discovery(this.#roots, isTrusted);
    this.#skills = new Skills(this.#roots);
    this.#watch = new FolderWatch(() => this.refresh());
    this.refresh();
  }

  /** The names that can be used now. */
  names(): readonly string[] {
    this.#look();
    return this.#names;
  }

  reportsByLastMessage(agent: AgentType): boolean {
    return this.get(agent.name)?.reportsByLastMessage ?? false;
  }

  get(name: string): AgentDefinition | undefined {
    return this.#look().used.get(name);
  }

  defined(name: string): AgentDefinition | undefined {
    return this.get(name);
  }

  async role(task: Task, place: Pick<Assignment, 'mayNotDelegate'> = {}): Promise<Role> {
    const { files: instructions } = this.instructions(task.targetFiles);
    return roleOf(
      { definition: this.get(task.agent.name), instructions, skills: this.skills(), ...place },
      task,
    );
  }

  briefing(assignment: Assignment): string {
    const { used } = this.#look();
    const others = [...used.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const better = this.betterFor(assignment);
    return briefingOf(used.get(assignment.task.agent.name), others, { ...assignment, better });
  }

  /** A specialist that fits the task much better than the agent that was given it, if it may hand work to one (AGT7). */
  betterFor({ task, mayNotDelegate }: Pick<Assignment, 'task' | 'mayNotDelegate'>): Suggestion | null {
    const { used } = this.#look();
    const own = used.get(task.agent.name);
    if (!own || mayNotDelegate !== undefined || allowedTools(own, SPAWNING).length === 0) return null;
    return betterThan(own, suggest([...used.values()], `${task.prompt}\n${task.targetFiles.join('\n')}`));
  }

  /** Everything that was found, by name, nearest first, and what becomes of it. */
  list(): readonly AgentEntry[] {
    return this.#look().entries;
  }

  problems(): readonly Problem[] {
    return [...this.#look().problems, ...this.#skills.problems()];
  }

  suggest(task: string): readonly Suggestion[] {
    return suggest([...this.#look().used.values()], task);
  }

  skills(): readonly Skill[] {
    return this.#skills.list();
  }

  /** A skill's instructions, or one of the files in its folder. */
  loadSkill(name: string, file?: string): LoadedSkill {
    return this.#skills.load(name, file);
  }

  /** The repository's words, with those on the way to the given files. */
  instructions(near: readonly string[] = []): Instructions {
    return findInstructions(this.#roots.repository, near);
  }

  /** Called when what there is has changed. Heard through watches, so it may come late or, without them, at a read. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks again now: after a person has trusted something, no file has changed. */
  refresh(): void {
    const now = sorted(this.#discovery.look());
    this.#lookedAt = performance.now();
    if (!this.#closed) this.#watch.set(now.folders, this.#roots);
    if (isSame(this.#current, now)) return;
    this.#current = now;
    this.#names = [...now.used.keys()].toSorted();
    for (const listener of this.#listeners) listener();
  }

  /** Ends the watches. What is read afterwards is still looked for. */
  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#watch.close();
  }

  #look(): Discovered {
    if (performance.now() - this.#lookedAt >= this.#recheckMs) this.refresh();
    return this.#current;
  }
}

function sorted(found: Discovered): Discovered {
  const entries = found.entries.toSorted((a, b) => a.definition.name.localeCompare(b.definition.name, 'en'));
  return { ...found, entries };
}

/** Definitions are kept while their file is the same, so the objects tell. */
const isSame = (a: Discovered, b: Discovered): boolean =>
  a.entries.length === b.entries.length &&
  a.entries.every(
    (entry, i) => entry.definition === b.entries[i]?.definition && entry.state === b.entries[i].state,
  ) &&
  isDeepStrictEqual(a.problems, b.problems);
