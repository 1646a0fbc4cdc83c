import { setTimeout as sleep } from 'node:timers/promises';
import { GitError } from './git.ts';

/**
 * What git says when another git was in its way for a moment: a lock of an index, of a ref or of the packed refs,
 * and the linked worktree somebody else is just adding, whose files are there and empty.
 */
const RACES =
  /\.lock': File exists|cannot lock ref|unable to create .*: File exists|Unable to create .*\.lock|failed to read .*(commondir|gitdir)|could not lock|unable to resolve reference .*: Success/i;

// Waits of 10, 20, 40 … 640 ms, each give or take a half: three seconds in all.
const [FIRST_WAIT_MS, LONGEST_WAIT_MS, TRIES] = [10, 640, 9];

/** An answer, not a race: what should not be there is, or stands elsewhere. */
const ANSWERS = /reference already exists|but expected/;

export const isRace = (error: unknown): boolean =>
  error instanceof GitError && RACES.test(error.stderr) && !ANSWERS.test(error.stderr);

/** Calls `ask` until it is not another git that keeps it from succeeding, or has been too often. */
export async function retrying<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let round = 0; ; round += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isRace(error) || round + 1 >= TRIES) throw error;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** round, LONGEST_WAIT_MS);
      await sleep(wait * (0.5 + Math.random()), undefined, { signal });
    }
  }
}
