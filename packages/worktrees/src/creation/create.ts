import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { GitError } from '../git/git.ts';
import type { FoundRepository } from '../repository.ts';
import { makeAgentGit, makeOwnGitDir, type Author } from './agent-git.ts';
import type { Claim } from './claimed.ts';
import { claimName, undoClaim } from './claim.ts';
import { workspaceError } from './failures.ts';
import { openHome, checkHome } from './home.ts';
import { copyIgnored } from './ignored.ts';
import { ownGitDirOf, roomOf, treeOf } from './layout.ts';
import { ignoredIn } from './look.ts';
import type { NameParts } from './names.ts';
import { noticesAbout } from './notices.ts';
import { fetchMissing } from './partial.ts';
import { portEnvironment, reservePorts } from './ports.ts';
import { checkoutOf, writeRecord, type CheckoutRecord } from './record.ts';
import type { WorktreeSettings } from './settings.ts';
import { rememberSetup, setUpAndTell, type SetupRunner } from './setup.ts';
import { openStage, type Stage } from './stage.ts';
import type { Start } from './start.ts';
import { deleteFolder } from './trash.ts';
import { fillTree } from './ways.ts';

export interface CheckoutSpec extends NameParts {
  /** What `resolveStart` answered, or just a commit. */
  readonly start: Pick<Start, 'commit'> & Partial<Start>;
  readonly author: Author;
  readonly settings: WorktreeSettings;
  /** Its agent only reads: it is not given `.env` files. */
  readonly readOnly?: boolean | undefined;
  /** Throws if its files are not those of the commit. */
  readonly confirm?: (checkout: Checkout) => Promise<void>;
  /** Runs the set-up command; needed if the settings name one. */
  readonly runSetup?: SetupRunner;
  readonly onSetupOutput?: (text: string) => void;
  readonly signal?: AbortSignal;
}

export interface CreatedCheckout {
  readonly checkout: Checkout;
  /** What the agent's process is to find in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What its agent, and the person, should know. */
  readonly notices: readonly string[];
}

/**
 * Makes a worktree for a task. It is built in a stage and moved to its place; the record that makes it one is written
 * last. Whatever goes wrong before that, and whenever the process dies, nothing is left behind that is not taken away
 * at once or at the next start.
 */
export async function createCheckout(
  repository: FoundRepository,
  spec: CheckoutSpec,
): Promise<CreatedCheckout> {
  const doing = `Making the worktree of ${spec.task.slice(0, 100) || spec.id}`;
  try {
    await openHome(repository);
    using stage = await openStage(repository);
    const created = await build(repository, spec, stage).catch(async (error: unknown) => {
      throw await takenBack(repository, stage, workspaceError(doing, error, spec.signal));
    });
    // What resists is swept at the next start: the worktree is made.
    await rm(stage.path, { recursive: true, force: true }).catch(() => undefined);
    return created;
  } catch (error) {
    throw workspaceError(doing, error, spec.signal);
  }
}

/** Answers with the error to throw: what stopped it, or also what keeps it from being taken back. */
async function takenBack(repository: FoundRepository, stage: Stage, error: unknown): Promise<unknown> {
  try {
    // First of all: the disk may be full.
    await deleteFolder(stage.tree);
    await undoClaim(repository, stage);
    await deleteFolder(stage.path);
    return error;
  } catch (left) {
    const words = [error, left].map((each) => (each instanceof Error ? each.message : String(each)));
    return new ReveilleError(
      'workspace_failed',
      `${words[0]} What was begun is taken back at the next start; now it could not be: ${words[1]}`,
      { cause: error, data: { left: stage.path } },
    );
  }
}

