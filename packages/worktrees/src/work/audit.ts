import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orNull } from '../creation/files.ts';
import { git } from '../git/git.ts';
import { readSettings } from './audit-settings.ts';
import type { HomeRepository } from './home.ts';
import { copyIndex } from './index-file.ts';
import { readRefs } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withRepository } from './scratch.ts';

/** What no run may change, as it was. Can be stored as JSON. */
export interface Baseline {
  /** Files of the git directory that make git run or look somewhere, and HEAD. */
  readonly settings: Readonly<Record<string, string>>;
  /** Branches and stash of the person, not ours. */
  readonly refs: Readonly<Record<string, string>>;
  /** What is staged. */
  readonly index: string;
  /** Files that are not as in the index: changed, deleted, untracked. */
  readonly files: Readonly<Record<string, string>>;
}

export interface AuditChange {
  readonly kind: 'setting' | 'ref' | 'index' | 'file';
  /** A path in the checkout or its git directory, or a ref. */
  readonly path: string;
  readonly what: 'added' | 'changed' | 'removed';
}

export interface AuditOptions {
  /** What our branches begin with; `reveille/` unless told. */
  readonly branchPrefix?: string;
}

/** What the person's checkout and its repository look like now. Changes nothing, not even what git knows of its files. */
export async function baseline(repository: HomeRepository, options: AuditOptions = {}): Promise<Baseline> {
  return await withRepository(repository, 'audit', async (scratch) => ({
    settings: readSettings(repository),
    refs: await personalRefs(repository, options),
    index: await stagedContent(repository),
    files: await strayFiles(scratch, repository),
  }));
}

/**
 * What is not as it was. Settings come first, and if one of them changed nothing else is looked at: git would follow
 * them. The person's own work shows here as well; whoever asks knows what they did.
 */
export async function compare(
  repository: HomeRepository,
  before: Baseline,
  options: AuditOptions = {},
): Promise<readonly AuditChange[]> {
  const settings = differences('setting', before.settings, readSettings(repository));
  if (settings.length > 0) return settings;
  const now = await baseline(repository, options);
  const index: AuditChange[] =
    now.index === before.index ? [] : [{ kind: 'index', path: '.git/index', what: 'changed' }];
  return [
    ...differences('ref', before.refs, now.refs),
    ...index,
    ...fileDifferences(repository.root, before.files, now.files),
  ];
}

type Prints = Readonly<Record<string, string>>;

function differences(kind: AuditChange['kind'], before: Prints, now: Prints): AuditChange[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])].toSorted();
  return paths
    .filter((path) => before[path] !== now[path])
    .map((path) => ({ kind, path, what: whatHappened(before[path], now[path]) }));
}

function whatHappened(before: string | undefined, now: string | undefined): AuditChange['what'] {
  if (now === undefined) return 'removed';
  return before === undefined ? 'added' : 'changed';
}

/** A list of what is not clean: what came into it was clean or not there, what left it is clean or gone. */
function fileDifferences(root: string, before: Prints, now: Prints): AuditChange[] {
  return differences('file', before, now).map((change) => {
    const { path } = change;
    if (!lstatSync(join(root, path), { throwIfNoEntry: false })) return { ...change, what: 'removed' };
    const isNew = before[path] === undefined && (now[path] ?? '').startsWith('new ');
    return { ...change, what: isNew ? 'added' : 'changed' };
  });
}

async function personalRefs(
  repository: HomeRepository,
  { branchPrefix = 'reveille/' }: AuditOptions,
): Promise<Prints> {
  const refs = await readRefs(repository, ['refs/heads/', 'refs/stash', 'refs/replace/']);
  return Object.fromEntries([...refs].filter(([ref]) => !ref.startsWith(`refs/heads/${branchPrefix}`)));
}

const headDirOf = ({ headDir, gitDir }: HomeRepository): string => headDir ?? gitDir;

/** Not the bytes of the file: git writes those anew whenever it has looked at the tree. */
async function stagedContent(repository: HomeRepository): Promise<string> {
  const { stdout } = await git({
    gitDir: headDirOf(repository),
    args: ['ls-files', '-z', '-s'],
    workTree: repository.root,
  });
  return createHash('sha256').update(stdout).digest('hex');
}

/** With our own git directory: no filter of anybody's config is run on a file that somebody may have planted. */
async function strayFiles(scratch: Scratch, repository: HomeRepository): Promise<Prints> {
  const headDir = headDirOf(repository);
  for (const name of (await readdir(headDir)).filter((file) => file.startsWith('sharedindex.')))
    await copyFile(join(headDir, name), join(scratch.gitDir, name));
  await orNull(copyIndex(join(headDir, 'index'), scratch.index));
  const exclude = join(repository.gitDir, 'info', 'exclude');
  const { stdout } = await scratch.git({
    args: [
      '-c',
      `core.excludesFile=${exclude}`,
      'ls-files',
      '-z',
      '-t',
      '-m',
      '-d',
      '-o',
      '--exclude-standard',
    ],
    workTree: repository.root,
  });
  const entries = stdout.split('\0').filter((entry) => entry !== '');
  return Object.fromEntries(
    entries.map((entry) => {
      const path = entry.slice(2);
      return [path, `${entry.startsWith('?') ? 'new' : 'known'} ${statPrint(join(repository.root, path))}`];
    }),
  );
}

/** What changes with every change: nobody can set the ctime. */
function statPrint(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return stats ? [stats.mode, stats.size, stats.ino, stats.mtimeNs, stats.ctimeNs].join(' ') : 'gone';
}
