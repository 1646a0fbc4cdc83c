import { ReveilleError } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { git, GitError, type GitAnswer, type GitCall } from '../git/git.ts';
import { retrying } from '../git/races.ts';
import { letGoOfFiles } from '../git/refs.ts';

/** Our refs in the person's repository. `<name>` is a checkout's name, which is safe in a ref. */
export const REFS = {
  /** Where the agent's branch stood when it was last imported; keeps those commits alive. */
  seen: (name: string): string => `refs/reveille/seen/${name}`,
  snapshots: (name: string): string => `refs/reveille/snapshots/${name}/`,
  checkpoints: (name: string): string => `refs/reveille/checkpoints/${name}/`,
  /** The snapshot that was last restored into a checkout. */
  restored: (name: string): string => `refs/reveille/restored/${name}`,
  /** What was last pulled into a checkout from each of its children. */
  pulled: (parent: string, child: string): string => `refs/reveille/pulled/${parent}/${child}`,
} as const;

export const branchRef = (branch: string): string => `refs/heads/${branch}`;

export interface RefUpdate {
  readonly ref: string;
  /** Null deletes it. */
  readonly to: string | null;
  /** Where it must stand now; null: it must not be there. */
  readonly from: string | null;
}

type HomeCall = Pick<GitCall, 'args' | 'input' | 'env' | 'accept' | 'apart' | 'alternates'>;

/** Asks git in the person's own repository, whose config is the person's. */
export const atHome = async (repository: Repository, call: HomeCall): Promise<GitAnswer> =>
  await git({ ...call, gitDir: repository.gitDir });

/** The commit a ref or a commit's name stands for; null if there is none. */
export async function commitAt(repository: Repository, name: string): Promise<string | null> {
  const args = ['rev-parse', '-q', '--verify', '--end-of-options', `${name}^{commit}`];
  const answer = await atHome(repository, { args, accept: [1, 128] });
  return answer.code === 0 ? answer.stdout.trim() : null;
}

export async function treeAt(repository: Repository, name: string): Promise<string> {
  const args = ['rev-parse', '--verify', '--end-of-options', `${name}^{tree}`];
  return (await atHome(repository, { args })).stdout.trim();
}

/** ref → object, of the refs under these prefixes (which end in `/`) or of these names. */
export async function readRefs(
  repository: Repository,
  patterns: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const args = ['for-each-ref', '--format=%(refname)%00%(objectname)', ...patterns];
  const { stdout } = await atHome(repository, { args });
  const lines = stdout.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const [ref = '', oid = ''] = line.split('\0');
      return [ref, oid] as const;
    }),
  );
}

/** All of them or none. False if one does not stand where it must. */
export async function updateRefs(
  repository: Repository,
  updates: readonly RefUpdate[],
  why: string,
): Promise<boolean> {
  const none = '0'.repeat(updates.find((update) => update.to)?.to?.length ?? 40);
  const lines = updates.map(({ ref, to, from }) =>
    to === null ? `delete ${ref}\0${from ?? ''}\0` : `update ${ref}\0${to}\0${from ?? none}\0`,
  );
  const args = ['update-ref', '-z', '--no-deref', '-m', `reveille: ${why}`, '--stdin'];
  const going = updates.filter(({ to }) => to === null).map(({ ref }) => ref);
  await letGoOfFiles(repository.gitDir, going);
  try {
    // A git that dies holding a lock leaves it: it does not die with us.
    await retrying(async () => {
      await atHome(repository, { args, input: lines.join(''), apart: true }).catch(throwUnlessMoved);
    });
    return true;
  } catch (error) {
    if (error instanceof RefMoved) return false;
    throw error;
  }
}

class RefMoved extends Error {
  override readonly name = 'RefMoved';
}

/** Git says the same about a lock, which passes, and about a value, which does not. */
function throwUnlessMoved(error: unknown): never {
  if (
    error instanceof GitError &&
    /but expected|reference already exists|unable to resolve reference(?!.*Success)/.test(error.stderr)
  )
    throw new RefMoved('A ref moved.', { cause: error });
  throw error;
}

export const moved = (ref: string): ReveilleError =>
  new ReveilleError('contention', `${ref} was moved by somebody else at the same moment. Try again.`, {
    data: { ref },
  });

/** Is everything of `old` in `young`? */
export async function isAncestor(repository: Repository, old: string, young: string): Promise<boolean> {
  if (old === young) return true;
  const args = ['merge-base', '--is-ancestor', old, young];
  return (await atHome(repository, { args, accept: [1] })).code === 0;
}

/** A ref under `prefix` with the next number, at a commit. */
export async function addNumbered(
  repository: Repository,
  prefix: string,
  commit: string,
  why: string,
): Promise<string> {
  for (;;) {
    const taken = [...(await readRefs(repository, [prefix])).keys()].map((ref) => numberOf(prefix, ref));
    const ref = `${prefix}${Math.max(0, ...taken) + 1}`;
    if (await updateRefs(repository, [{ ref, to: commit, from: null }], why)) return ref;
  }
}

export const numberOf = (prefix: string, ref: string): number => {
  const rest = ref.slice(prefix.length);
  return /^\d{1,9}$/.test(rest) ? Number(rest) : 0;
};
