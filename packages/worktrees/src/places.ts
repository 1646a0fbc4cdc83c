import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { INTEGRATOR } from '@reveille/core';
import { ReveilleError, type Task } from '@reveille/protocol';
import { makeFolder, orNull, readJson, writeWhole } from './creation/files.ts';
import { checkHome } from './creation/home.ts';
import { layoutOf } from './creation/layout.ts';
import { sweep } from './creation/orphans.ts';
import { findCheckout, listCheckouts, type KnownCheckout } from './creation/record.ts';
import { findRepository, lookAgain, type FoundRepository, type RepositorySearch } from './repository.ts';
import { settleWork } from './work/settle-work.ts';

/** What is remembered of a checkout that a task had, also when it is gone. */
interface Trace {
  readonly name: string;
  readonly branch: string;
}

export interface PlacesOptions {
  /** The setting: where worktrees live; null: beside each repository. */
  readonly home: string | null;
  /** Reveille's own folders. */
  readonly own: readonly string[];
  /** Throws if the person has not trusted what the repository brings along. Called before anything of it is used. */
  readonly admit?: ((repository: FoundRepository) => Promise<void>) | undefined;
}

/**
 * Which task works where. Everything is on disk, in our folder beside the worktrees; what is kept in memory only saves
 * looking for it again.
 */
export class Places {
  readonly #options: PlacesOptions;
  readonly #repositories = new Map<string, Promise<FoundRepository>>();
  readonly #checkouts = new Map<string, KnownCheckout>();
  /** The homes of worktrees of all repositories that were used. */
  readonly #homes = new Set<string>();

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  async repository(task: Task): Promise<FoundRepository> {
    return await this.#at(pathOf(task));
  }

  #at(path: string): Promise<FoundRepository> {
    let found = this.#repositories.get(path);
    if (!found) {
      found = this.#enter(path);
      this.#repositories.set(path, found);
      // A repository that is not there may be there the next time.
      found.catch(() => this.#repositories.delete(path));
    }
    return found;
  }

  /** The first time in this life: what an earlier one left half done is ended before anything else is begun. */
  async #enter(path: string): Promise<FoundRepository> {
    const repository = await findRepository(path, this.#search());
    await checkHome(repository);
    await this.#options.admit?.(repository);
    this.#homes.add(repository.home);
    await sweep(repository);
    await settleWork(repository, await listCheckouts(repository));
    return repository;
  }

  /** The same, with what it says about itself now: before anything is made of it, or it is changed. */
  async lookAgain(task: Task): Promise<FoundRepository> {
    return await this.lookAgainAt(pathOf(task));
  }

  async lookAgainAt(path: string): Promise<FoundRepository> {
    const known = await this.#at(path);
    const repository = await lookAgain(known, this.#search());
    await checkHome(repository);
    await this.#options.admit?.(repository);
    this.#repositories.set(path, Promise.resolve(repository));
    // A checkout names its repository, with the objects that are mounted for it.
    if (repository.objectStores.join('\n') !== known.objectStores.join('\n')) this.#checkouts.clear();
    return repository;
  }

  #search(): RepositorySearch {
    const { home, own } = this.#options;
    return { home, own, homes: [...this.#homes, ...(home === null ? [] : [home])] };
  }

  /** The checkout of a task, made in this life or an earlier one. */
  async find(task: Task): Promise<KnownCheckout | null> {
    const known = this.#checkouts.get(task.id);
    if (known) return known;
    const recorded = await findCheckout(await this.repository(task), task.id);
    if (!recorded) return null;
    const found = { ...recorded, branchIsOurs: task.agent.backend === INTEGRATOR.backend };
    this.#checkouts.set(task.id, found);
    return found;
  }

  async need(task: Task): Promise<KnownCheckout> {
    const found = await this.find(task);
    if (found) return found;
    throw new ReveilleError(
      'wrong_state',
      `Task ${task.id} has no worktree: it has not begun, or it was discarded.`,
    );
  }

  forget(task: Task): void {
    this.#checkouts.delete(task.id);
  }

  /** A task gets a checkout: it is found by its name also when it is gone. */
  async leaveTrace(task: Task, { name, branch }: Trace): Promise<void> {
    const folder = await this.#tracesOf(task);
    await makeFolder(folder);
    await writeWhole(join(folder, `${name}.json`), JSON.stringify({ name, branch }));
  }

  /** The checkouts a task ever had; the oldest first is not promised. */
  async traces(task: Task): Promise<readonly Trace[]> {
    const folder = await this.#tracesOf(task);
    const files = (await orNull(readdir(folder))) ?? [];
    const traces = await Promise.all(
      files.filter((file) => file.endsWith('.json')).map((file) => readJson(join(folder, file))),
    );
    // Nobody but us writes there.
    return traces.flatMap((trace) => (trace === null ? [] : [trace as Trace]));
  }

  /** The snapshot that a run without a checkout begins in; undefined: there is none. */
  async rememberBeginning(task: Task, beginning: { run: string; ref: string | undefined }): Promise<void> {
    const folder = await this.#tracesOf(task);
    await makeFolder(folder);
    await writeWhole(join(folder, BEGINNING), JSON.stringify(beginning));
  }

  /** Null: this run begins in what was left. */
  async beginningOf(task: Task, run: string): Promise<string | null> {
    const value = await readJson(join(await this.#tracesOf(task), BEGINNING));
    if (value === null || typeof value !== 'object' || !('run' in value) || value.run !== run) return null;
    return 'ref' in value ? String(value.ref) : null;
  }

  async #tracesOf(task: Task): Promise<string> {
    return join(layoutOf(await this.repository(task)).ours, '.tasks', task.id);
  }
}

function pathOf({ id, repository }: Task): string {
  if (repository !== null) return repository;
  throw new ReveilleError('wrong_state', `Task ${id} works on no repository.`);
}

const BEGINNING = 'beginning';
const runFile = (room: string): string => join(room, 'run.json');

/** Which run a checkout was last opened for; null if it was only just made. */
export async function openedFor(room: string): Promise<string | null> {
  const value = await readJson(runFile(room));
  return value !== null && typeof value === 'object' && 'run' in value ? String(value.run) : null;
}

export const rememberRun = (room: string, run: string): Promise<void> =>
  writeWhole(runFile(room), JSON.stringify({ run }));
