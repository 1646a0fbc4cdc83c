import { lstatSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Conflict } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { codeOf } from '../creation/failures.ts';
import { readJson, writeWhole } from '../creation/files.ts';
import type { Directory } from '../door/directory.ts';
import { openFolder } from './agent-files.ts';
import { commitAt, updateRefs } from './refs.ts';
import {
  keepAt,
  makeFolderAt,
  printOf,
  pruneAbove,
  putAt,
  removeAt,
  removeEmpty,
  spotAt,
  type Spot,
} from './tree-hands.ts';

/** What happens to one path of a tree. */
export interface TreeChange {
  readonly path: string;
  /** Something is there before. */
  readonly had: boolean;
  /** Something is there afterwards: what lies under that path in `staged`. */
  readonly puts: boolean;
}

/** Folders of links to other repositories: empty where nobody has them checked out. */
export interface LinkFolders {
  readonly come: readonly string[];
  readonly go: readonly string[];
}

export interface LayPlan {
  /** A scratch's folder, for the journal and for what is replaced. */
  readonly folder: string;
  readonly root: string;
  readonly staged: string;
  readonly changes: readonly TreeChange[];
  readonly links: LinkFolders;
  /** It is done for good when this ref moves, with `concludeLaying`. Without, when `endLaying` is called. */
  readonly until?: Until;
}

export interface Until {
  readonly ref: string;
  readonly from: string | null;
  readonly to: string;
  /** For its log. */
  readonly why: string;
}

interface Laying {
  readonly root: string;
  readonly until: Until | null;
  /** `print`: what is put there, so that it is known again; null where a file goes. */
  readonly changes: readonly {
    readonly path: string;
    readonly had: boolean;
    readonly print: string | null;
  }[];
  /** Folders that were not there, or in whose place a file or a link was. */
  readonly made: readonly string[];
  /** Folders of links to other repositories that go. A journal of an earlier version has none. */
  readonly gone?: readonly string[];
}

const BATCH = 50;
const journalIn = (folder: string): string => join(folder, 'laying.json');
export const FENCES = 'refs/reveille/fence/';
/**
 * A ref that is deleted in the transaction that concludes a laying. A git that was asked for it and outlived us may do it
 * later than we look; without its fence it cannot.
 */
const fenceOf = (folder: string): string => `${FENCES}${basename(folder)}`;
const oldIn = (folder: string, i: number): string => join(folder, 'old', String(i));

/**
 * Changes files of a tree, all or none. Each is replaced by a rename, and what was there is kept until the end. A file
 * that git does not know and that is in the way is a conflict, and then everything is as it was; so it is after a
 * crash, by whoever settles the scratch. Empty: all is laid.
 */
export async function lay(repository: Repository, plan: LayPlan): Promise<readonly Conflict[]> {
  using root = openFolder(plan.root);
  const { folder, changes, links, until } = plan;
  await mkdir(join(folder, 'old'), { recursive: true });
  const laying = prepare(root, plan);
  await writeWhole(journalIn(folder), JSON.stringify(laying));
  try {
    if (until) await updateRefs(repository, [{ ref: fenceOf(folder), to: until.to, from: null }], 'fence');
    for (const [i, change] of changes.entries())
      if (!change.puts) await takeAway(root, folder, i, change.path);
    for (const { path, puts } of changes) if (!puts) pruneAbove(root, path);
    for (const path of links.go) removeLinkFolder(root, path);
    for (const [i, change] of changes.entries()) {
      if (i % BATCH === BATCH - 1) await setImmediate();
      if (change.puts) await put(root, plan, i, change);
    }
    for (const path of links.come) makeLinkFolder(root, path);
    return [];
  } catch (error) {
    await settleLaying(repository, folder);
    if (error instanceof InTheWay) return [{ path: error.path, why: error.message }];
    throw error;
  }
}

export const endLaying = async (folder: string): Promise<void> =>
  await rm(journalIn(folder), { force: true });

/** Moves the ref that makes it final. False if the ref stands elsewhere by now. */
export async function concludeLaying(repository: Repository, folder: string, until: Until): Promise<boolean> {
  const fence = { ref: fenceOf(folder), to: null, from: until.to };
  if (!(await updateRefs(repository, [until, fence], until.why))) return false;
  await endLaying(folder);
  return true;
}

/** Finishes or undoes what was being laid here. */
export async function settleLaying(repository: Repository, folder: string): Promise<void> {
  // Ours, written whole or not at all.
  const laying = (await readJson(journalIn(folder))) as Laying | null;
  if (!laying) return;
  if (!laying.until || !(await isConcluded(repository, folder, laying.until))) {
    using root = openIfThere(laying.root);
    if (root) await undo(root, folder, laying);
  }
  await endLaying(folder);
}

async function isConcluded(repository: Repository, folder: string, { ref, to }: Until): Promise<boolean> {
  const fenced = await updateRefs(repository, [{ ref: fenceOf(folder), to: null, from: to }], 'given up');
  return !fenced && (await commitAt(repository, ref)) === to;
}

