import { existsSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { importBranch } from '../../src/work/import.ts';
import { listSnapshots } from '../../src/work/snapshots.ts';
import { AGENT, makeWorld, type AgentPlace, type World } from './world.ts';

const branchAt = (world: World, { checkout }: AgentPlace): string =>
  world.home.git('rev-parse', `refs/heads/${checkout.branch}`);

describe.each(['clone', 'linked'] as const)('%s', (kind) => {
  test('[WKT1.20] a branch comes in when its agent commits, and again without news', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    const start = agent.head();
    expect(await importBranch(agent.checkout)).toEqual({
      tip: start,
      imported: false,
      problem: null,
      replaced: null,
    });
    agent.commit({ 'new.txt': 'new\n' });
    const tip = agent.commit({ 'src/b.txt': 'changed\n' });
    const first = await importBranch(agent.checkout);
    expect(first).toMatchObject({ tip, problem: null, replaced: null });
    // In a linked worktree the branch is the person's own ref, and had moved already.
    expect(first.imported).toBe(kind === 'clone');
    expect(await importBranch(agent.checkout)).toEqual({
      tip,
      imported: false,
      problem: null,
      replaced: null,
    });
    expect(branchAt(world, agent)).toBe(tip);
    expect(world.home.git('log', '--format=%H', `main..${agent.checkout.branch}`).split('\n')).toHaveLength(
      2,
    );
    world.healthy();
  });

  test('[WKT1.21] what counts is where the agent stands, unless it only looks at something older', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    const first = agent.commit({ one: '1' });
    agent.git('checkout', '-q', '-b', 'elsewhere');
    const second = agent.commit({ two: '2' });
    expect((await importBranch(agent.checkout)).tip).toBe(second);
    expect(branchAt(world, agent)).toBe(second);
    agent.git('checkout', '-q', '--detach');
    const third = agent.commit({ three: '3' });
    expect((await importBranch(agent.checkout)).tip).toBe(third);
    agent.git('checkout', '-q', '-B', agent.checkout.branch, third);
    agent.git('checkout', '-q', '--detach', first);
    expect(await importBranch(agent.checkout)).toMatchObject({ tip: third, replaced: null });
    world.healthy();
  });

  test('[WKT1.21] a rebase that is half done is not taken for its result', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    const base = agent.head();
    const tip = agent.commit({ 'a.txt': 'mine\n' });
    agent.git('checkout', '-q', '-b', 'other', base);
    const other = agent.commit({ 'a.txt': 'theirs\n' });
    agent.git('checkout', '-q', agent.checkout.branch);
    expect(agent.tryGit('rebase', other)).toBeNull();
    expect((await importBranch(agent.checkout)).tip).toBe(tip);
    agent.git('rebase', '--abort');
  });

  test('[WKT1.22] what a rewound or rewritten branch held is kept', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    const first = agent.commit({ one: '1' });
    const second = agent.commit({ two: '2' });
    await importBranch(agent.checkout);
    agent.git('reset', '-q', '--hard', first);
    const rewound = await importBranch(agent.checkout);
    expect(rewound).toMatchObject({ tip: first, problem: null });
    expect(branchAt(world, agent)).toBe(first);
    const [kept] = await listSnapshots(world.repository, { name: agent.checkout.name });
    expect(kept).toMatchObject({ ref: rewound.replaced, tips: [second] });
    agent.git('commit', '-q', '--amend', '-m', 'another message');
    const { replaced } = await importBranch(agent.checkout);
    expect(world.home.git('rev-parse', `${replaced}^1`)).toBe(first);
    agent.git('reflog', 'expire', '--expire=all', '--all');
    world.healthy();
    expect(world.home.git('show', `${second}:two`)).toBe('2');
  });
});

test('[WKT1.20] a repository with SHA-256 names', async () => {
  using world = await makeWorld({ a: 'a' }, ['--object-format=sha256']);
  const agent = await world.checkout('task');
  agent.write({ left: 'over' });
  const { tip } = await commitLeftovers(agent.checkout, AGENT);
  expect(tip).toHaveLength(64);
  expect(world.home.git('show', `${tip}:left`)).toBe('over');
  world.healthy();
});

test('[WKT1.20] packed refs and packed objects of the agent are read like loose ones', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const tip = agent.commit({ x: 'x' });
  agent.git('gc', '-q');
  agent.git('pack-refs', '--all');
  expect(existsSync(join(agent.path, '.git', 'refs', 'heads', agent.checkout.branch))).toBe(false);
  expect(await importBranch(agent.checkout)).toMatchObject({ tip, imported: true });
});

