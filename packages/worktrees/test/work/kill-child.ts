import { writeSync } from 'node:fs';
import type { Checkout } from '@reveille/worktrees';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { pull } from '../../src/work/pull.ts';
import { AGENT } from './world.ts';

/** A process that does one thing to checkouts and is killed meanwhile: `kill-child.ts <what> <checkout> [<into>]`. */
const [what = '', ...given] = process.argv.slice(2);
// The test wrote them.
const [checkout, into] = given.map((text) => JSON.parse(text) as Checkout);
if (!checkout) throw new Error('No checkout was given.');
// With a write that is over before it goes on.
writeSync(1, 'begins\n');
if (what === 'import') await importBranch(checkout);
if (what === 'leftovers') await commitLeftovers(checkout, AGENT);
if (what === 'pull') await pull(checkout, into ?? checkout);
if (what === 'home') await bringHome(checkout.repository, checkout.branch);
