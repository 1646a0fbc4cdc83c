import type { Diff, FileChange, WorkProduct } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { capture } from './capture.ts';
import { countChanges, PLAIN } from './counts.ts';
import { importInto } from './import.ts';
import { atHome } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withCheckout } from './scratch.ts';
import { changesBetween, type RawChange } from './trees.ts';

export interface DiffOptions {
  /** Of the patch; 200,000 unless told. */
  readonly maxBytes?: number;
  /** Also what is not committed yet; true unless told. */
  readonly uncommitted?: boolean;
}

const MAX_BYTES = 200_000;
/** Files that are compared for the patch have at most this many bytes together: git holds them in memory. */
const COMPARED_BYTES = 32 * 1024 ** 2;
const MOST_PATHS = 1_000;
const MOST_NOTICES = 20;

/** What a branch changed against the commit it started from, or what it still has in common with it. */
export async function diff(checkout: Checkout, options: DiffOptions = {}): Promise<Diff> {
  return await withCheckout(checkout, async (scratch) => {
    const { tip, base, head, behind } = await importInto(scratch, checkout);
    const start = await trueBase(checkout, tip);
    const whole = (options.uncommitted ?? true) && !behind;
    const to = whole ? (await capture(scratch, checkout, { base, head })).tree : tip;
    const files = await countChanges(scratch, start, to);
    const patch = await patchBetween(scratch, { start, to, maxBytes: options.maxBytes ?? MAX_BYTES });
    return { branch: checkout.branch, worktree: checkout.path, start, files, ...patch };
  });
}

/** What is different now from a commit of ours, such as a checkpoint; uncommitted changes count. */
export async function changedSince(checkout: Checkout, from: string): Promise<FileChange[]> {
  return await withCheckout(checkout, async (scratch) => {
    const { base, head } = await importInto(scratch, checkout);
    const { tree } = await capture(scratch, checkout, { base, head });
    return await countChanges(scratch, from, tree);
  });
}

/** What a run leaves behind: everything up to a commit, which `commitLeftovers` answered with. */
export async function workProduct(
  checkout: Checkout,
  left: Pick<WorkProduct, 'problem'> & { readonly commit: string; readonly notices?: readonly string[] },
): Promise<WorkProduct> {
  const { path: worktree, branch } = checkout;
  const { commit, problem, notices = [] } = left;
  return await withCheckout(checkout, async (scratch) => {
    const files = await countChanges(scratch, await trueBase(checkout, commit), commit);
    const work = { worktree, branch, commit, problem, files };
    return notices.length === 0 ? work : { ...work, notices: named(notices) };
  });
}

/** A repository can be of any size, and so can what is to be said about it. */
function named(notices: readonly string[]): string[] {
  const said = notices.slice(0, MOST_NOTICES).map((notice) => notice.slice(0, 500));
  const more = notices.length - said.length;
  return more > 0 ? [...said, `And ${more} more of that kind.`] : said;
}

async function trueBase({ repository, start }: Checkout, tip: string): Promise<string> {
  const answer = await atHome(repository, { args: ['merge-base', start, tip], accept: [1] });
  return answer.stdout.trim().split('\n')[0] || start;
}

interface Between {
  readonly start: string;
  readonly to: string;
  readonly maxBytes: number;
}

async function patchBetween(
  scratch: Scratch,
  { start, to, maxBytes }: Between,
): Promise<Pick<Diff, 'patch' | 'truncated'>> {
  const changes = await changesBetween(scratch, start, to);
  const shown = await affordable(scratch, changes);
  const all = shown.length === changes.length;
  if (shown.length === 0) return { patch: '', truncated: !all };
  const { stdout } = await scratch.bytes({
    args: ['diff-tree', '-r', '-p', '-M', ...PLAIN, start, to, ...(all ? [] : ['--', ...shown])],
    env: { GIT_LITERAL_PATHSPECS: '1' },
  });
  if (stdout.length <= maxBytes) return { patch: stdout.toString('utf8'), truncated: !all };
  // At the end of a line, so that no character is cut.
  const end = stdout.lastIndexOf(0x0a, maxBytes - 1) + 1;
  return { patch: stdout.toString('utf8', 0, end), truncated: true };
}

/** The first changed files, as far as they can be compared at once. */
async function affordable(scratch: Scratch, changes: readonly RawChange[]): Promise<string[]> {
  const few = changes.slice(0, MOST_PATHS);
  const oids = few.flatMap(({ oldOid, newOid }) => [oldOid, newOid]);
  const { stdout } = await scratch.git({
    args: ['cat-file', '--batch-check=%(objectsize)', '--buffer'],
    input: `${oids.join('\n')}\n`,
  });
  // What is not there has no size: the other side of a new file, a submodule.
  const sizes = stdout.split('\n').map((line) => Number(line) || 0);
  const shown: string[] = [];
  let left = COMPARED_BYTES;
  for (const [i, { path }] of few.entries()) {
    const size = (sizes[2 * i] ?? 0) + (sizes[2 * i + 1] ?? 0);
    if (size > left) continue;
    left -= size;
    shown.push(Buffer.from(path, 'latin1').toString('utf8'));
  }
  return shown;
}
