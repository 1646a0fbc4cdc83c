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

const NOT_THERE = /unable to resolve reference|but expected/;

/** Deletes a ref that still stands where it did; one that has moved holds somebody's work. */
export async function dropRef(gitDir: string, ref: string, expected: string): Promise<void> {
  const args = ['update-ref', '--no-deref', '-d', ref, expected];
  await retrying(async () => {
    await git({ gitDir, args, apart: true }).catch((error: unknown) => {
      if (!(error instanceof GitError) || !NOT_THERE.test(error.stderr)) throw error;
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
