import { createHash } from 'node:crypto';
import { ReveilleError } from '@reveille/protocol';

/** What a worktree is named after. The id tells tasks of one name apart. */
export interface NameParts {
  readonly plan: string;
  readonly task: string;
  readonly id: string;
}

export interface CheckoutName {
  /** The folder, and the name of the room and of the pin: `<plan>-<task>`. */
  readonly name: string;
  /** `<prefix>/<plan>/<task>`. Subtasks stand beside: git cannot have a branch `a` and a branch `a/b`. */
  readonly branch: string;
}

// Folder, branch and the lock file git puts beside it stay far below the 255 bytes of a file name.
const [PLAN_BYTES, TASK_BYTES] = [40, 80];
// Six of 32 signs: a billion; two of a thousand tasks of one name meet once in two thousand times, and then are counted.
const HASH_SIGNS = 6;

/** The names to try, best first, without end. */
export function* namesFor(parts: NameParts, prefix: string): Generator<CheckoutName> {
  const root = checkedPrefix(prefix);
  const plan = safe(parts.plan, 'plan', PLAN_BYTES);
  const task = safe(parts.task, 'task', TASK_BYTES - HASH_SIGNS - 1);
  const plain = plan.lossy ? `${plan.text}-${hash(parts.plan)}` : plan.text;
  const marked = `${task.text}-${hash(parts.id)}`;
  const named = (planText: string, taskText: string): CheckoutName => ({
    name: `${planText}-${taskText}`,
    branch: `${root}/${planText}/${taskText}`,
  });
  if (!task.lossy) yield named(plain, task.text);
  yield named(plain, marked);
  // A branch may stand where the plan's folder of branches would be.
  const markedPlan = `${plan.text}-${hash(parts.plan)}`;
  for (let count = 2; ; count += 1) {
    yield named(plain, `${marked}-${count}`);
    if (plain !== markedPlan) yield named(markedPlan, `${marked}-${count}`);
  }
}

/**
 * Two names that a file system may take for one: it may not tell cases apart, or ways of writing an accent.
 */
export const folded = (name: string): string =>
  name.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKC');

/** Whether a branch can be beside the others: not the same, and none the folder of the other. */
export function branchIsFree(branch: string, others: Iterable<string>): boolean {
  const mine = folded(branch);
  for (const other of others) {
    const theirs = folded(other);
    if (mine === theirs || mine.startsWith(`${theirs}/`) || theirs.startsWith(`${mine}/`)) return false;
  }
  return true;
}

const NOT_IN_A_REF = /\p{Cc}|[ ~^:?*[\\]|\.\.|@\{|\/\/|\/\.|^[./-]|[./]$|\.lock(\/|$)/u;

/** Whether git takes it for the name of a branch, and for nothing cleverer (`main~3`, `main@{1}`). */
export const isRefName = (name: string): boolean =>
  name !== '' && name.length < 1_000 && !NOT_IN_A_REF.test(name);

/** Letters, marks and digits of every script stay; everything else becomes a dash. `lossy`: more than white space was lost. */
function safe(text: string, empty: string, bytes: number): { text: string; lossy: boolean } {
  const spaced = text.trim().replaceAll(/\s+/gu, '-');
  // What is far too long is cut first: the rest is not looked at.
  const kept = spaced
    .slice(0, bytes * 2)
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]/gu, '-')
    .replaceAll(/\.{2,}/g, '-')
    .replaceAll(/-{2,}/g, '-')
    .normalize('NFC');
  const cut = trimmed(cutToBytes(trimmed(kept), bytes)).replace(/\.lock$/i, '-lock');
  if (cut === '') return { text: empty, lossy: true };
  // Windows takes `con.txt` for a device too; with a hash behind it, `con` is a name like any other.
  if (DEVICE.test(cut)) return { text: cut.replaceAll('.', '-'), lossy: true };
  return { text: cut, lossy: cut !== spaced };
}

/** No dash first (an option), no dot first or last, nothing that hangs loose at an end; a mark needs a letter before it. */
const trimmed = (text: string): string => text.replace(/^[\p{M}._-]+/u, '').replace(/[._-]+$/, '');

const DEVICE = /^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(\.|$)/i;

function cutToBytes(text: string, bytes: number): string {
  let used = 0;
  let kept = '';
  for (const sign of text) {
    used += Buffer.byteLength(sign);
    if (used > bytes) return kept;
    kept += sign;
  }
  return kept;
}

const SIGNS = '0123456789abcdefghjkmnpqrstvwxyz';

const hash = (text: string): string =>
  [...createHash('sha256').update(text).digest().subarray(0, HASH_SIGNS)]
    .map((byte) => SIGNS[byte % SIGNS.length])
    .join('');

function checkedPrefix(prefix: string): string {
  const pieces = prefix.split('/');
  const isName = (piece: string): boolean => !safe(piece, '', PLAN_BYTES).lossy && !/\s/.test(piece);
  if (pieces.every(isName)) return prefix;
  throw new ReveilleError(
    'invalid_input',
    `The branch prefix ${JSON.stringify(prefix.slice(0, 100))} is no name for branches: use letters, digits, dots and dashes, and / between them.`,
  );
}
