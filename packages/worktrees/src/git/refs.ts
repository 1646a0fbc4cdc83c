import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { git, GitError } from './git.ts';
import { retrying } from './races.ts';

/**
 * Makes refs that must not be there yet, all or none. The last word is only said when git has locked them all: if we
 * die before that, git takes everything back, and from then on the locks show that it is at work. So whoever finds
 * neither ref nor lock after our death knows that there will be none.
 *
 * It is never given up half way: it takes milliseconds, and a git that is killed leaves its locks behind.
 */
export async function createRefs(gitDir: string, refs: Readonly<Record<string, string>>): Promise<void> {
  const creations = Object.entries(refs).map(([ref, commit]) => `create ${ref}\0${commit}\0`);
  const first = `start\0${creations.join('')}prepare\0`;
  await retrying(() =>
    git({
      gitDir,
      args: ['update-ref', '-z', '--stdin'],
      input: first,
      goOn: (said) => (said.includes('prepare: ok') ? 'commit\0' : null),
      apart: true,
    }),
  );
}

// Between seeing the name of a ref and reading its file, a git reads the other refs of that folder: milliseconds.
const GRACE_MS = 250;

/**
 * To be called before refs are deleted. A git that goes through all refs dies ("bad object") over one whose file is gone
 * when it comes to read it, and the person's `fetch`, `log --all`, `gc` and `fsck` are such. So refs that are to go are
 * packed first: who has seen the file finds the ref among the packed ones, and when those are past it, it goes from
 * there, with no file of its own. Who cannot pack (a full disk) deletes all the same.
 */
export async function letGoOfFiles(gitDir: string, refs: readonly string[]): Promise<void> {
  if (!refs.some((ref) => existsSync(join(gitDir, ref)))) return;
  await packed(gitDir);
  await sleep(GRACE_MS);
}

/** By repository: a packing that has not begun yet, which does for everybody who comes before it does; and the last one. */
const [waiting, last] = [new Map<string, Promise<void>>(), new Map<string, Promise<void>>()];

function packed(gitDir: string): Promise<void> {
  const next = waiting.get(gitDir);
  if (next) return next;
  const mine = (last.get(gitDir) ?? Promise.resolve()).then(async () => {
    waiting.delete(gitDir);
    await packRefs(gitDir);
    if (last.get(gitDir) === mine) last.delete(gitDir);
  });
  waiting.set(gitDir, mine);
  last.set(gitDir, mine);
  return mine;
}

/** Fails for nobody: it is a courtesy. */
async function packRefs(gitDir: string): Promise<void> {
  await retrying(() => git({ gitDir, args: ['pack-refs', '--all'], apart: true })).catch(() => undefined);
}

const NOT_THERE = /unable to resolve reference|but expected/;

/** Deletes a ref that still stands where it did; one that has moved holds somebody's work. */
export async function dropRef(gitDir: string, ref: string, expected: string): Promise<void> {
  const args = ['update-ref', '--no-deref', '-d', ref, expected];
  await retrying(async () => {
    await git({ gitDir, args, apart: true }).catch(async (error: unknown) => {
      if (!(error instanceof GitError) || !NOT_THERE.test(error.stderr)) throw error;
      // Git also says that while another git is packing the ref.
      const found = await git({ gitDir, args: ['rev-parse', '-q', '--verify', ref], accept: [1] });
      if (found.stdout.trim() === expected) throw error;
    });
  });
}

// Far longer than git holds the lock of a ref.
const [LOOK_EVERY_MS, LOOKS] = [20, 150];

/**
 * For a ref that only we make, after the death of whoever made it: waits for the git that may still be at work, and
 * takes away the lock of one that was killed, which would stay for ever.
 */
export async function settleRef(gitDir: string, ref: string): Promise<void> {
  const lock = join(gitDir, `${ref}.lock`);
  for (let looks = 0; looks < LOOKS && existsSync(lock); looks += 1) await sleep(LOOK_EVERY_MS);
  await rm(lock, { force: true });
}
