import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, mkdtemp, readlink, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { git } from '../git/git.ts';
import { INCLUDE_FILE, readInclude } from '../repository/include.ts';
import type { FoundRepository } from '../repository.ts';
import { codeOf } from './failures.ts';
import { orNull } from './files.ts';
import { ignoredIn } from './look.ts';
import type { WorktreeSettings } from './settings.ts';
import type { Stage } from './stage.ts';

/** What agents need, and git ignores, in most repositories. One that only reads runs nothing that needs `.env`. */
const ALWAYS = ['.claude'];
const FOR_WRITERS = ['.env*'];
/** Bounds a look into folders that are ignored as a whole. */
const MOST_FILES = 10_000;

interface Copying {
  readonly repository: FoundRepository;
  readonly stage: Stage;
  readonly ownGitDir: string;
  readonly settings: Pick<WorktreeSettings, 'copy' | 'copyLimit' | 'include'>;
  readonly readOnly: boolean;
  /** What is ignored in the person's checkout; a folder that is as a whole ends in a slash. */
  readonly ignored: readonly string[];
}

/**
 * Copies what the patterns name and git ignores, in the person's checkout and in the new tree both: what only one of
 * them ignores could end up in a commit. Answers with what the person should know.
 */
export async function copyIgnored(copying: Copying): Promise<string[]> {
  const { repository, stage, ignored, settings } = copying;
  const ignoring = await untrustedNotice(repository.root, settings.include);
  const patterns = patternsOf(copying);
  const scratch = join(stage.path, 'patterns');
  const files = await matchingFiles({ root: repository.root, scratch, patterns, ignored });
  if (files.length === 0) return ignoring;
  const { inside, beyond } = await withoutBeyond(copying.stage.tree, files);
  const { safe, notIgnored } = await ignoredInTree(copying, inside);
  const notices = [...ignoring, ...(await copyAll(copying, safe, beyond))];
  if (notIgnored.length > 0)
    notices.push(
      `Not copied, because the commit the task starts from does not ignore them: ${list(notIgnored)}.`,
    );
  return notices;
}

const patternsOf = ({ settings, readOnly }: Copying): string[] => [
  ...ALWAYS,
  ...(readOnly ? [] : FOR_WRITERS),
  ...patternsIn(settings.include ?? ''),
  ...settings.copy,
];

