import type { Conflict } from '@reveille/protocol';
import { GitError } from '../git/git.ts';
import type { Scratch } from './scratch-place.ts';

/** A tree in the scratch, or what stands in its way. */
export type MergedTree =
  | { readonly tree: string; readonly conflicts?: never }
  | { readonly conflicts: readonly Conflict[]; readonly tree?: never };

const MERGE = ['merge-tree', '--write-tree', '-z', '--name-only', '--allow-unrelated-histories'];

/** Merges two commits, whose histories say what they have in common. */
export async function mergeCommits(scratch: Scratch, ours: string, theirs: string): Promise<MergedTree> {
  const args = [...MERGE, ours, theirs];
  const answer = await scratch.git({ args, accept: [1] });
  const [tree = '', ...rest] = answer.stdout.split('\0');
  // The same code for a conflict and for a commit that is not there.
  if (tree === '') throw new GitError(args, answer.code, answer.stderr);
  return answer.code === 0 ? { tree } : { conflicts: readConflicts(rest, [ours, theirs]).conflicts };
}

export type TwoCommits = readonly [ours: string, theirs: string];

/** The same for many pairs in one process, which costs a fifth; from git 2.39 on, before that one after another. */
export async function mergeAll(scratch: Scratch, pairs: readonly TwoCommits[]): Promise<MergedTree[]> {
  const input = pairs.map((pair) => `${pair.join(' ')}\n`).join('');
  const args = MERGE.filter((arg) => arg !== '-z');
  try {
    return readAll((await scratch.git({ args: [...args, '--stdin'], input })).stdout, pairs);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // Too old for it, or one of the pairs is at fault: that one then says so.
    const merged: MergedTree[] = [];
    for (const [ours, theirs] of pairs) merged.push(await mergeCommits(scratch, ours, theirs));
    return merged;
  }
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
    const { conflicts, read } = readConflicts(parts.slice(2), pair);
    parts = parts.slice(2 + read);
    return { conflicts };
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
  labels: readonly string[],
): { readonly conflicts: readonly Conflict[]; readonly read: number } {
  const end = parts.indexOf('');
  const why = new Map(parts.slice(0, end).map((path) => [plain(path, labels), 'they conflict']));
  let at = end + 1;
  while (parts[at] !== undefined && parts[at] !== '') {
    const count = Number(parts[at]);
    const [kind = ''] = parts.slice(at + 1 + count);
    for (const path of parts.slice(at + 1, at + 1 + count).map((name) => plain(name, labels)))
      if (kind.startsWith('CONFLICT') && why.get(path) !== REASONS['CONFLICT (binary)'])
        why.set(path, REASONS[kind] ?? kind.replace(/^CONFLICT \((.*)\)$/, '$1'));
    at += count + 3;
  }
  return { conflicts: [...why].map(([path, reason]) => ({ path, why: reason })), read: at + 1 };
}

/** Where two things claim one name, git shows one of them as `name~side`. */
function plain(path: string, labels: readonly string[]): string {
  const label = labels.find((side) => path.endsWith(`~${side}`));
  return label === undefined ? path : path.slice(0, -label.length - 1);
}
