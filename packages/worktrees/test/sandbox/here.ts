import { findSandbox } from '../../src/sandbox/probe.ts';

export { hasSandbox, unlessSkipped } from '../../../../test/sandbox.ts';

/** The sandbox of this machine. */
export const found = await findSandbox();

export const isRoot = process.getuid?.() === 0;
