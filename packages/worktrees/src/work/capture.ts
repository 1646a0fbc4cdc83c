import { constants } from 'node:fs';
import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { orNull } from '../creation/files.ts';
import { isGitName } from '../door/names.ts';
import { copyTree, type FileCopies } from './copy-tree.ts';
import { nestedFiles } from './nested.ts';
import { changesBetween } from './trees.ts';
import type { Scratch } from './scratch.ts';

/** The files of a checkout as they are: what is tracked, and what is not and is not ignored. */
export interface Captured {
  /** In the scratch, until it is entered. */
  readonly tree: string;
  /** What the person should know: repositories within, names git cannot take. */
  readonly notices: readonly string[];
  /** What could not be taken; as long as it is there, the checkout must not be deleted. */
  readonly leftOut: readonly string[];
  /** Our index knows these files from now on. To be called when the tree has entered the person's repository. */
  readonly remember: () => Promise<void>;
}

export interface CaptureOptions {
  /** The commit whose files are tracked. */
  readonly head: string;
  readonly patienceMs?: number | undefined;
  /** Changed files that stay as they are in the commit. */
  readonly skip?: (path: string) => boolean;
}

const PATIENCE_MS = 120_000;
const indexOf = (checkout: Checkout): string => join(checkout.ownGitDir, 'index');

/**
 * Git says which files differ, through an index of ours; their content is read by ourselves and copied aside, and git
 * makes objects of the copies. So nothing that an agent swaps meanwhile, a folder for a link or a file for a pipe, leads
 * git out of the checkout, and no index, attribute command or hook of the agent is ever used.
 */
export async function capture(
  scratch: Scratch,
  checkout: Checkout,
  { head, patienceMs = PATIENCE_MS, skip }: CaptureOptions,
): Promise<Captured> {
  const workTree = checkout.path;
  await orNull(copyFile(indexOf(checkout), scratch.index, constants.COPYFILE_FICLONE));
  // Files that are the same as in the commit keep what is known about them on disk, and are not read again.
  await scratch.git({ args: ['read-tree', '--reset', head] });
  const links = await agentLinks(scratch, checkout, head);
  if (links.length > 0) await removeFromIndex(scratch, links);
  const { changed, notices } = await changedFiles(scratch, checkout, patienceMs);
  const wanted = skip ? changed.filter((path) => !skip(path)) : changed;
  const copies = await copyTree(workTree, wanted, await freshFolder(scratch));
  await updateIndex(scratch, copies);
  const { stdout } = await scratch.git({ args: ['write-tree'] });
  const remember = async (): Promise<void> => {
    if (copies.present.length > 0)
      await scratch.git({ args: ['update-index', '-q', '--refresh'], workTree, accept: [1], patienceMs });
    await copyFile(scratch.index, `${indexOf(checkout)}.new`, constants.COPYFILE_FICLONE);
    await rename(`${indexOf(checkout)}.new`, indexOf(checkout));
  };
  return { tree: stdout.trim(), notices, leftOut: copies.leftOut, remember };
}

/** Links to other repositories that the agent committed, not those its start had: nobody else has what they name. */
async function agentLinks(scratch: Scratch, { start }: Checkout, head: string): Promise<string[]> {
  const changes = await changesBetween(scratch, start, head);
  return changes.filter(({ newMode }) => newMode === '160000').map(({ path }) => path);
}

interface ChangedFiles {
  readonly changed: readonly string[];
  readonly notices: readonly string[];
}

const copiesIn = (scratch: Scratch): string => join(scratch.folder, 'tree');

async function freshFolder(scratch: Scratch): Promise<string> {
  await rm(copiesIn(scratch), { recursive: true, force: true });
  return copiesIn(scratch);
}

async function changedFiles(scratch: Scratch, checkout: Checkout, patienceMs: number): Promise<ChangedFiles> {
  const args = ['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard'];
  const { stdout } = await scratch.bytes({ args, workTree: checkout.path, patienceMs });
  const listed = new Set(stdout.toString('latin1').split('\0'));
  listed.delete('');
  const nested = [...listed].filter((path) => path.endsWith('/'));
  for (const path of nested) listed.delete(path);
  const within = await nestedFiles(scratch, { checkout, folders: nested, patienceMs });
  const notices = [...within.notices];
  const changed: string[] = [];
  for (const path of [...listed, ...within.files]) {
    if (path.split('/').some((name) => isGitName(Buffer.from(name, 'latin1').toString('utf8'))))
      notices.push(`${show(path)} has a name that git does not take; it is not in the commit.`);
    else changed.push(path);
  }
  return { changed, notices };
}

const show = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');

/** Paths are the bytes of file names, one character each: a name need not be text. */
const pathList = (paths: readonly string[]): Buffer =>
  Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');

async function updateIndex(scratch: Scratch, { present, absent, folders }: FileCopies): Promise<void> {
  const submodules = await submodulesAmong(scratch, folders);
  const gone = [...absent, ...folders.filter((path) => !submodules.has(path))];
  if (gone.length > 0) await removeFromIndex(scratch, gone);
  if (present.length === 0) return;
  const workTree = copiesIn(scratch);
  await scratch.git({
    args: ['update-index', '-z', '--add', '--replace', '--stdin'],
    input: pathList(present),
    workTree,
  });
}

/** The person's own submodules stay what they are; what an agent did inside them is theirs to commit. */
async function submodulesAmong(scratch: Scratch, paths: readonly string[]): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const { stdout } = await scratch.bytes({ args: ['ls-files', '-z', '-s'], workTree: scratch.folder });
  const entries = stdout.toString('latin1').split('\0');
  return new Set(
    entries
      .filter((entry) => entry.startsWith('160000 '))
      .map((entry) => entry.slice(entry.indexOf('\t') + 1)),
  );
}

async function removeFromIndex(scratch: Scratch, paths: readonly string[]): Promise<void> {
  await scratch.git({
    args: ['update-index', '-z', '--force-remove', '--stdin'],
    input: pathList(paths),
    // Never looked at, but git wants one.
    workTree: scratch.folder,
  });
}
