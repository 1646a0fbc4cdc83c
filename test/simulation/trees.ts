import {
  NOTHING_FOUND,
  type Findings,
  type Left,
  type OpenSpec,
  type Workspace,
  type Workspaces,
} from '@reveille/core';
import { ReveilleError, type FileChange, type Run, type Task } from '@reveille/protocol';
import type { Life } from './life.ts';
import type { World } from './world.ts';

/** What is in a checkout: every edit has a name of its own, and a state is the set of them. */
interface Tree {
  run: string;
  readonly content: Set<string>;
  /** Somebody worked in it: one that was opened as its run ended holds nothing that could be lost. */
  touched: boolean;
}

const NO_DIFF = { start: '', files: [], patch: '', truncated: false };

/**
 * The checkouts of all hosts, as git keeps them: they outlive every engine. A commit is a set of edits. What the engine
 * must do with them is looked at here, from outside.
 */
export class Trees {
  readonly #world: World;
  readonly #trees = new Map<string, Tree>();
  readonly #commits = new Map<string, ReadonlySet<string>>();
  readonly #escaped = new Set<string>();
  /** What was collected of those that had got out by then, by its commit. */
  readonly #escapedIn = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  edit(task: Task): void {
    const tree = this.#trees.get(task.id);
    if (!tree) return;
    tree.content.add(`e${this.#world.nextPid()}`);
    tree.touched = true;
  }

  #changedSince(task: Task, commit: string): FileChange[] {
    const then = this.#commits.get(commit);
    return [...(this.#trees.get(task.id)?.content ?? [])]
      .filter((edit) => !then?.has(edit))
      .map((path) => ({ path, insertions: 1, deletions: 0 }));
  }

  /** Every end of a run that had a checkout says what was left there. */
  ended(run: Run, task: Task): void {
    const { end } = run;
    if (!end || task.repository === null) return;
    const world = this.#world;
    const tree = this.#trees.get(task.id);
    if (tree?.run !== run.id) return;
    // Somebody may end a run while its checkout is still being made: then nobody has worked there.
    world.check(
      end.work !== null || !tree.touched,
      'work',
      () => `${run.id} ended (${end.cause}) and does not say what it left`,
    );
    const lost = end.work?.problem && (end.status === 'success' || end.status === 'partial');
    world.check(
      !lost,
      'work',
      () => `${run.id} ended well, and its work could not be taken: ${end.work?.problem}`,
    );
    // By the look that the end was made with: others may look while it is on its way to the disk.
    const escaped = this.#escapedIn.has(end.work?.commit ?? '') && end.status !== 'failed';
    world.check(!escaped, 'work', () => `${run.id} got out of its checkout and ended as ${end.status}`);
  }

  /** As one engine sees them. */
  ports(life: Life): Workspaces {
    const { timeline, chance } = this.#world;
    const soon = async <T>(act: () => T): Promise<T> => {
      await timeline.sleep(chance.skewed(1, 400));
      if (life.dead) await new Promise(() => {});
      const done = act();
      await life.answer(timeline.sleep(chance.int(0, 5)));
      return done;
    };
    const unused = (): Promise<never> => Promise.reject(new Error('nobody does this here'));
    return {
      inspect: () => soon(() => ({ start: { snapshot: null }, files: [], count: 0 })),
      open: (spec) => soon(() => this.#open(spec)),
      checkpoint: (task) => soon(() => this.#commit(task)),
      changedSince: (task, commit) => soon(() => this.#changedSince(task, commit)),
      look: (task, run) => soon(() => this.#look(task, run)),
      collect: (task, run) => soon(() => this.#collect(task, run)),
      leave: () => soon(() => NOTHING_FOUND),
      diff: (task) => soon(() => ({ ...NO_DIFF, worktree: `/trees/${task.id}`, branch: task.name })),
      pull: unused,
      discard: unused,
      snapshots: unused,
      restore: unused,
      bringHome: unused,
    };
  }

  #open({ task, run, origin, fresh }: OpenSpec): Workspace {
    this.#trouble('no_worktree', 'no worktree today');
    const known = this.#trees.get(task.id);
    this.#checkFresh(task, run, known, fresh);
    this.#checkOrigin(task, origin);
    if (!known || (fresh && known.run !== run))
      this.#trees.set(task.id, { run, content: this.#start(origin), touched: false });
    else known.run = run;
    return { path: `/trees/${task.id}`, branch: task.name, environment: {}, notices: [] };
  }

  /** A retry of what failed does not build on its ruins, unless only a login or a budget was missing. */
  #checkFresh(task: Task, run: string, known: Tree | undefined, fresh: boolean): void {
    if (!known || known.run === run) return;
    // A run that was ended by hand while its checkout was being made is the last one itself.
    if (this.#world.auditor.ledger.rows.run.get(run)?.state === 'ended') return;
    // The last one may have ended before it had a checkout.
    const { lastRun } = this.#world.auditor.ledger.rows.task.get(task.id) ?? task;
    const last = this.#world.auditor.ledger.rows.run.get(lastRun ?? known.run)?.end;
    const isMended = last?.cause === 'budget' || last?.error?.class === 'auth';
    const ruins = (last?.status === 'failed' && !isMended) || last?.status === 'cancelled';
    this.#world.check(
      fresh === ruins,
      'work',
      () => `${run} of ${task.id} begins on what ${known.run} left (${last?.status})`,
    );
  }

  /** PLN5: a dependent has everything its dependencies made. */
  #checkOrigin(task: Task, origin: OpenSpec['origin']): void {
    if (origin.kind === 'integration') return;
    if (task.reviews) {
      const own = origin.kind === 'shared' && origin.with.id === task.reviews.task;
      return this.#world.check(own, 'work', () => `${task.id} does not look at the checkout that it reviews`);
    }
    const wanted = task.dependencies.length > 0 ? 'dependencies' : task.checkpoint ? 'checkpoint' : 'base';
    this.#world.check(
      origin.kind === wanted,
      'work',
      () => `${task.id} starts from its ${origin.kind}, not its ${wanted}`,
    );
  }

  #start(origin: OpenSpec['origin']): Set<string> {
    if (origin.kind === 'checkpoint') return new Set(this.#commits.get(origin.commit));
    const { rows } = this.#world.auditor.ledger;
    const content = new Set<string>();
    for (const { task, commit: at } of origin.kind === 'dependencies' ? origin.made : []) {
      const { id, lastRun } = task;
      const work = lastRun ? rows.run.get(lastRun)?.end?.work : null;
      const commit = at !== null && at === work?.commit ? this.#commits.get(at) : undefined;
      const tree = this.#trees.get(id);
      const made = tree?.run === lastRun && tree.touched;
      this.#world.check(
        commit !== undefined || !made,
        'work',
        () => `${id} completed, and nobody has what it made`,
      );
      for (const edit of commit ?? []) content.add(edit);
    }
    return content;
  }

  #commit(task: Task): string {
    const id = `c${this.#world.nextPid()}`;
    this.#commits.set(id, new Set(this.#trees.get(task.id)?.content));
    return id;
  }

  #look(task: Task, run: string): Findings {
    const escapes = this.#escaped.has(run) || this.#world.strikes('escape', 0.05) ? ['README.md'] : [];
    if (escapes.length > 0) this.#escaped.add(run);
    const { chance } = this.#world;
    const other = this.#world.has('conflicts') ? chance.pick([...this.#trees.keys()]) : undefined;
    if (other === undefined || other === task.id) return { escapes, conflicts: [] };
    const news = {
      task: task.id,
      with: { task: other as Task['id'] },
      began: chance.hit(0.5),
      files: ['a.ts'],
      key: `${[task.id, other].toSorted().join('+')} ${chance.int(1, 3)}`,
    };
    return { escapes, conflicts: [news] };
  }

  #collect(task: Task, run: string): Left {
    const tree = this.#trees.get(task.id);
    if (tree?.run !== run) return { work: null, findings: { escapes: [], conflicts: [] } };
    this.#trouble('work_not_taken', 'the disk is full');
    const work = {
      worktree: `/trees/${task.id}`,
      branch: task.name,
      commit: this.#commit(task),
      problem: null,
      files: [],
    };
    const findings = this.#look(task, run);
    if (findings.escapes.length > 0) this.#escapedIn.add(work.commit);
    return { work, findings };
  }

  #trouble(fault: 'no_worktree' | 'work_not_taken', words: string): void {
    // Most ends that say nothing of it are refused or failed anyway; one that would pass must come up too.
    if (this.#world.strikes(fault, fault === 'work_not_taken' ? 0.4 : 0.1))
      throw new ReveilleError('workspace_failed', words);
  }
}