test('[WKT1.23] an agent that deletes or damages its repository: the last imported tip, and it is said', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const good = agent.commit({ one: '1' });
  await importBranch(agent.checkout);
  const bad = agent.commit({ two: '2' });
  const object = join(agent.path, '.git', 'objects', bad.slice(0, 2), bad.slice(2));
  const bytes = readFileSync(object);
  rmSync(object);
  expect(await importBranch(agent.checkout)).toMatchObject({
    tip: good,
    imported: false,
    problem: expect.stringContaining('not taken'),
  });
  writeFileSync(object, Buffer.from('rubbish'));
  expect(await importBranch(agent.checkout)).toMatchObject({
    tip: good,
    imported: false,
    problem: expect.stringContaining('not taken'),
  });
  rmSync(object, { force: true });
  writeFileSync(object, bytes);
  expect(await importBranch(agent.checkout)).toMatchObject({ tip: bad, imported: true, problem: null });
  rmSync(join(agent.path, '.git'), { recursive: true, force: true });
  expect(await importBranch(agent.checkout)).toMatchObject({
    tip: bad,
    imported: false,
    problem: expect.stringContaining('cannot be read'),
  });
  world.healthy();
});

test('[WKT1.23] a linked branch that was damaged is set back to what was good', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task', { kind: 'linked' });
  const good = agent.commit({ one: '1' });
  await importBranch(agent.checkout);
  const ref = join(world.home.path, '.git', 'refs', 'heads', agent.checkout.branch);
  for (const damage of ['0123456789012345678901234567890123456789\n', 'rubbish\n']) {
    writeFileSync(ref, damage);
    expect(await importBranch(agent.checkout)).toMatchObject({ tip: good, problem: expect.any(String) });
    expect(branchAt(world, agent)).toBe(good);
    world.healthy();
  }
});

test('[WKT1.23] a linked branch that is only refused stays the agent’s', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task', { kind: 'linked' });
  const good = agent.commit({ one: '1' });
  await importBranch(agent.checkout);
  const bad = agent.commit({ '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=evil\n' });
  expect(await importBranch(agent.checkout)).toMatchObject({ tip: good, problem: expect.any(String) });
  expect(branchAt(world, agent)).toBe(bad);
});

test('[WKT1.25] a branch that the person has checked out is not moved under their hands', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const before = agent.head();
  world.home.git('checkout', '-q', agent.checkout.branch);
  const tip = agent.commit({ x: 'x' });
  const found = await importBranch(agent.checkout);
  expect(found).toMatchObject({ tip, problem: expect.stringContaining(world.home.path) });
  expect(world.home.head()).toBe(before);
  expect(world.home.git('status', '--porcelain')).toBe('');
  agent.write({ y: 'y' });
  const left = await commitLeftovers(agent.checkout, AGENT);
  expect(left.committed).toBe(true);
  expect(world.home.head()).toBe(before);
  world.home.git('checkout', '-q', 'main');
  world.healthy();
  expect((await importBranch(agent.checkout)).tip).toBe(tip);
  expect(branchAt(world, agent)).toBe(tip);
  expect(world.home.git('show', `${left.tip}:y`)).toBe('y');
});

test('[WKT1.30] the person’s `git gc --prune=now` meanwhile keeps nothing from being taken', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const packs = join(world.repository.gitDir, 'objects', 'pack');
  let taken = 0;
  // As gc does: whatever is called so, and however new it is; each name once, because nobody collects as often as packs are placed.
  const seen = new Set<string>();
  using _watcher = watchFor(packs, (name) => {
    const path = join(packs, name);
    if (!name.startsWith('tmp_reveille_') || seen.has(name) || !existsSync(path)) return;
    seen.add(name);
    rmSync(path, { force: true });
    taken += 1;
  });
  for (let i = 0; taken < 4 || i < 4; i += 1) {
    const tip = agent.commit({ file: String(i) });
    expect(await importBranch(agent.checkout)).toMatchObject({ tip, problem: null });
    agent.write({ left: String(i) });
    expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ committed: true, problem: null });
  }
  world.healthy();
});

function watchFor(folder: string, seen: (name: string) => void): Disposable {
  const watcher = watch(folder, (_, name) => name !== null && seen(name));
  return { [Symbol.dispose]: () => watcher.close() };
}