const patternsIn = (text: string): string[] => text.split(/\r?\n/).filter((line) => /^[^#\s]/.test(line));

/** Patterns that came with the repository count only as the person has trusted them (BND5). */
async function untrustedNotice(root: string, trusted: string | null): Promise<string[]> {
  const text = await readInclude(root);
  if (text === null || text === trusted) return [];
  return [
    `Nothing was copied for ${INCLUDE_FILE}: the person has not trusted it as it is now (reveille init in ${root}).`,
  ];
}

interface PatternSearch {
  readonly root: string;
  /** A folder that is not there yet. */
  readonly scratch: string;
  readonly patterns: readonly string[];
  readonly ignored: readonly string[];
}

/** The files among those that are ignored that the patterns name. */
async function matchingFiles({ root, scratch, patterns, ignored }: PatternSearch): Promise<string[]> {
  const candidates = await withContents(root, ignored, patterns);
  if (candidates.length === 0) return [];
  return await filesOf(root, await matching(scratch, patterns, candidates));
}

/** What the patterns of a `.worktreeinclude` would have copied now, for the person to see before they trust them. */
export async function filesNamedBy(repository: FoundRepository, text: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'reveille-include-'));
  try {
    const ignored = await ignoredIn(repository);
    const scratch = join(folder, 'patterns');
    return await matchingFiles({ root: repository.root, scratch, patterns: patternsIn(text), ignored });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * An ignored folder is one candidate. Only where a pattern names a path inside it are its files candidates too: to look
 * for `.env` in all of `node_modules` would take longer than all the rest.
 */
async function withContents(
  root: string,
  ignored: readonly string[],
  patterns: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  for (const entry of ignored) {
    found.push(entry);
    if (entry.endsWith('/') && patterns.some((pattern) => pattern.replace(/^!?\/?/, '').startsWith(entry)))
      found.push(...(await walk(root, entry)));
  }
  return found.filter((path) => !isGit(path));
}

const isGit = (path: string): boolean => path.split('/').some((part) => part.toLowerCase() === '.git');

/** Files and links under a folder, at most MOST_FILES. Links are not followed. */
async function walk(root: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  const open = [folder];
  for (let next = open.pop(); next !== undefined && found.length < MOST_FILES; next = open.pop()) {
    for (const entry of (await orNull(readdir(join(root, next), { withFileTypes: true }))) ?? []) {
      if (entry.isDirectory()) open.push(`${next}${entry.name}/`);
      else found.push(`${next}${entry.name}`);
    }
  }
  return found.filter((path) => !isGit(path));
}

/** Git itself says what the patterns match: in a repository where they are all that is ignored, and nothing lies. */
async function matching(
  scratch: string,
  patterns: readonly string[],
  candidates: readonly string[],
): Promise<string[]> {
  const gitDir = join(scratch, 'git');
  const workTree = join(scratch, 'tree');
  for (const folder of ['objects', 'refs', 'info']) await mkdir(join(gitDir, folder), { recursive: true });
  await mkdir(workTree);
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
  await writeFile(join(gitDir, 'info', 'exclude'), `${patterns.join('\n')}\n`);
  // Git looks whether a path is a folder: `.claude/` matches nothing else.
  for (const path of candidates)
    if (path.endsWith('/')) await mkdir(join(workTree, path), { recursive: true });
  const matched = await checkIgnore(
    { gitDir, workTree, indexFile: noIndex(scratch) },
    candidates.map(withoutSlash),
  );
  return candidates.filter((path) => matched.has(withoutSlash(path)));
}

const withoutSlash = (path: string): string => path.replace(/\/$/, '');

async function checkIgnore(
  place: { gitDir: string; workTree: string; indexFile: string },
  paths: readonly string[],
): Promise<Set<string>> {
  const { stdout } = await git({
    ...place,
    args: ['check-ignore', '--no-index', '-z', '--stdin'],
    input: paths.map((path) => `${path}\0`).join(''),
    accept: [1],
  });
  return new Set(stdout.split('\0'));
}

/** An index that is not there: git would refuse a path in a submodule. */
const noIndex = (folder: string): string => join(folder, 'no-index');

async function filesOf(root: string, wanted: readonly string[]): Promise<string[]> {
  const files = new Set<string>();
  for (const path of wanted)
    for (const file of path.endsWith('/') ? await walk(root, path) : [path]) files.add(file);
  return [...files];
}

/** The commit may have a link where the person's checkout has a folder: nothing is written behind one. */
async function withoutBeyond(
  tree: string,
  files: readonly string[],
): Promise<{ inside: string[]; beyond: string[] }> {
  const [inside, beyond]: [string[], string[]] = [[], []];
  for (const path of files) ((await makeFolders(tree, dirname(path), false)) ? inside : beyond).push(path);
  return { inside, beyond };
}

async function ignoredInTree(
  { stage, ownGitDir }: Copying,
  files: readonly string[],
): Promise<{ safe: string[]; notIgnored: string[] }> {
  if (files.length === 0) return { safe: [], notIgnored: [] };
  const matched = await checkIgnore(
    { gitDir: ownGitDir, workTree: stage.tree, indexFile: noIndex(stage.path) },
    files,
  );
  return {
    safe: files.filter((path) => matched.has(path)),
    notIgnored: files.filter((path) => !matched.has(path)),
  };
}

async function copyAll(
  { repository, stage, settings }: Copying,
  files: readonly string[],
  beyond: readonly string[],
): Promise<string[]> {
  const [tooMuch, outside]: [string[], string[]] = [[], [...beyond]];
  let left = settings.copyLimit;
  for (const path of files) {
    const from = join(repository.root, path);
    const found = await orNull(lstat(from));
    if (!found) continue;
    if (found.size > left) tooMuch.push(path);
    else if (!(await copyOne(repository.root, path, stage.tree))) outside.push(path);
    else left -= found.size;
  }
  const notices = [];
  if (tooMuch.length > 0)
    notices.push(`Ignored files are copied up to ${settings.copyLimit} bytes; left out: ${list(tooMuch)}.`);
  if (outside.length > 0)
    notices.push(`Not copied, because they are no files or lead out of the repository: ${list(outside)}.`);
  return notices;
}

/** False for what is neither a file nor a link that stays inside, or would be written through a link. */
async function copyOne(root: string, path: string, tree: string): Promise<boolean> {
  const [from, to] = [join(root, path), join(tree, path)];
  const found = await lstat(from);
  const target = found.isSymbolicLink() ? await readlink(from) : null;
  if (target !== null && !staysInside(path, target)) return false;
  if (target === null && !found.isFile()) return false;
  if (!(await makeFolders(tree, dirname(path)))) return false;
  try {
    if (target === null) await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    else await symlink(target, to);
  } catch (error) {
    // The commit brought a file of that name: it counts.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return true;
}

/** By its words alone: a link to a link that leads out is copied as such, and leads the agent no further than that. */
function staysInside(path: string, target: string): boolean {
  const from = resolve('/root', dirname(path));
  const to = resolve(from, target);
  return !isAbsolute(target) && !isGit(target) && (to === '/root' || to.startsWith('/root/'));
}

/** False if one of them is anything but a folder. */
async function makeFolders(tree: string, folder: string, make = true): Promise<boolean> {
  let at = tree;
  for (const part of folder.split('/').filter((piece) => piece !== '.' && piece !== '')) {
    at = join(at, part);
    const found = await orNull(lstat(at));
    if (found && !found.isDirectory()) return false;
    if (!found && !make) return true;
    if (!found) await mkdir(at);
  }
  return true;
}

const SHOWN = 10;
const list = (paths: readonly string[]): string =>
  paths.length > SHOWN
    ? `${paths.slice(0, SHOWN).join(', ')} and ${paths.length - SHOWN} more`
    : paths.join(', ');
