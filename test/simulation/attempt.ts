import { ReveilleError, type ErrorCode } from '@reveille/protocol';
import { ConnectionLost } from './connection-lost.ts';
import type { Life } from './life.ts';
import type { World } from './world.ts';

/** What people may be told no with. Anything else is a defect. */
const EXPECTED: ReadonlySet<ErrorCode> = new Set([
  'wrong_state',
  'already_answered',
  'limit_reached',
  'budget_exhausted',
  'not_allowed',
  'store_failed',
  'store_full',
  'contention',
  'stopping',
  'aborted',
  // A session that somebody ended while a call in its name was on the way.
  'unauthorized',
]);

/** Something that somebody who is no agent tries. Never throws. */
export async function attempt(
  world: World,
  life: Life,
  what: string,
  make: () => Promise<unknown>,
): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (error instanceof ConnectionLost) return;
    if (error instanceof ReveilleError && EXPECTED.has(error.code))
      return world.say(life, `somebody is told no (${what}): ${error.code}`);
    world.fail(
      'engine',
      `somebody (${what}) was answered with ${error instanceof Error ? error.stack : String(error)}`,
    );
  }
}
