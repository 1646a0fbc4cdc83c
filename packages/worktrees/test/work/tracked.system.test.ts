import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { mergeBranches } from '../../src/work/merge.ts';
import { pull } from '../../src/work/pull.ts';
import { restore } from '../../src/work/restore.ts';
import { snapshot } from '../../src/work/snapshots.ts';
import { readIndex } from '../../src/work/staged.ts';
import { AGENT, makeWorld, type AgentPlace, type World } from './world.ts';

const filesOf = (world: World, commit: string): string[] =>
  world.home.git('ls-tree', '-r', '--name-only', commit).split('\n');
const linksOf = (world: World, commit: string): Record<string, string> =>
  Object.fromEntries(
    world.home
      .git('ls-tree', '-r', '--format=%(objectmode) %(objectname) %(path)', commit)
      .split('\n')
      .filter((line) => line.startsWith('160000'))
      .map((line) => [line.split(' ')[2], line.split(' ')[1]]),
  );
const leftOf = async (agent: AgentPlace): Promise<string> =>
  (await commitLeftovers(agent.checkout, AGENT)).tip;

// Commits of another repository: nobody has them, as a submodule that is not checked out.
const [S1, S2, S3] = ['1'.repeat(40), '2'.repeat(40), '3'.repeat(40)];

async function withSubmodule(): Promise<World> {
  const world = await makeWorld();
  link(world.home, 'vendor', S1);
  world.home.commit({ '.gitmodules': '[submodule "vendor"]\n\tpath = vendor\n\turl = ../vendor\n' }, 'sub');
  return world;
}

function link(place: { path: string; git(...args: string[]): string }, path: string, oid: string): void {
  mkdirSync(join(place.path, path), { recursive: true });
  place.git('update-index', '--add', '--cacheinfo', `160000,${oid},${path}`);
}

describe.each(['clone', 'linked'] as const)('%s', (kind) => {
  test('[WKT6.50] a file that was committed or forced stays in the work when a .gitignore comes that matches it', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    agent.write({ 'report.csv': '1\n', 'forced.log': 'forced\n' });
    agent.git('add', '-f', 'forced.log');
    await leftOf(agent);
    agent.write({ '.gitignore': '*.log\n*.csv\n' });
    expect(filesOf(world, await leftOf(agent))).toEqual(expect.arrayContaining(['forced.log', 'report.csv']));
    agent.write({ 'report.csv': '2\n' });
    expect(world.home.git('show', `${await leftOf(agent)}:report.csv`)).toBe('2');
  });

  test('[WKT6.50] what an agent staged though it is ignored is taken, and what it took out of its index is not', async () => {
    using world = await makeWorld();
    world.home.write({ 'kept.log': 'kept\n' });
    world.home.git('add', '-f', 'kept.log');
    world.home.commit({}, 'a tracked log');
    const agent = await world.checkout('task', { kind });
    agent.write({ 'need.log': 'needed\n', 'other.log': 'not\n', 'a.txt': 'changed\n' });
    agent.git('add', '-f', 'need.log');
    agent.git('rm', '-q', '--cached', 'kept.log', 'src/b.txt');
    const tip = await leftOf(agent);
    expect(filesOf(world, tip)).toEqual(['.gitignore', 'a.txt', 'need.log', 'src/b.txt']);
    expect(existsSync(join(agent.path, 'kept.log'))).toBe(true);
    expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ tip, committed: false });
  });
});

test('[WKT6.51] a submodule that an agent moves to another commit or place is as it says, committed or staged', async () => {
  using world = await withSubmodule();
  const agent = await world.checkout('task');
  agent.git('update-index', '--cacheinfo', `160000,${S2},vendor`);
  agent.git('commit', '-qm', 'bump');
  agent.write({ more: 'more\n' });
  expect(linksOf(world, await leftOf(agent))).toEqual({ vendor: S2 });
  agent.git('update-index', '--cacheinfo', `160000,${S3},vendor`);
  expect(linksOf(world, await leftOf(agent))).toEqual({ vendor: S3 });
  agent.git('mv', 'vendor', 'third');
  expect(linksOf(world, await leftOf(agent))).toEqual({ third: S3 });
  agent.git('commit', '-qm', 'moved');
  expect(linksOf(world, await leftOf(agent))).toEqual({ third: S3 });
  const { branch } = agent.checkout;
  expect(await bringHome(world.repository, branch)).toMatchObject({ merged: true });
  expect(world.home.git('status', '--porcelain', '--ignore-submodules=none')).toBe('');
});

test('[WKT6.51] files in the place of a submodule that an agent took out are in the work, left or restored', async () => {
  using world = await withSubmodule();
  const agent = await world.checkout('task');
  agent.git('rm', '-qf', 'vendor');
  agent.write({ 'vendor/own.txt': 'own\n' });
  const tip = await leftOf(agent);
  expect(filesOf(world, tip)).toContain('vendor/own.txt');
  expect(linksOf(world, tip)).toEqual({});
  const kept = await snapshot(agent.checkout, 'kept');
  const other = await world.checkout('other');
  await restore(world.repository, kept.ref, { checkout: other.checkout });
  other.write({ 'vendor/more.txt': 'more\n' });
  const restored = await leftOf(other);
  expect(filesOf(world, restored)).toEqual(expect.arrayContaining(['vendor/more.txt', 'vendor/own.txt']));
  expect(linksOf(world, restored)).toEqual({});
});

