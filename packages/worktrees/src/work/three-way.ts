import type { Conflict } from '@reveille/protocol';
import type { Scratch } from './scratch-place.ts';

/** A tree in the scratch, or what stands in its way. */
export type MergedTree =
  | { readonly tree: string; readonly conflicts?: never }
  | { readonly conflicts: readonly Conflict[]; readonly tree?: never };

/** Merges two commits, whose histories say what they have in common. */
export async function mergeCommits(scratch: Scratch, ours: string, theirs: string): Promise<MergedTree> {
  const answer = await scratch.git({
    args: ['merge-tree', '--write-tree', '-z', '--name-only', '--allow-unrelated-histories', ours, theirs],
    accept: [1],
  });
  const [tree = '', ...rest] = answer.stdout.split('\0');
  return answer.code === 0 ? { tree } : { conflicts: readConflicts(rest, [ours, theirs]) };
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

/** `<path>…`, an empty one, and then records of `<n> <path>… <kind> <text>`. */
function readConflicts(parts: readonly string[], labels: readonly string[]): Conflict[] {
  const end = parts.indexOf('');
  const why = new Map(parts.slice(0, end).map((path) => [plain(path, labels), 'they conflict']));
  for (let at = end + 1; at < parts.length;) {
    const count = Number(parts[at]);
    if (!Number.isInteger(count) || count < 1) break;
    const [kind = ''] = parts.slice(at + 1 + count);
    for (const path of parts.slice(at + 1, at + 1 + count).map((name) => plain(name, labels)))
      if (kind.startsWith('CONFLICT') && why.get(path) !== REASONS['CONFLICT (binary)'])
        why.set(path, REASONS[kind] ?? kind.replace(/^CONFLICT \((.*)\)$/, '$1'));
    at += count + 3;
  }
  return [...why].map(([path, reason]) => ({ path, why: reason }));
}

/** Where two things claim one name, git shows one of them as `name~side`. */
function plain(path: string, labels: readonly string[]): string {
  const label = labels.find((side) => path.endsWith(`~${side}`));
  return label === undefined ? path : path.slice(0, -label.length - 1);
}