/** The tree may be gone since; then there is nothing to undo. */
function openIfThere(path: string): Directory | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ? openFolder(path) : null;
}

class InTheWay extends Error {
  override readonly name = 'InTheWay';
  readonly path: string;

  constructor(path: string, why: string) {
    super(why);
    this.path = path;
  }
}

function prepare(root: Directory, { root: rootPath, staged, changes, links, until }: LayPlan): Laying {
  using stage = openFolder(staged);
  const made = new Set<string>();
  for (const path of links.come) for (const folder of missingAbove(root, `${path}/`)) made.add(folder);
  const prints = changes.map(({ path, had, puts }) => {
    if (puts) for (const folder of missingAbove(root, path)) made.add(folder);
    if (!puts) return { path, had, print: null };
    using spot = spotAt(stage, path);
    const print = spot && printOf(spot);
    if (print === null) throw new Error(`${path} was not staged.`);
    return { path, had, print };
  });
  return { root: rootPath, until: until ?? null, changes: prints, made: [...made], gone: links.go };
}

/** The folders that a path is in, the outermost first. */
export const foldersAbove = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, i, parts) => parts.slice(0, i + 1).join('/'));

function missingAbove(root: Directory, path: string): string[] {
  // A file in the place of one goes before, and comes back only where the folder is gone.
  return foldersAbove(path).filter((folder) => {
    using spot = spotOrNull(root, folder);
    return !spot || printOf(spot) !== 'folder';
  });
}

async function takeAway(root: Directory, folder: string, i: number, path: string): Promise<void> {
  using spot = spotOrNull(root, path);
  const print = spot && printOf(spot);
  if (!spot || print === null) throw new InTheWay(path, 'it was removed meanwhile');
  if (print === 'folder' || print === 'special') throw new InTheWay(path, 'it is no file any more');
  await keepAt(spot, oldIn(folder, i));
  removeAt(spot);
}

async function put(root: Directory, plan: LayPlan, i: number, { path, had }: TreeChange): Promise<void> {
  using spot = spotOrNull(root, path, true);
  if (!spot) throw new InTheWay(path, 'a file or a link is where its folder should be');
  const there = printOf(spot);
  if (there === 'folder' && !removeEmpty(spot))
    throw new InTheWay(path, 'a folder with other files is in its place');
  if (there !== null && there !== 'folder') {
    if (!had) throw new InTheWay(path, 'a file that git ignores is in its place');
    if (there === 'special') throw new InTheWay(path, 'it is no file any more');
    await keepAt(spot, oldIn(plan.folder, i));
  }
  await putAt(spot, join(plan.staged, path));
}

/** One with a repository in it is the person's or the agent's, and stays as git leaves it. */
function removeLinkFolder(root: Directory, path: string): void {
  using spot = spotOrNull(root, path);
  if (spot && printOf(spot) === 'folder' && removeEmpty(spot)) pruneAbove(root, path);
}

function makeLinkFolder(root: Directory, path: string): void {
  using spot = spotOrNull(root, path, true);
  if (!spot) throw new InTheWay(path, 'a file or a link is where its folder should be');
  const there = printOf(spot);
  if (there === null) makeFolderAt(spot);
  else if (there !== 'folder')
    throw new InTheWay(path, 'a file is where the folder of a submodule should be');
}

function spotOrNull(root: Directory, path: string, make = false): Spot | null {
  try {
    return spotAt(root, path, make);
  } catch (error) {
    if (['ENOTDIR', 'ELOOP', 'EEXIST', 'ENAMETOOLONG'].includes(codeOf(error))) return null;
    throw error;
  }
}

/** What somebody changed since is left alone: it is neither what was there nor what we put there. */
async function undo(root: Directory, folder: string, { changes, made, gone = [] }: Laying): Promise<void> {
  for (const [i, { path, print }] of [...changes.entries()].toReversed()) {
    if (print === null) continue;
    using spot = spotOrNull(root, path);
    if (!spot || printOf(spot) !== print) continue;
    if (wasKept(folder, i)) await putAt(spot, oldIn(folder, i));
    else if (!changes[i]?.had) removeAt(spot);
  }
  for (const path of made.toSorted((a, b) => b.length - a.length)) {
    using spot = spotOrNull(root, path);
    if (spot) removeEmpty(spot);
  }
  for (const [i, { path, print }] of changes.entries()) {
    if (print !== null || !wasKept(folder, i)) continue;
    using spot = spotOrNull(root, path, true);
    if (spot && printOf(spot) === null) await putAt(spot, oldIn(folder, i));
  }
  for (const path of gone) {
    using spot = spotOrNull(root, path, true);
    if (spot && printOf(spot) === null) makeFolderAt(spot);
  }
}

const wasKept = (folder: string, i: number): boolean =>
  lstatSync(oldIn(folder, i), { throwIfNoEntry: false }) !== undefined;
