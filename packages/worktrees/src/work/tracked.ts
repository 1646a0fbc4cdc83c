import { lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { isGitName } from '../door/names.ts';
import { atHome, branchRef, REFS } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { LINK_MODE, readIndex, readStaged, type IndexEntry } from './staged.ts';
import { changesBetween, isLink, NONE, type RawChange } from './trees.ts';

/** What belongs to a checkout's files besides those of the commit they are judged against. */
export interface AlsoTracked {
  /** Taken also where git ignores them. */
  readonly paths: readonly string[];
  /** What the agent took out of its index: ignored files that it kept, and links to other repositories. */
  readonly untracked: readonly string[];
  /** Links to other repositories; null: the link goes. */
  readonly links: ReadonlyMap<string, string | null>;
}

export interface TrackedBy {
  /** The commit the files are judged against, whose entries are in the scratch's index. */
  readonly base: string;
  /** The commit the agent stands on, which its index belongs to. */
  readonly head: string;
  /** Trees whose files count as tracked. */
  readonly names: readonly string[];
  /** Commits that were laid, besides those that our refs name. */
  readonly laid: readonly string[];
}

/**
 * Files that a pull or a restore laid, and files that an agent staged, are tracked although the commit of the checkout
 * does not name them: without this, those that a `.gitignore` matches would be left out. Links to other repositories
 * cannot be laid as files: they are merged by their commits, as git merges them.
 */
export async function alsoTracked(
  scratch: Scratch,
  checkout: Checkout,
  { base, head, names, laid }: TrackedBy,
): Promise<AlsoTracked> {
  const paths: string[] = [];
  const links = new Map<string, string | null>();
  const staged = await readIndexes(scratch, checkout, base.length / 2);
  const sources = new Set([...laid, ...(await laidSources(checkout, base))]);
  // The agent's index has the files of the commit it stands on, but for those it took out.
  const stood = staged.agent.length === 0 ? [head] : [];
  for (const source of new Set([...stood, ...names, ...sources])) {
    const changes = await changesBetween(scratch, base, source);
    for (const { path, oldMode, newMode } of changes)
      if (oldMode === NONE && !isLink(newMode)) paths.push(path);
    if (!sources.has(source) || !changes.some(({ oldMode, newMode }) => isLink(oldMode) || isLink(newMode)))
      continue;
    for (const [path, oid] of await linksFrom(scratch, base, source)) links.set(path, oid);
  }
  for (const { path, mode, oid } of stagedBesides(staged)) {
    if (mode !== LINK_MODE) paths.push(path);
    else links.set(path, oid);
  }
  const untracked = await untrackedBy(scratch, checkout, { staged, base, head });
  return { paths: paths.filter(isSafe), links, untracked };
}

/** What was pulled into or restored in a checkout and is not part of its history. */
async function laidSources({ repository, name }: Checkout, base: string): Promise<string[]> {
  const patterns = [REFS.pulled(name, ''), REFS.restored(name)];
  const args = ['for-each-ref', `--no-merged=${base}`, '--format=%(objectname)', ...patterns];
  const { stdout } = await atHome(repository, { args });
  return stdout.split('\n').filter((oid) => oid !== '');
}

/** Links that a commit changed since it left the history of the base, which has not changed them itself. */
async function linksFrom(
  scratch: Scratch,
  base: string,
  source: string,
): Promise<[path: string, oid: string | null][]> {
  const args = ['merge-base', base, source];
  const from = (await atHome(scratch.repository, { args, accept: [1, 128] })).stdout.trim().split('\n')[0];
  if (!from) return [];
  const own = new Set((await changesBetween(scratch, from, base)).map(({ path }) => path));
  const theirs = await changesBetween(scratch, from, source);
  return theirs
    .filter(({ path, oldMode, newMode }) => (isLink(oldMode) || isLink(newMode)) && !own.has(path))
    .map(({ path, newMode, newOid }) => [path, isLink(newMode) ? newOid : null]);
}

/** The agent's index, and ours, which holds the base. */
interface Indexes {
  readonly agent: readonly IndexEntry[];
  readonly ours: ReadonlyMap<string, IndexEntry>;
}

async function readIndexes(scratch: Scratch, checkout: Checkout, oidBytes: number): Promise<Indexes> {
  const agent = checkout.branchIsOurs ? [] : readStaged(checkout, oidBytes);
  const entries = agent.length === 0 ? [] : (readIndex(await readFile(scratch.index), oidBytes) ?? []);
  return { agent, ours: new Map(entries.map((entry) => [entry.path, entry])) };
}

/** Entries of the agent's index that ours does not have: new files, and links to another commit. */
function stagedBesides({ agent, ours }: Indexes): IndexEntry[] {
  const isOther = ({ path, mode, oid }: IndexEntry): boolean =>
    mode === LINK_MODE ? ours.get(path)?.oid !== oid : !ours.has(path);
  const besides = agent.filter(isOther);
  if (!besides.some(({ mode }) => mode === LINK_MODE)) return besides;
  const links = new Set([...ours.values()].filter(({ mode }) => mode === LINK_MODE).map(({ oid }) => oid));
  // A link where there was none is kept if it was moved. Any other names a repository that nobody else has.
  return besides.filter(
    ({ path, mode, oid }) => mode !== LINK_MODE || ours.get(path)?.mode === LINK_MODE || links.has(oid),
  );
}

/**
 * With `git rm --cached` an agent says that a file is to stay and not to be tracked, if it is ignored besides. A link that is
 * taken out is gone, unless its repository is there: git would add it again.
 */
async function untrackedBy(
  scratch: Scratch,
  checkout: Checkout,
  { staged: { agent, ours }, base, head }: Pick<TrackedBy, 'base' | 'head'> & { readonly staged: Indexes },
): Promise<string[]> {
  if (agent.length === 0) return [];
  const named = new Set(agent.map(({ path }) => path));
  const missing = [...ours.keys()].filter((path) => !named.has(path));
  if (missing.length === 0) return [];
  // What we committed on top of the agent's commit its index never had.
  const added = new Set((await changesBetween(scratch, head, base)).map(({ path }) => path));
  const own = missing.filter((path) => !added.has(path));
  const isLinkOfOurs = (path: string): boolean => ours.get(path)?.mode === LINK_MODE;
  const links = own.filter((path) => isLinkOfOurs(path) && !hasRepository(checkout, path));
  const ignored = await ignoredOf(
    scratch,
    checkout,
    own.filter((path) => !isLinkOfOurs(path)),
  );
  return [...links, ...ignored];
}

const hasRepository = ({ path: root }: Checkout, path: string): boolean =>
  lstatSync(join(root, asText(path), '.git'), { throwIfNoEntry: false }) !== undefined;

async function ignoredOf(scratch: Scratch, { path }: Checkout, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const { stdout } = await scratch.bytes({
    args: ['check-ignore', '-z', '--no-index', '--stdin'],
    input: Buffer.from(paths.map((name) => `${name}\0`).join(''), 'latin1'),
    workTree: path,
    accept: [1],
  });
  return stdout
    .toString('latin1')
    .split('\0')
    .filter((name) => name !== '');
}

const asText = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');

/** An index can name anything. */
const isSafe = (path: string): boolean =>
  path.split('/').every((part) => !['', '.', '..'].includes(part) && !isGitName(asText(part)));

/**
 * Links to other repositories that came with a commit: where there was none before, and that are neither the submodules of
 * the start at another place nor those of another branch that the commit has merged.
 */
export async function inventedLinks(scratch: Scratch, checkout: Checkout, base: string): Promise<string[]> {
  const { start } = checkout;
  const changes = await changesBetween(scratch, start, base);
  const known = new Set(changes.filter(({ oldMode }) => isLink(oldMode)).map(({ oldOid }) => oldOid));
  let invented = changes.filter(
    ({ oldMode, newMode, newOid }) => isLink(newMode) && !isLink(oldMode) && !known.has(newOid),
  );
  if (invented.length > 0) {
    const merged = await mergedLinks(scratch, checkout, base);
    invented = invented.filter((change) => !merged.has(linkOf(change)));
  }
  const paths = invented.map(({ path }) => path);
  if (paths.length === 0 || known.size === 0) return paths;
  const [before, after] = [await declaredIn(scratch, start), await declaredIn(scratch, base)];
  const moved = new Set([...after].filter(([name]) => before.has(name)).map(([, path]) => path));
  return paths.filter((path) => !moved.has(path));
}

/** Links of other branches that are part of a commit: whoever made those branches was asked for them there. */
async function mergedLinks(
  scratch: Scratch,
  { repository, branch, start }: Checkout,
  base: string,
): Promise<Set<string>> {
  const args = ['for-each-ref', '--format=%(refname) %(objectname)', `--merged=${base}`, 'refs/heads/'];
  const { stdout } = await atHome(repository, { args });
  const tips = stdout
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([ref, oid]) => (oid !== undefined && ref !== branchRef(branch) ? [oid] : []));
  const links = new Set<string>();
  for (const tip of new Set(tips))
    for (const change of await changesBetween(scratch, start, tip))
      if (isLink(change.newMode)) links.add(linkOf(change));
  return links;
}

const linkOf = ({ newOid, path }: RawChange): string => `${newOid} ${path}`;

/** Where the submodules of a commit lie, by their names. */
async function declaredIn(scratch: Scratch, commit: string): Promise<Map<string, string>> {
  const args = [
    'config',
    '--blob',
    `${commit}:.gitmodules`,
    '-z',
    '--get-regexp',
    String.raw`^submodule\..*\.path$`,
  ];
  // Where there is no such file, or a damaged one, none is declared.
  const { stdout } = await scratch.bytes({ args, accept: [1, 3, 128] });
  const entries = stdout.toString('latin1').split('\0');
  return new Map(
    entries
      .filter((entry) => entry !== '')
      .map((entry) => {
        const end = entry.indexOf('\n');
        return [entry.slice(0, end), entry.slice(end + 1)];
      }),
  );
}
