import { findSandbox } from '../../src/sandbox/probe.ts';

/** The sandbox of this machine. Where there is none its tests are skipped, by name, unless one is demanded. */
export const found = await findSandbox();

export const hasSandbox = found.kind === 'bubblewrap';

if (!hasSandbox && process.env['REVEILLE_REQUIRE_SANDBOX'] === '1')
  throw new Error(`REVEILLE_REQUIRE_SANDBOX is set, and there is no sandbox. ${found.why}`);

/** For the name of a suite. */
export const unlessSkipped = hasSandbox ? '' : ` (skipped: ${found.why})`;

export const isRoot = process.getuid?.() === 0;
