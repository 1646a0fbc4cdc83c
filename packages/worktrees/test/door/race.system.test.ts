import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FileDoor } from '../../src/door/door.ts';
import { startSwapper, type Swap } from './swapper.ts';
import { makePipe, makeWorld, outcome, type World } from './world.ts';

interface Race {
  readonly what: string;
  readonly swap: (world: World) => Swap;
  /** What is asked while the attacker is at work, and how often. */
  readonly call: (door: FileDoor, i: number) => Promise<unknown>;
  readonly times: number;
}

const inTree = (world: World, path: string): string => join(world.root, path);

/** `d` is a folder with what the one outside has too; `l` is a link to the one outside. */
function folderAgainstLink(world: World): Swap {
  mkdirSync(inTree(world, 'd/sub'), { recursive: true });
  for (const name of ['a.txt', 'sub/b.txt', 'secret.txt'])
    writeFileSync(inTree(world, `d/${name}`), 'inside');
  symlinkSync('../outside', inTree(world, 'l'));
  return { kind: 'exchange', a: inTree(world, 'd'), b: inTree(world, 'l') };
}

const linkAgainstLink = (world: World): Swap => {
  symlinkSync('src', inTree(world, 'd'));
  return { kind: 'relink', a: inTree(world, 'd'), b: 'src', c: '../outside' };
};

const fileAgainstLink = (world: World): Swap => {
  writeFileSync(inTree(world, 'f'), 'plain');
  return { kind: 'leaf', a: inTree(world, 'f'), b: '../outside/secret.txt' };
};

const fileAgainstPipe = (world: World): Swap => {
  writeFileSync(inTree(world, 'f'), 'plain');
  makePipe(inTree(world, 'p'));
  return { kind: 'exchange', a: inTree(world, 'f'), b: inTree(world, 'p') };
};

const write = (path: string) => async (door: FileDoor) => await door.writeFile(path, 'written');
/** What comes is the one file that may be read: not the secret, nor the nothing of a pipe. */
const read = (path: string, text: string) => async (door: FileDoor) => {
  expect((await door.readFile(path)).text()).toBe(text);
};

/** New names too: outside they would be left behind, the names of unfinished files among them. */
const create = async (door: FileDoor, i: number): Promise<void> => {
  await door.writeFile(`d/new/${i % 50}.txt`, 'written', { exclusive: i % 2 === 0 });
};

const remove = async (door: FileDoor, i: number): Promise<void> => {
  if (i % 2) await door.writeFile('d/secret.txt', 'again');
  else await door.deleteFile('d/secret.txt');
};

/** 100,000 writes in all: every second call of the deletes is one. */
const RACES: Race[] = [
  { what: 'writes, the folder swapped', swap: folderAgainstLink, call: write('d/a.txt'), times: 30_000 },
  {
    what: 'writes, a folder above it swapped',
    swap: folderAgainstLink,
    call: write('d/sub/b.txt'),
    times: 20_000,
  },
  { what: 'new files, the folder swapped', swap: folderAgainstLink, call: create, times: 20_000 },
  {
    what: 'writes through a link that changes',
    swap: linkAgainstLink,
    call: write('d/a.txt'),
    times: 15_000,
  },
  { what: 'writes, the file itself swapped', swap: fileAgainstLink, call: write('f'), times: 10_000 },
  { what: 'deletes and writes, the folder swapped', swap: folderAgainstLink, call: remove, times: 10_000 },
  {
    what: 'reads, the folder swapped',
    swap: folderAgainstLink,
    call: read('d/secret.txt', 'inside'),
    times: 5_000,
  },
  { what: 'reads, the file itself swapped', swap: fileAgainstLink, call: read('f', 'plain'), times: 5_000 },
  {
    what: 'reads, the file swapped for a pipe',
    swap: fileAgainstPipe,
    call: read('f', 'plain'),
    times: 2_000,
  },
];

test.runIf(process.platform === 'linux').each(RACES)(
  '[BND1.4] nothing escapes while an attacker swaps folders and links: $what',
  async ({ swap, call, times }) => {
    using world = makeWorld();
    const before = world.canary();
    const ends = new Set<string>();
    await using swapper = await startSwapper(swap(world));
    for (let i = 0; i < times; i += 1) {
      ends.add(await outcome(call(world.door, i)));
    }
    expect(await swapper.stop()).toBeGreaterThan(0);
    expect(world.canary()).toEqual(before);
    expect(readdirSync(world.base).sort()).toEqual(['outside', 'wt', 'wt-evil']);
    // None ends in a way that is a defect.
    expect([...ends].filter((end) => !EXPECTED.has(end))).toEqual([]);
  },
);

const EXPECTED = new Set([
  'ok',
  'not_allowed outside',
  'not_allowed kind',
  'not_found',
  'wrong_state',
  'contention',
]);
