import type { Conflict } from '@reveille/protocol';
import { newId } from '../creation/stage.ts';
import { GitError, type GitAnswer } from '../git/git.ts';
import { attributesOf, layAttributes, type TreeAttributes } from './attributes.ts';
import { mergeDirIn } from './merge-dir.ts';
import type { Scratch } from './scratch-place.ts';

/** A tree in the scratch, or what stands in its way. */
export type MergedTree =
  | { readonly tree: string; readonly conflicts?: never }
  | {
      readonly conflicts: readonly Conflict[];
      /** The tree as git leaves it for a person to resolve, and every path in it that a conflict is about. */
      readonly unresolved: { readonly tree: string; readonly paths: ReadonlySet<string> } | null;
      readonly tree?: never;
    };

export type TwoCommits = readonly [ours: string, theirs: string];

const MERGE = ['merge-tree', '--write-tree', '--name-only'];

/**
 * Merges two commits as `git merge` would in a checkout of the first: by its attributes, from the commit they have in
 * common. Two that have nothing in common are not merged, as git refuses to.
 */
export async function mergeCommits(scratch: Scratch, ours: string, theirs: string): Promise<MergedTree> {
  const [attributes] = await attributesOf(scratch, [ours]);
  return await mergeOne(scratch, [ours, theirs], await mergeFolder(scratch, attributes));
}

async function mergeOne(scratch: Scratch, pair: TwoCommits, workTree: string): Promise<MergedTree> {
  const args = [...MERGE, '-z', ...pair];
  const answer = await ask(scratch, { args, workTree, accept: [1, 128] });
  if (answer.code === 128 && UNRELATED.test(answer.stderr)) return NOTHING_IN_COMMON;
  const [tree = '', ...rest] = answer.stdout.split('\0');
  // The same code for a conflict and for a commit that is not there.
  if (tree === '') throw new GitError(args, answer.code, answer.stderr);
  return answer.code === 0 ? { tree } : readConflicts(rest, tree, pair).merged;
}

const UNRELATED = /^fatal: refusing to merge unrelated histories/m;
const NOTHING_IN_COMMON: MergedTree = {
  conflicts: [{ path: '.', why: 'the two have no commit in common' }],
  unresolved: null,
};

interface MergeCall {
  readonly args: readonly string[];
  readonly workTree: string;
  readonly input?: string;
  readonly accept?: readonly number[];
}

/** A merge during which git could not read something is none, whatever it says in the end. */
async function ask(scratch: Scratch, call: MergeCall): Promise<GitAnswer> {
  const gitDir = await mergeDirIn(scratch.repository, scratch.folder);
  const answer = await scratch.git({ ...call, gitDir });
  if (/^error: /m.test(answer.stderr)) throw new GitError(call.args, answer.code, answer.stderr);
  return answer;
}

const mergeFolder = async (
  scratch: Scratch,
  attributes: TreeAttributes = { key: '', entries: [] },
): Promise<string> => await layAttributes(scratch, attributes, `attributes-${newId()}`);

/**
 * The same for many pairs, with one process for all pairs that are merged by the same attributes, which costs a fifth;
 * from git 2.39 on, before that one after another. A commit that is not there any more conflicts with nothing.
 */
export async function mergeAll(scratch: Scratch, pairs: readonly TwoCommits[]): Promise<MergedTree[]> {
  const attributes = await attributesOf(
    scratch,
    pairs.map(([ours]) => ours),
  );
  const alike = Map.groupBy(pairs.entries(), ([i]) => attributes[i]?.key);
  const merged = new Map<number, MergedTree>();
  for (const some of alike.values()) {
    const [first = 0] = some.map(([i]) => i);
    const workTree = await mergeFolder(scratch, attributes[first]);
    const found = await mergeAlike(
      scratch,
      some.map(([, pair]) => pair),
      workTree,
    );
    for (const [n, [i]] of some.entries()) merged.set(i, found[n] ?? NO_CONFLICT);
  }
  return pairs.map((_, i) => merged.get(i) ?? NO_CONFLICT);
}

const NO_CONFLICT: MergedTree = { conflicts: [], unresolved: null };
const GONE = /not something we can merge/;