async function build(
  repository: FoundRepository,
  spec: CheckoutSpec,
  stage: Stage,
): Promise<CreatedCheckout> {
  const { settings, signal, start } = spec;
  const { kind, notice } = kindFor(repository, settings.kind);
  await fetchMissing(repository, start.commit, signal);
  const claim = await claimName(repository, stage, {
    parts: spec,
    prefix: settings.branchPrefix,
    kind,
    start: start.commit,
    signal,
  });
  await makeOwnGitDir(repository, claim);
  const ownGitDir = ownGitDirOf(roomOf(repository, claim.name));
  const filling = {
    repository,
    stage,
    ownGitDir,
    indexFile: join(ownGitDir, 'index'),
    commit: start.commit,
    signal,
  };
  const [filled, ignored, notices] = await together([
    fillTree(filling),
    start.look ? Promise.resolve(start.look.ignored) : lookForIgnored(repository, signal),
    noticesAbout(repository, start.commit),
  ]);
  const copied = ignored
    ? await copyIgnored({ repository, stage, ownGitDir, settings, ignored, readOnly: spec.readOnly ?? false })
    : ['Ignored files were not copied: git could not look at the checkout of the repository.'];
  await makeAgentGit({ repository, stage, claim, author: spec.author, from: start });
  if (filled.setupKey !== null) await rememberSetup(roomOf(repository, claim.name), filled.setupKey);
  const record = recordFor(spec, claim, await reservePorts(repository, claim.name, settings.ports));
  const checkout = checkoutOf(repository, record);
  await rename(stage.tree, treeOf(repository, claim.name));
  // A set-up command that ran ahead, in the pool, may have changed files of the commit.
  if (!settings.setup) await spec.confirm?.(checkout);
  const prepared = await setUp(checkout, spec, record);
  signal?.throwIfAborted();
  // Whatever was swapped meanwhile, no worktree counts that is not in a home of ours.
  await checkHome(repository);
  await writeRecord(checkout.room, record);
  return {
    checkout,
    environment: record.environment,
    notices: [...notice, ...notices, ...copied, ...prepared],
  };
}

/** Null if git cannot: the worktree does not need it. */
async function lookForIgnored(
  repository: FoundRepository,
  signal?: AbortSignal,
): Promise<readonly string[] | null> {
  return await ignoredIn(repository, signal).catch((error: unknown) => {
    if (error instanceof GitError) return null;
    throw error;
  });
}

/** All of them, and none is still at work when one has failed: what it writes to is about to be taken away. */
async function together<A, B, C>(work: readonly [Promise<A>, Promise<B>, Promise<C>]): Promise<[A, B, C]> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

/** Where the kind that is wanted cannot serve, the other does, and it is said. */
function kindFor(
  { traits }: FoundRepository,
  wanted: Checkout['kind'],
): { kind: Checkout['kind']; notice: string[] } {
  if (wanted === 'clone' && traits.promisor !== null)
    return {
      kind: 'linked',
      notice: ['This is a partial clone, whose objects cannot be shared: the worktree is a linked one.'],
    };
  if (wanted === 'linked' && traits.reftable)
    return {
      kind: 'clone',
      notice: [
        'This repository keeps its refs in a reftable: the worktree is a clone that shares its objects.',
      ],
    };
  return { kind: wanted, notice: [] };
}

async function setUp(
  checkout: Checkout,
  spec: CheckoutSpec,
  { environment }: CheckoutRecord,
): Promise<string[]> {
  const { setup } = spec.settings;
  if (!setup) return [];
  if (!spec.runSetup)
    throw new ReveilleError(
      'workspace_failed',
      'The settings name a set-up command, and nothing was given to run it.',
    );
  return await setUpAndTell(checkout, {
    setup,
    run: spec.runSetup,
    environment,
    signal: spec.signal,
    onOutput: spec.onSetupOutput,
  });
}

function recordFor(spec: CheckoutSpec, claim: Claim, ports: readonly number[]): CheckoutRecord {
  const { author } = spec;
  return {
    version: 1,
    name: claim.name,
    kind: claim.kind,
    branch: claim.branch,
    start: claim.start,
    task: spec.id,
    createdAt: Date.now(),
    environment: {
      ...portEnvironment(ports),
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_COMMITTER_NAME: author.name,
      GIT_COMMITTER_EMAIL: author.email,
    },
  };
}
