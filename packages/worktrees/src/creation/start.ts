import { constants } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError, uncommittedWords, type DirtyPolicy } from '@reveille/protocol';
import { git, type GitCall } from '../git/git.ts';
import type { FoundRepository } from '../repository.ts';
import { workspaceError } from './failures.ts';
import { orNull } from './files.ts';
import { LOOK_MS, lookAtCheckout, type Look } from './look.ts';
import { isRefName } from './names.ts';
import { openStage } from './stage.ts';

export interface Start {
  readonly commit: string;
  /** The branch it was taken from, if any, and where that stands. */
  readonly branch: string | null;
  readonly branchCommit?: string | undefined;
  /** What the look at the person's checkout found, so that it need not be looked at twice. */
  readonly look?: Look | undefined;
}

interface StartSpec {
  /** Null: where the person's checkout stands. */
  readonly branch?: string | null;
  /** Only what starts from the person's checkout is a matter of it: a branch that is named has no uncommitted changes. */
  readonly dirty: DirtyPolicy;
  readonly signal?: AbortSignal | undefined;
}

const NAMED_FILES = 20;
const NAMED_LENGTH = 100;

/** The commit a task starts from. */
export async function resolveStart(repository: FoundRepository, spec: StartSpec): Promise<Start> {
  const branch = spec.branch ?? null;
  if (branch !== null) return await startOfBranch(repository, branch);
  const commit = await commitOf(repository, 'HEAD');
  if (commit === null) throw gone(repository, 'HEAD');
  const start = { commit, branch: await headBranch(repository), branchCommit: commit };
  if (spec.dirty === 'head') return start;
  const { look, files } = await findUncommitted(repository, spec.dirty, spec.signal);
  if (files.length === 0) return { ...start, look };
  return { ...start, commit: await snapshot(repository, commit, spec.signal), look };
}

/** What is uncommitted, or an error that names it where the policy does not pass it over. */
export async function findUncommitted(
  repository: FoundRepository,
  policy: DirtyPolicy,
  signal?: AbortSignal,
): Promise<{ readonly look: Look; readonly files: readonly string[] }> {
  const look = await lookAtCheckout(repository, signal);
  // Plans and settings of ours are written between two runs: no task is about them.
  const files = look.dirty.filter((path) => !path.startsWith('.reveille/'));
  if (policy === 'fail' && files.length > 0) {
    const advice = 'Commit or stash them, or run with --dirty head or --dirty snapshot.';
    throw dirty(repository, files, `. ${advice}`);
  }
  if (policy === 'snapshot' && look.unmerged.length > 0) {
    const advice = 'Finish or abort the merge, or run with --dirty head.';
    throw dirty(repository, look.unmerged, `, in the middle of a merge. ${advice}`);
  }
  return { look, files };
}

async function startOfBranch(repository: FoundRepository, branch: string): Promise<Start> {
  if (!isRefName(branch)) throw gone(repository, branch);
  for (const ref of [
    `refs/heads/${branch}`,
    `refs/remotes/${branch}`,
    `refs/remotes/origin/${branch}`,
    `refs/tags/${branch}`,
  ]) {
    const commit = await commitOf(repository, ref);
    if (commit !== null) return { commit, branch, branchCommit: commit };
  }
  throw gone(repository, branch);
}

async function commitOf(repository: FoundRepository, ref: string): Promise<string | null> {
  const found = await git({
    gitDir: repository.headDir,
    args: ['rev-parse', '-q', '--verify', '--end-of-options', `${ref}^{commit}`],
    accept: [1, 128],
  });
  return found.code === 0 ? found.stdout.trim() : null;
}

async function headBranch(repository: FoundRepository): Promise<string | null> {
  const head = await git({
    gitDir: repository.headDir,
    args: ['symbolic-ref', '-q', 'HEAD'],
    accept: [1],
  });
  return /^refs\/heads\/(.+)\n$/.exec(head.stdout)?.[1] ?? null;
}

/**
 * A commit of the checkout as it is: tracked and untracked, not what is ignored. It is made through a copy of the
 * index, so that the person's index, files and refs stay as they are; only objects are added.
 */
export async function snapshot(
  repository: FoundRepository,
  parent: string,
  signal?: AbortSignal,
): Promise<string> {
  try {
    using stage = await openStage(repository);
    try {
      const indexFile = join(stage.path, 'index');
      await orNull(copyFile(join(repository.headDir, 'index'), indexFile, constants.COPYFILE_FICLONE));
      const call = {
        gitDir: repository.headDir,
        workTree: repository.root,
        indexFile,
        asPerson: true,
        patienceMs: LOOK_MS,
        ...(signal ? { signal } : {}),
      };
      await git({ ...call, args: [...ADD_SETTINGS, 'add', '--all', '--', '.'] });
      const tree = (await git({ ...call, args: ['write-tree'] })).stdout.trim();
      return await commitTree(call, { tree, parent, person: repository.traits.person });
    } finally {
      await rm(stage.path, { recursive: true, force: true });
    }
  } catch (error) {
    throw workspaceError(`Making a snapshot of ${repository.root}`, error, signal);
  }
}

/** The message of a commit that holds the person's uncommitted changes. */
export const SNAPSHOT = 'The checkout as it was, uncommitted changes included';

// An index split in two would be written in part to the person's git directory.
const ADD_SETTINGS = ['-c', 'core.splitIndex=false', '-c', 'advice.addEmbeddedRepo=false'];

async function commitTree(
  call: Omit<GitCall, 'args'>,
  { tree, parent, person }: { tree: string; parent: string; person: { name: string; email: string } | null },
): Promise<string> {
  const { name, email } = person ?? { name: 'Reveille', email: 'reveille@localhost' };
  const made = await git({
    ...call,
    args: ['commit-tree', tree, '-p', parent],
    input: `${SNAPSHOT}\n`,
    env: {
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
    },
  });
  return made.stdout.trim();
}

/** The first of them, none too long to be read. */
export const shownFiles = (files: readonly string[]): string[] =>
  files
    .slice(0, NAMED_FILES)
    .map((path) => (path.length > NAMED_LENGTH ? `${path.slice(0, NAMED_LENGTH)}…` : path));

function dirty(repository: FoundRepository, all: readonly string[], words: string): ReveilleError {
  const files = shownFiles(all);
  return new ReveilleError('dirty_checkout', `${uncommittedWords(files, all.length)}${words}`, {
    data: { repository: repository.root, files, count: all.length },
  });
}

const gone = (repository: FoundRepository, branch: string): ReveilleError =>
  new ReveilleError('not_found', `The repository ${repository.root} has no branch ${branch}.`, {
    data: { branch },
  });