async function mergeAlike(
  scratch: Scratch,
  pairs: readonly TwoCommits[],
  workTree: string,
): Promise<MergedTree[]> {
  const input = pairs.map((pair) => `${pair.join(' ')}\n`).join('');
  try {
    return readAll((await ask(scratch, { args: [...MERGE, '--stdin'], input, workTree })).stdout, pairs);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // Too old for it, or one of the pairs is at fault: that one then says so.
    const merged: MergedTree[] = [];
    for (const pair of pairs) merged.push(await mergeOne(scratch, pair, workTree).catch(noneIfGone));
    return merged;
  }
}

function noneIfGone(error: unknown): MergedTree {
  if (error instanceof GitError && GONE.test(error.stderr)) return NO_CONFLICT;
  throw error;
}

/** For each `<1: clean, 0: not> <tree>`, the conflicts if it is not, and an empty one. */
function readAll(text: string, pairs: readonly TwoCommits[]): MergedTree[] {
  let parts = text.split('\0');
  return pairs.map((pair) => {
    const [clean, tree = ''] = parts;
    if (clean === '1') {
      parts = parts.slice(3);
      return { tree };
    }
    const { merged, read } = readConflicts(parts.slice(2), tree, pair);
    parts = parts.slice(2 + read);
    return merged;
  });
}

export interface ThreeTrees {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/**
 * Merges two trees that both come from a third. Git learned to be told the third only in 2.40: commits that nobody will
 * see again say it in every version.
 */
export async function mergeTrees(scratch: Scratch, { base, ours, theirs }: ThreeTrees): Promise<MergedTree> {
  const root = await passing(scratch, base);
  return await mergeCommits(
    scratch,
    await passing(scratch, ours, root),
    await passing(scratch, theirs, root),
  );
}

async function passing(scratch: Scratch, tree: string, parent?: string): Promise<string> {
  const { stdout } = await scratch.git({
    args: ['commit-tree', tree, ...(parent === undefined ? [] : ['-p', parent])],
    input: 'passing\n',
  });
  return stdout.trim();
}

const REASONS: Readonly<Record<string, string>> = {
  'CONFLICT (contents)': 'both changed the same lines',
  'CONFLICT (binary)': 'both changed it, and it is no text',
  'CONFLICT (modify/delete)': 'one changed it, the other deleted it',
  'CONFLICT (rename/delete)': 'one renamed it, the other deleted it',
  'CONFLICT (rename/rename)': 'both renamed it',
  'CONFLICT (file/directory)': 'it is a file in one and a folder in the other',
  'CONFLICT (distinct types)': 'it is of another kind in each',
};

/** `<path>…`, an empty one, then records of `<n> <path>… <kind> <text>`, and an empty one. */
function readConflicts(
  parts: readonly string[],
  tree: string,
  labels: readonly string[],
): { readonly merged: MergedTree; readonly read: number } {
  const end = parts.indexOf('');
  const named = parts.slice(0, end);
  const why = new Map(named.map((path) => [plain(path, labels), 'they conflict']));
  const paths = new Set(named);
  let at = end + 1;
  while (parts[at] !== undefined && parts[at] !== '') {
    const count = Number(parts[at]);
    const [kind = ''] = parts.slice(at + 1 + count);
    if (kind.startsWith('CONFLICT'))
      for (const raw of parts.slice(at + 1, at + 1 + count)) {
        const path = plain(raw, labels);
        paths.add(raw).add(path);
        if (why.get(path) !== REASONS['CONFLICT (binary)'])
          why.set(path, REASONS[kind] ?? kind.replace(/^CONFLICT \((.*)\)$/, '$1'));
      }
    at += count + 3;
  }
  const conflicts = [...why].map(([path, reason]) => ({ path, why: reason }));
  return { merged: { conflicts, unresolved: { tree, paths } }, read: at + 1 };
}

/** Where two things claim one name, git shows one of them as `name~side`. */
function plain(path: string, labels: readonly string[]): string {
  const label = labels.find((side) => path.endsWith(`~${side}`));
  return label === undefined ? path : path.slice(0, -label.length - 1);
}
