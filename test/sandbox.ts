// Whether this machine has a sandbox, for tests of several rooms.
import { probeSandbox } from '@reveille/worktrees';

const { kind, why } = await probeSandbox();

export const hasSandbox = kind === 'bubblewrap';

// Tests that need a sandbox are skipped where there is none, by name, unless one is demanded.
if (!hasSandbox && process.env['REVEILLE_REQUIRE_SANDBOX'] === '1')
  throw new Error(`REVEILLE_REQUIRE_SANDBOX is set, and there is no sandbox. ${why}`);

/** For the name of a suite. */
export const unlessSkipped = hasSandbox ? '' : ` (skipped: ${why})`;