test('[WKT6.51] a submodule that came with a merge of another branch stays, and one that an agent invents does not', async () => {
  using world = await withSubmodule();
  const { home } = world;
  const other = await world.checkout('other');
  other.git('update-index', '--cacheinfo', `160000,${S2},vendor`);
  other.git('commit', '-qm', 'bump');
  const theirs = await leftOf(other);
  home.git('rm', '-qf', 'vendor');
  home.git('commit', '-qm', 'removed');
  const agent = await world.checkout('task');
  // A conflict of the two, resolved for the other side.
  expect(() => agent.git('merge', '-q', theirs)).toThrow();
  agent.git('update-index', '--add', '--cacheinfo', `160000,${S2},vendor`);
  agent.git('commit', '-qm', 'resolved');
  link(agent, 'invented', S3);
  agent.git('commit', '-qm', 'invented');
  expect(linksOf(world, await leftOf(agent))).toEqual({ vendor: S2 });
});

test('[WKT6.51] a pull and a merge bring a submodule’s new commit, and not over the parent’s own', async () => {
  using world = await withSubmodule();
  const [parent, child] = [await world.checkout('parent'), await world.checkout('child')];
  child.git('update-index', '--cacheinfo', `160000,${S2},vendor`);
  child.git('commit', '-qm', 'bump');
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({ merged: true });
  expect(linksOf(world, await leftOf(parent))).toEqual({ vendor: S2 });
  parent.git('update-index', '--cacheinfo', `160000,${S3},vendor`);
  parent.git('commit', '-qm', 'another');
  expect(linksOf(world, await leftOf(parent))).toEqual({ vendor: S3 });
  const other = await world.checkout('other');
  other.commit({ other: 'other\n' });
  await importBranch(other.checkout);
  const merged = await mergeBranches(world.repository, {
    base: other.checkout.branch,
    branches: [child.checkout.branch],
  });
  expect(linksOf(world, merged.commit!)).toEqual({ vendor: S2 });
});

test('[WKT6.52] a pull brings a forced file that is ignored, and it is in the parent’s commit', async () => {
  using world = await makeWorld();
  const [parent, child] = [await world.checkout('parent'), await world.checkout('child')];
  child.write({ 'c.log': 'forced\n', n: 'n\n' });
  child.git('add', '-f', 'c.log');
  const tip = child.commit({});
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({ merged: true });
  parent.commit({ own: 'own\n' });
  const left = await leftOf(parent);
  expect(filesOf(world, left)).toEqual(expect.arrayContaining(['c.log', 'n', 'own']));
  expect(world.home.git('log', '-1', '--format=%P', left)).toContain(tip);
});

test('[WKT6.53] a restored snapshot has its forced files and its submodules in the work that follows', async () => {
  using world = await withSubmodule();
  const agent = await world.checkout('task');
  agent.write({ 'c.log': 'forced\n' });
  agent.git('add', '-f', 'c.log');
  agent.git('update-index', '--cacheinfo', `160000,${S2},vendor`);
  agent.git('commit', '-qm', 'work');
  const kept = await snapshot(agent.checkout, 'kept');
  agent.git('reset', '-q', '--hard', agent.checkout.start);
  agent.write({ 'c.log': 'in the way\n' });
  await restore(world.repository, kept.ref, { checkout: agent.checkout });
  expect(readFileSync(join(agent.path, 'c.log'), 'utf8')).toBe('forced\n');
  expect(world.home.git('rev-parse', `${await leftOf(agent)}^{tree}`)).toBe(kept.tree);
  agent.commit({ next: 'next\n' });
  const tip = await leftOf(agent);
  expect(filesOf(world, tip)).toEqual(expect.arrayContaining(['c.log', 'next']));
  expect(linksOf(world, tip)).toEqual({ vendor: S2 });
});

test.each(['2', '3', '4'])('[WKT6.54] an index of format %s is read as git reads it', async (version) => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.write({ 'deep/er/x': 'x', 'deep/er/y': 'y', 'ä ü': 'z', later: 'l' });
  agent.git('add', '-A');
  agent.git('add', '-N', '-f', 'later');
  agent.git('update-index', '--index-version', version);
  const read = readIndex(readFileSync(join(agent.path, '.git', 'index')), 20)!;
  const lines = read.map(
    ({ path, mode, oid }) => `${mode.toString(8)} ${oid} 0\t${Buffer.from(path, 'latin1').toString()}`,
  );
  expect(lines).toEqual(agent.git('ls-files', '-s', '-z').split('\0').filter(Boolean));
});

test('[WKT6.54] an index that is damaged, hostile or split names nothing, and keeps nobody from being taken', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.write({ own: 'own\n' });
  const file = join(agent.path, '.git', 'index');
  const good = readFileSync(file);
  const outside = Buffer.from(good);
  outside.write('../../a', good.indexOf('.gitignore'), 'latin1');
  const many = Buffer.from(good);
  many.writeUInt32BE(0xff_ff_ff_ff, 8);
  for (const bad of [Buffer.alloc(0), good.subarray(0, 70), many, outside, Buffer.alloc(1_000, 'DIRC')]) {
    writeFileSync(file, bad);
    expect(filesOf(world, await leftOf(agent))).toContain('own');
  }
  writeFileSync(file, good);
  agent.git('update-index', '--split-index');
  expect(readIndex(readFileSync(file), 20)).toBeNull();
  rmSync(file);
  expect(filesOf(world, await leftOf(agent))).toContain('own');
});
