import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDoor } from '../../src/door/door.ts';
import { makeWorld, outcome, outcomes, type World } from './world.ts';

/** What this process holds open in the world's folders. Others' descriptors come and go. */
function held(world: World): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(world.base) ? [target] : [];
    } catch {
      // The one this listing itself was read by.
      return [];
    }
  });
}

const PATHS = [
  'src/a.txt',
  'new/deep/x.txt',
  'nope',
  'nope/nope',
  'src',
  'in-dir/a.txt',
  'in-file',
  'in-new',
  'hard.txt',

  'out-dir/x',
  'out-file',
  'out-new',
  'loop-a',
  'loop-a/x',
  '../x',
  '/etc/passwd',
  '.git/config',
  'to-git/config',

  'to-modules/x',
  'to-settings',
  'README.md/x',
  '.mcp.json',
  'src/round/../x',
  'src/to-root',
  'x'.repeat(300),
];

test.runIf(process.platform === 'linux').each(['descriptor', 'path'] as const)(
  '[BND1.13] by %s no descriptor is left open, however a call ends, and none after the door is closed',
  async (way) => {
    using world = makeWorld({ way });
    expect(held(world)).toEqual([world.root]);
    for (const path of PATHS) await outcomes(world.door, path);
    await world.door.readFile('README.md', { maxBytes: 1 }).catch(() => undefined);
    expect(held(world)).toEqual([world.root]);
    const refused = ['missing', '.gitignore', 'out-abs', 'in-abs'].map((name) => join(world.root, name));
    for (const root of refused) expect(() => openDoor(root, { access: 'read', way })).toThrow();
    expect(held(world)).toEqual([world.root]);
    world.door.close();
    expect(held(world)).toEqual([]);
  },
);

test.runIf(process.platform === 'linux')('[BND1.13] a walk that is given up holds nothing', async () => {
  using world = makeWorld();
  for await (const path of world.door.walk('')) if (path.startsWith('src/deep')) break;
  const waiting = world.door.walk('')[Symbol.asyncIterator]();
  await waiting.next();
  expect(held(world)).toEqual([world.root]);
  world.door.close();
  expect(held(world)).toEqual([]);
});

test('[BND1.13] a closed door opens nothing, not even what has its old number', async () => {
  using world = makeWorld();
  const walk = world.door.walk('')[Symbol.asyncIterator]();
  await walk.next();
  const large = world.door.writeFile('large', Buffer.alloc(2 ** 20));
  world.door.close();
  world.door.close();
  // Takes the number that has just become free.
  using other = openDoor(world.outside, { access: 'write' });
  const ends = await outcomes(world.door, 'a.txt');
  expect(new Set(Object.values(ends))).toEqual(new Set(['wrong_state']));
  expect(await outcome(walk.next())).toBe('wrong_state');
  // What was under way is finished.
  expect(await outcome(large)).toBe('ok');
  expect((await other.readFile('a.txt')).text()).toContain('secret');
});

test.runIf(process.platform === 'linux')(
  '[BND1.17] a door says how it holds folders; on Linux by descriptor',
  () => {
    using world = makeWorld();
    expect(world.door.way).toBe('descriptor');
    using other = openDoor(world.root, { access: 'read', way: 'path' });
    expect(other.way).toBe('path');
  },
);
