import {
  ReveilleError,
  isReveilleError,
  isScarce,
  isStoreError,
  type ErrorClass,
  type Run,
  type RunId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import type { AgentLine } from './agent-line.ts';
import { openWorkspace } from './checkouts.ts';
import type { Context } from './context.ts';
import { tellLate } from './decide.ts';
import { isIntegrator } from './integrator.ts';
import { depthLeft } from './limits.ts';
import { isLiveIn } from './live-branches.ts';
import type { Role } from './ports/agents.ts';
import type { Executor } from './ports/executor.ts';
import { NOTHING_FOUND, type Findings, type Workspace } from './ports/workspaces.ts';

/** What one run's worker does with its checkout. Nothing here may keep a run from ending: what fails is logged. */
export class Checkout {
  readonly #context: Context;
  readonly #task: TaskId;
  /** Null: not yet open, or its task has no files. */
  workspace: Workspace | null = null;
  #opening: AbortController | null = null;

  constructor(context: Context, task: TaskId) {
    this.#context = context;
    this.#task = task;
  }

  /**
   * Opens the checkout and starts the agent in it, once. It may take as long as a set-up command does; a cancel breaks
   * it off. What forbids it is a failure of the run like any other.
   */
  async launch(line: AgentLine, executor: Executor | null, task: Task, run: Run): Promise<void> {
    if (task.cancelling || line.failure) return;
    const role = await this.#roleOf(task).catch((error: unknown) => {
      line.cannot(`its definition cannot be read: ${sayWhy(error)}`, faultOf(error, 'invalid'));
    });
    if (role === undefined) return;
    try {
      this.#opening = new AbortController();
      const opening = { readOnly: role?.readOnly ?? false, signal: this.#opening.signal };
      this.workspace ??= await openWorkspace(this.#context, task, run, opening);
    } catch (error) {
      // Nothing is wrong with the checkout: the step is made again when the store answers.
      if (isStoreError(error)) throw error;
      return line.cannot(`no worktree for it: ${sayWhy(error)}`, faultOf(error, 'workspace'));
    } finally {
      this.#opening = null;
    }
    line.launch(executor, task, run, { workspace: this.workspace, role });
  }

  /** Nobody has defined the one that integrates: it is no agent of a model. */
  async #roleOf(task: Task): Promise<Role | null> {
    const { agents, store, settings } = this.#context;
    if (!agents.role || isIntegrator(task)) return null;
    const session = (await store.get('session', task.session))?.doc;
    const mayNotDelegate = session && depthLeft(settings, session);
    const role = await agents.role(task, mayNotDelegate === undefined ? {} : { mayNotDelegate });
    // Whatever else it may: work under review is not changed by its reviewer.
    return task.reviews ? { ...role, readOnly: true } : role;
  }

  abort(why: string): void {
    this.#opening?.abort(new ReveilleError('aborted', why));
  }

  /** Its session was woken; while the checkout is being made that may be a cancel, which no step can see yet. */
  wakened(): void {
    if (!this.#opening) return;
    const looked = this.#context.store.get('task', this.#task);
    void looked.then(
      (row) => row?.doc.cancelling && this.abort('the task is being cancelled'),
      () => undefined,
    );
  }

  look(run: { readonly id: RunId } | null): Promise<Findings> {
    return this.#quietly(run, NOTHING_FOUND, (task, id) =>
      this.#context.workspaces?.look(task, id, isLiveIn(this.#context.store)),
    );
  }

  /** The state of the files as a commit, uncommitted changes included; null: its task has no files, or they cannot be read. */
  mark(): Promise<string | null> {
    return this.#ofFiles(null, (task) => this.#context.workspaces?.checkpoint(task));
  }

  /** Whether the files differ from a mark. If they cannot be read nobody can say, and they count as changed. */
  hasChanged(mark: string): Promise<boolean> {
    const compare = async (task: Task): Promise<boolean | undefined> => {
      const changes = await this.#context.workspaces?.changedSince(task, mark);
      return changes && changes.length > 0;
    };
    return this.#ofFiles(true, compare);
  }

  /** What nobody has looked at until now is told all the same. */
  async leave(run: { readonly id: RunId } | null): Promise<void> {
    const late = await this.#quietly(run, NOTHING_FOUND, (task, id) =>
      this.#context.workspaces?.leave(task, id, isLiveIn(this.#context.store)),
    );
    if (run) void tellLate(this.#context, run.id, late);
  }

  #quietly<T>(
    run: { readonly id: RunId } | null,
    otherwise: T,
    act: (task: Task, run: RunId) => Promise<T> | undefined,
  ): Promise<T> {
    return run ? this.#ofFiles(otherwise, (task) => act(task, run.id)) : Promise.resolve(otherwise);
  }

  async #ofFiles<T>(otherwise: T, act: (task: Task) => Promise<T | undefined> | undefined): Promise<T> {
    const { store, workspaces, log } = this.#context;
    if (!workspaces) return otherwise;
    try {
      const task = (await store.get('task', this.#task))?.doc;
      if (!task || task.repository === null) return otherwise;
      return (await act(task)) ?? otherwise;
    } catch (error) {
      log?.('warn', 'a checkout could not be looked at', { task: this.#task, error: String(error) });
      return otherwise;
    }
  }
}

/** What a person has to mend is not tried again by itself. */
function faultOf(
  error: unknown,
  unnamed: ErrorClass,
): { readonly class: ErrorClass; readonly scarce?: boolean } {
  if (isScarce(error)) return { class: 'workspace', scarce: true };
  if (!isReveilleError(error)) return { class: unnamed };
  return { class: error.code === 'workspace_failed' ? 'workspace' : 'invalid' };
}

const sayWhy = (error: unknown): string => (isReveilleError(error) ? error.message : String(error));
