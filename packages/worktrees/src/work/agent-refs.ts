import type { Checkout } from '../checkout.ts';
import type { Directory } from '../door/directory.ts';
import { descend, isThere, namesIn, openAgentGitDir, readSmall } from './agent-files.ts';
import { branchRef, commitAt } from './refs.ts';

/**
 * What an agent's repository says about its commits. Its files are read by ourselves: only a plain file of bounded size
 * with nothing in it but a name of an object, or of one ref, is believed. Everything else is as if it were not there.
 */
export interface AgentRefs {
  /** The commit it stands on. */
  readonly head: string | null;
  /** Its branch. */
  readonly branch: string | null;
  readonly underWay: UnderWay | null;
}

export type UnderWay = 'merge' | 'rebase' | 'cherry-pick' | 'revert';

const SIGNS: readonly (readonly [file: string, means: UnderWay])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
];

const REF_BYTES = 1_024;
const PACKED_BYTES = 16 * 1024 * 1024;
const LOG_BYTES = 1024 * 1024;
/** Further branches of an agent that are looked for. */
const MOST_REFS = 200;

export const isObjectName = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

export async function readAgent(checkout: Checkout): Promise<AgentRefs> {
  using folder = openAgentGitDir(checkout);
  if (!folder) return { head: null, branch: null, underWay: null };
  const resolve = (ref: string): Promise<string | null> => resolveRef(checkout, folder, ref);
  const said = (readSmall(folder, 'HEAD', REF_BYTES) ?? '').trim();
  const on = said.startsWith('ref: ') ? said.slice('ref: '.length).trim() : null;
  const detached = isObjectName(said) ? said : null;
  return {
    head: on === null ? detached : await resolve(on),
    branch: await resolve(branchRef(checkout.branch)),
    underWay: underWayIn(folder),
  };
}

/** Whether a merge or the like is half done there. */
export function readUnderWay(checkout: Checkout): UnderWay | null {
  using folder = openAgentGitDir(checkout);
  return folder ? underWayIn(folder) : null;
}

const underWayIn = (folder: Directory): UnderWay | null =>
  SIGNS.find(([file]) => isThere(folder, file))?.[1] ?? null;

async function resolveRef(checkout: Checkout, folder: Directory, ref: string): Promise<string | null> {
  const names = ref.split('/');
  if (!isSafeRef(names)) return null;
  // A linked worktree has its branches in the person's repository.
  if (checkout.kind === 'linked') return await commitAt(checkout.repository, ref);
  return readLoose(folder, names) ?? packedRefs(folder).get(ref) ?? null;
}

const isSafeRef = (names: readonly string[]): boolean =>
  names[0] === 'refs' &&
  names.length > 2 &&
  names.length < 32 &&
  names.every((name) => name !== '' && !name.startsWith('.') && !/[\p{Cc} ~^:?*[\\]/u.test(name));

function readLoose(folder: Directory, names: readonly string[]): string | null {
  using parent = descend(folder, names.slice(0, -1));
  const text = parent && readSmall(parent, names.at(-1) ?? '', REF_BYTES)?.trim();
  return text && isObjectName(text) ? text : null;
}

function packedRefs(folder: Directory): ReadonlyMap<string, string> {
  const lines = (readSmall(folder, 'packed-refs', PACKED_BYTES) ?? '').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [oid = '', ref = ''] = line.trim().split(' ');
      return isObjectName(oid) && ref.startsWith('refs/') ? [[ref, oid] as const] : [];
    }),
  );
}

/** Every other commit that an agent gave a name: other branches, and what it stashed. Empty for a linked worktree. */
export function readOtherTips(checkout: Checkout): readonly string[] {
  if (checkout.kind === 'linked') return [];
  using folder = openAgentGitDir(checkout);
  if (!folder) return [];
  const packed = [...packedRefs(folder)].filter(
    ([ref]) => ref.startsWith('refs/heads/') || ref === 'refs/stash',
  );
  const loose = [...looseTips(folder, ['refs', 'heads'])];
  const stash = readLoose(folder, ['refs', 'stash']);
  const tips = [...loose, ...packed.map(([, oid]) => oid), ...(stash ? [stash] : []), ...stashLog(folder)];
  return [...new Set(tips)].slice(0, MOST_REFS);
}

function* looseTips(folder: Directory, names: readonly string[]): Generator<string> {
  using here = descend(folder, names);
  if (!here || names.length > 10) return;
  for (const name of namesIn(here).slice(0, MOST_REFS)) {
    const text = readSmall(here, name, REF_BYTES)?.trim();
    if (text !== undefined && isObjectName(text)) yield text;
    if (text === undefined) yield* looseTips(folder, [...names, name]);
  }
}

/** Only its newest entry has a ref; the older ones are in its log. */
function stashLog(folder: Directory): string[] {
  using logs = descend(folder, ['logs', 'refs']);
  const lines = (logs && readSmall(logs, 'stash', LOG_BYTES)) ?? '';
  return lines
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((oid) => isObjectName(oid) && !/^0+$/.test(oid));
}
