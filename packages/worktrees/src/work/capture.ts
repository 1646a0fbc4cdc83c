import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { isGitName } from '../door/names.ts';
import { copyTree } from './copy-tree.ts';
import { nestedFiles } from './nested.ts';
import type { Scratch } from './scratch-place.ts';
import { alsoTracked, inventedLinks } from './tracked.ts';
import { TreeIndex } from './tree-index.ts';
import { isUnfinished, removeUnfinished } from './unfinished.ts';

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
  /** The commit the files are judged against. */
  readonly base: string;
  /** The commit the agent stands on, if it is another. */
  readonly head?: string;
  /** Trees whose files are tracked besides, where they are there. */
  readonly names?: readonly string[];
  /** Commits that were laid just now, and that no ref names yet. */
  readonly laid?: readonly string[];
  readonly patienceMs?: number | undefined;
  /** Changed files that stay as they are in the commit. */
  readonly skip?: (path: string) => boolean;
}

const PATIENCE_MS = 120_000;

/**
 * Git says which files differ, through an index of ours; their content is read by ourselves and copied aside, and git
 * makes objects of the copies. So nothing that an agent swaps meanwhile, a folder for a link or a file for a pipe, leads
 * git out of the checkout, and no index, attribute command or hook of the agent is ever used.
 */
export async function capture(
  scratch: Scratch,
  checkout: Checkout,
  { base, head = base, names = [], laid = [], patienceMs = PATIENCE_MS, skip }: CaptureOptions,
): Promise<Captured> {
  const index = new TreeIndex(scratch, checkout, patienceMs);
  await index.begin(base);
  // Nobody else has what they name: their files are taken instead.
  await index.remove(await inventedLinks(scratch, checkout, base));
  const tracked = await alsoTracked(scratch, checkout, { base, head, names, laid });
  // As long as a link is there, git does not look for files in its folder.
  const gone = [...tracked.links].flatMap(([path, oid]) => (oid === null ? [path] : []));
  await index.remove([...tracked.untracked, ...gone]);
  const listed = [...new Set([...(await index.changed()), ...tracked.paths])];
  const sorted = await sortOut(listed, { scratch, checkout, patienceMs });
  const [changed, notices] = [sorted.changed, [...sorted.notices]];
  const wanted = skip ? changed.filter((path) => !skip(path)) : changed;
  const copies = join(scratch.folder, 'tree');
  await rm(copies, { recursive: true, force: true });
  const copied = await copyTree(checkout.path, wanted, copies);
  const submodules = await index.take(copied, copies);
  notices.push(...submodules.filter((path) => !tracked.links.has(path)).map(notTaken));
  await index.link(tracked.links);
  const remember = async (): Promise<void> => await index.keep();
  return { tree: await index.writeTree(), notices, leftOut: copied.leftOut, remember };
}

interface ChangedFiles {
  readonly changed: readonly string[];
  readonly notices: readonly string[];
}

interface Place {
  readonly scratch: Scratch;
  readonly checkout: Checkout;
  readonly patienceMs: number;
}

async function sortOut(listed: readonly string[], place: Place): Promise<ChangedFiles> {
  const folders = listed.filter((path) => path.endsWith('/'));
  const within = await nestedFiles(place.scratch, { ...place, folders });
  const notices = [...within.notices];
  const changed: string[] = [];
  const all = [...listed.filter((file) => !file.endsWith('/')), ...within.files];
  removeUnfinished(place.checkout.path, all.filter(isUnfinished).map(show));
  for (const path of all) {
    if (isUnfinished(path)) continue;
    if (path.split('/').some((name) => isGitName(show(name))))
      notices.push(`${show(path)} has a name that git does not take; it is not in the commit.`);
    else changed.push(path);
  }
  return { changed, notices };
}

const notTaken = (path: string): string =>
  `${show(path)} is a submodule in which another commit is checked out. That is not in the work: commit it with "git add ${show(path)}".`;

const show = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');
