import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { pull } from '../../src/work/pull.ts';
import { AGENT, makeWorld } from './world.ts';

/** The way of one piece of work; each step is proven in detail by the system tests beside this. */
test('[WKT1.20][WKT6.10][WKT6.30] what a child committed and left comes home to its parent', async () => {
  using world = await makeWorld();
  const [parent, child] = [await world.checkout('parent'), await world.checkout('child')];
  child.commit({ committed: 'c\n' });
  child.write({ left: 'l\n' });
  const { tip } = await commitLeftovers(child.checkout, AGENT);
  // The child's own repository is as its agent left it: what is pulled is what the person's has.
  expect(world.home.git('rev-parse', child.checkout.branch)).toBe(tip);
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({ merged: true, commit: tip });
  expect(readFileSync(join(parent.path, 'left'), 'utf8')).toBe('l\n');
});
