import type {
  DirtyWish,
  Findings,
  Inspection,
  IsLive,
  Left,
  OpenSpec,
  Workspace,
  Workspaces,
} from '@reveille/core';
import { NOTHING_FOUND } from '@reveille/core';
import {
  ReveilleError,
  formatAgentType,
  type Diff,
  type DirtyPolicy,
  type FileChange,
  type Pulled,
  type RunId,
  type Snapshot,
  type Task,
} from '@reveille/protocol';
import type { Checkout } from './checkout.ts';
import { createCheckout } from './creation/create.ts';
import { findOrphans, type Orphan } from './creation/orphans.ts';
import { listCheckouts, type KnownCheckout } from './creation/record.ts';
import { removeCheckout } from './creation/remove.ts';
import type { WorktreeSettings } from './creation/settings.ts';
import type { SetupRunner } from './creation/setup.ts';
import { inspectCheckout } from './inspection.ts';
import { Lending } from './lending.ts';
import { openedFor, Places, rememberRun } from './places.ts';
import { Pools } from './pools.ts';
import type { FoundRepository } from './repository.ts';
import { retainSnapshots } from './retention.ts';
import { beginningOf, confirmStart } from './starting.ts';
import { Watch } from './watch.ts';
import { checkpoint } from './work/checkpoint.ts';
import { changedSince, diff, workProduct } from './work/diff.ts';
import { bringHome } from './work/home.ts';
import { forgetCheckout } from './work/forget.ts';
import { importBranch } from './work/import.ts';
import { commitLeftovers } from './work/leftovers.ts';
import { pull } from './work/pull.ts';
import { restore } from './work/restore.ts';
import { listSnapshots, snapshot } from './work/snapshots.ts';

/** What holds for the worktrees of a repository. */
export interface WorktreeRules {
  readonly settings: WorktreeSettings;
  /** Null: nothing is set, and whoever starts the work decides. */
  readonly dirty: DirtyPolicy | null;
  /** Whether changes of the person's checkout are looked for after each turn. */
  readonly audits: boolean;
}

export interface WorktreesOptions extends WorktreeRules {
  /** What holds for the repository at this root, if it differs; where worktrees are and what branches are called does not. */
  readonly rulesFor?: (root: string) => WorktreeRules;
  /** Reveille's own folders: no repository may be in them, or contain them. */
  readonly own?: readonly string[];
  /** Throws if the person has not trusted what a repository brings along. Called before anything of it is used. */
  readonly admit?: ((repository: FoundRepository) => Promise<void>) | undefined;
  /** Called before a checkout is opened or made: what holds for its repository may have changed, or forbid it. */
  readonly enter?: (repository: FoundRepository) => Promise<void>;
  /** Runs what the settings say to run in a new worktree. */
  readonly runSetup?: SetupRunner;
  readonly log?: (message: string, data: Record<string, unknown>) => void;
}

/** Core's checkouts, on git. Closing it ends what goes on in the background. */
export class Worktrees implements Workspaces, AsyncDisposable {
  readonly #options: WorktreesOptions;
  readonly #places: Places;
  readonly #watch: Watch;
  readonly #lending = new Lending();
  readonly #pools: Pools;
  readonly #removals = new Set<Promise<void>>();

  constructor(options: WorktreesOptions) {
    this.#options = options;
    const { settings, runSetup, log } = options;
    const { own = [], admit } = options;
    this.#places = new Places({ home: settings.home, own, admit });
    const audits = (root: string): boolean => this.#rules(root).audits;
    this.#watch = new Watch({ audits, branchPrefix: settings.branchPrefix });
    this.#pools = new Pools({ ...(runSetup ? { runSetup } : {}), ...(log ? { log } : {}) });
  }

  #rules(root: string): WorktreeRules {
    return this.#options.rulesFor?.(root) ?? this.#options;
  }

  async inspect(path: string, { wanted, otherwise }: DirtyWish): Promise<Inspection> {
    const repository = await this.#places.lookAgainAt(path);
    await this.#options.enter?.(repository);
    return await inspectCheckout(repository, wanted ?? this.#rules(repository.root).dirty ?? otherwise);
  }

  async open(spec: OpenSpec): Promise<Workspace> {
    const { task, run, origin } = spec;
    const repository = await this.#places.lookAgain(task);
    await this.#options.enter?.(repository);
    await this.#watch.begin(repository, run);
    if (origin.kind === 'shared') {
      const { path, branch, environment } = await this.#places.need(this.#lending.ownerOf(origin.with));
      const reads = task.reviews !== undefined;
      this.#lending.lend(origin.with, task.id, { reads });
      return { path, branch, environment, notices: reads ? [] : [SHARED] };
    }
    const known = await this.#places.find(task);
    const kept = known && !(await this.#isRuin(known, spec)) ? known : null;
    if (known && !kept) await this.#takeAway(task, known, 'a new attempt');
    // Before there is a checkout: one that is there later, half laid, would pass for what was left.
    if (!kept && spec.from === null)
      await this.#places.rememberBeginning(task, { run, ref: (await this.snapshots(task)).at(-1)?.ref });
    const opened = kept ? { ...kept, notices: [] } : await this.#create(repository, spec, origin);
    await this.#layFrom(repository, spec, opened);
    await rememberRun(opened.room, run);
    return opened;
  }

  /** Killed before the run is remembered, it is done again: what is there by then is in a snapshot too. */
  async #layFrom(
    repository: FoundRepository,
    { task, run, from }: OpenSpec,
    opened: Checkout,
  ): Promise<void> {
    if (from === undefined || (await openedFor(opened.room)) === run) return;
    const ref = from ?? (await this.#places.beginningOf(task, run));
    if (ref !== null) await restore(repository, ref, { checkout: opened });
  }

  async #isRuin({ room }: Checkout, { fresh, run }: OpenSpec): Promise<boolean> {
    if (!fresh) return false;
    const last = await openedFor(room);
    return last !== null && last !== run;
  }

  async #create(
    repository: FoundRepository,
    { task, plan, readOnly, signal }: OpenSpec,
    origin: Exclude<OpenSpec['origin'], { kind: 'shared' }>,
  ): Promise<Workspace & Checkout> {
    const { runSetup } = this.#options;
    const { settings, dirty } = this.#rules(repository.root);
    const { start, notices, merged } = await beginningOf(repository, origin, dirty ?? 'fail');
    const created = await createCheckout(repository, {
      plan: plan?.name ?? 'tasks',
      // The key of a task outside a plan may be the id of a tool call, which tells a person nothing.
      task: plan ? (task.key ?? task.name) : task.name,
      id: task.id,
      start,
      ...(merged ? { confirm: confirmStart } : {}),
      author: authorOf(task),
      settings,
      readOnly,
      signal,
      ...(runSetup ? { runSetup } : {}),
    });
    await this.#places.leaveTrace(task, created.checkout);
    this.#pools.refill(repository, start.commit, settings);
    const { environment } = created;
    return { ...created.checkout, environment, notices: [...created.notices, ...notices] };
  }

  async checkpoint(task: Task): Promise<string> {
    return await checkpoint(await this.#places.need(this.#lending.ownerOf(task)));
  }

  async changedSince(task: Task, from: string): Promise<readonly FileChange[]> {
    return await changedSince(await this.#places.need(this.#lending.ownerOf(task)), from);
  }

  async look(task: Task, run: RunId, isLive: IsLive): Promise<Findings> {
    const checkout = await this.#places.find(task);
    if (!checkout) return await this.#lookBeside(task, run);
    const { tip } = await importBranch(checkout);
    return await this.#findings(task, { run, checkout, tip }, isLive);
  }

  /** A forecast is advice: one that fails costs nobody their report, and what a run did outside is found all the same. */
  async #findings(task: Task, { run, checkout, tip }: Seen, isLive: IsLive): Promise<Findings> {
    const { branch, start } = checkout;
    const repository = await this.#places.repository(task);
    try {
      return await this.#watch.look(repository, { task: task.id, run, branch, tip, start }, isLive);
    } catch (error) {
      this.#options.log?.('whether branches conflict could not be forecast', { run, error: String(error) });
      return await this.#lookBeside(task, run);
    }
  }

  /** Of a run without a checkout of its own: it may work in another's. */
  async #lookBeside(task: Task, run: RunId): Promise<Findings> {
    const escapes = await this.#watch.escapesOf(await this.#places.repository(task), run);
    return { ...NOTHING_FOUND, escapes };
  }

  async collect(task: Task, run: RunId, isLive: IsLive): Promise<Left> {
    const checkout = await this.#places.find(task);
    if (!checkout) return { work: null, findings: await this.#lookBeside(task, run) };
    const collected = await commitLeftovers(checkout, leftoversOf(task));
    const { tip, problem, leftOut, notices } = collected;
    const missing = leftOut.length > 0 ? `Not everything could be taken: ${leftOut.join(' ')}` : null;
    const work = await workProduct(checkout, { commit: tip, problem: problem ?? missing, notices });
    return { work, findings: await this.#findings(task, { run, checkout, tip }, isLive) };
  }

  async leave(task: Task, run: RunId, isLive: IsLive): Promise<Findings> {
    this.#lending.giveBack(task.id);
    const checkout = await this.#places.find(task);
    const repository = await this.#places.repository(task);
    try {
      // What it wrote between its end and its death is on the branch too. What cannot be taken does not keep the run open.
      if (checkout) await commitLeftovers(checkout, leftoversOf(task));
    } catch (error) {
      await this.#watch.end(repository, run);
      throw error;
    }
    const escapes = await this.#watch.end(repository, run);
    const conflicts = await this.#watch.settled(repository, isLive).catch((error: unknown) => {
      this.#options.log?.('whether branches conflict could not be forecast', { run, error: String(error) });
      return [];
    });
    return { conflicts, escapes };
  }

  /** Whether its agent may write now: not while it has lent its checkout to a child (WKT2). */
  mayWrite(task: Task): boolean {
    return !this.#lending.isLent(task.id);
  }

  async diff(task: Task): Promise<Diff> {
    return await diff(await this.#places.need(task));
  }

  async pull(child: Task, into: Task): Promise<Pulled> {
    const target = await this.#places.need(this.#lending.ownerOf(into));
    // What a guest did is there already.
    if (child.isolation === 'shared' && !(await this.#places.find(child)))
      return { merged: true, commit: (await importBranch(target)).tip, files: [] };
    return await pull(await this.#places.need(child), target);
  }

  async discard(task: Task): Promise<Snapshot> {
    return await this.#takeAway(task, await this.#places.need(task), 'discarded');
  }

  async #takeAway(task: Task, checkout: KnownCheckout, why: string): Promise<Snapshot> {
    const taken = await snapshot(checkout, why);
    if (taken.leftOut.length > 0)
      throw new ReveilleError(
        'wrong_state',
        `The worktree ${checkout.path} stays: some of it cannot be kept in a snapshot. ${taken.leftOut.join(' ')}`,
      );
    const { deleted } = await removeCheckout(checkout);
    this.#places.forget(task);
    await forgetCheckout(checkout.repository, checkout.name);
    await this.#watch.forget(await this.#places.repository(task), checkout.branch);
    this.#removals.add(deleted);
    void deleted.finally(() => this.#removals.delete(deleted));
    const { ref, commit, at } = taken;
    return { ref, commit, why: taken.why, at };
  }

  async snapshots(task: Task): Promise<readonly Snapshot[]> {
    const repository = await this.#places.repository(task);
    const names = await this.#places.traces(task);
    const all = await Promise.all(names.map(({ name }) => listSnapshots(repository, { name })));
    const found = all.flat().map(({ ref, commit, why, at }) => ({ ref, commit, why, at }));
    return found.toSorted((a, b) => a.at - b.at);
  }

  async restore(task: Task, wanted: string | null): Promise<{ worktree: string; branch: string }> {
    const all = await this.snapshots(task);
    const chosen = wanted === null ? all.at(-1) : all.find(({ ref }) => ref === wanted);
    if (!chosen) throw new ReveilleError('not_found', `Task ${task.id} has no snapshot ${wanted ?? 'yet'}.`);
    const repository = await this.#places.repository(task);
    const known = await this.#places.find(task);
    const checkout = known ?? (await this.#createAt(repository, task, chosen.commit));
    await restore(repository, chosen.ref, { checkout });
    return { worktree: checkout.path, branch: checkout.branch };
  }

  async #createAt(repository: FoundRepository, task: Task, commit: string): Promise<Checkout> {
    await this.#options.enter?.(repository);
    const { settings } = this.#rules(repository.root);
    const spec = {
      plan: 'restored',
      task: task.name,
      id: task.id,
      start: { commit },
      author: authorOf(task),
      settings,
    };
    const { checkout } = await createCheckout(repository, spec);
    await this.#places.leaveTrace(task, checkout);
    return checkout;
  }

  async bringHome(task: Task): Promise<Pulled> {
    const repository = await this.#places.lookAgain(task);
    const known = await this.#places.find(task);
    const branch = known?.branch ?? (await this.#places.traces(task)).at(-1)?.branch;
    if (branch === undefined) throw new ReveilleError('wrong_state', `Task ${task.id} has made nothing yet.`);
    if (known) await importBranch(known);
    const message = (): string => `Merge ${branch}`;
    return await this.#watch.ours(repository, () => bringHome(repository, branch, { message }));
  }

  /** The checkout that a task works in, its own or a shared one, for whoever starts something in it. */
  async checkoutOf(task: Task): Promise<KnownCheckout | null> {
    return await this.#places.find(this.#lending.ownerOf(task));
  }

  /** Worktrees that no task of these has. Told, never deleted. */
  async orphans(tasks: readonly Task[]): Promise<readonly Orphan[]> {
    const found = await Promise.all(
      byRepository(tasks).map(async (some) => {
        const repository = await this.#places.repository(some[0]).catch((error: unknown) => {
          this.#options.log?.('the worktrees of a repository could not be looked at', {
            repository: some[0].repository,
            error: String(error),
          });
        });
        if (!repository) return [];
        const ids = new Set<string>(some.map(({ id }) => id));
        const known = (await listCheckouts(repository)).filter(({ task }) => ids.has(task));
        return await findOrphans(
          repository,
          known.map(({ name }) => name),
        );
      }),
    );
    return found.flat();
  }

  /** Drops the old snapshots of those of these tasks that are over; a repository that is gone has none. */
  async retain(tasks: readonly Task[], now: number): Promise<void> {
    const { settings, log } = this.#options;
    for (const some of byRepository(tasks))
      await retainSnapshots(this.#places, some, { ...settings.snapshots, now }).catch((error: unknown) =>
        log?.('old snapshots could not be dropped', {
          repository: some[0].repository,
          error: String(error),
        }),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.close();
    await Promise.all(this.#removals);
  }
}

/** The branch of a run, as it was just imported. */
interface Seen {
  readonly run: RunId;
  readonly checkout: Checkout;
  readonly tip: string;
}

const SHARED =
  'You work in the worktree of whoever gave you the task, who does not write there until you are done.';

type Some = readonly [Task, ...Task[]];

const byRepository = (tasks: readonly Task[]): Some[] =>
  [...Map.groupBy(tasks, (task) => task.repository)].flatMap(([repository, [first, ...rest]]) =>
    repository === null || !first ? [] : [[first, ...rest] as const],
  );

const leftoversOf = (task: Task) => ({
  author: authorOf(task),
  message: `${task.name}\n\nLeft uncommitted by ${formatAgentType(task.agent)} (${task.id}).`,
});

const authorOf = ({ agent }: Task) => ({
  name: formatAgentType(agent),
  email: `${agent.name}@${agent.backend}.reveille.invalid`,
});
