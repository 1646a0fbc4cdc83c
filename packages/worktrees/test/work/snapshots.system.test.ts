import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { diff, workProduct } from '../../src/work/diff.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { putFiles, restore } from '../../src/work/restore.ts';
import { dropSnapshots, listSnapshots, snapshot } from '../../src/work/snapshots.ts';
import { AGENT, makeWorld, type AgentPlace } from './world.ts';

const read = (place: AgentPlace, name: string): string => readFileSync(join(place.path, name), 'utf8');

test('[WKT6.40] a snapshot keeps files, branch, other branches and stashes, whatever becomes of the checkout', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const tip = agent.commit({ one: '1' });
  agent.git('checkout', '-q', '-b', 'idea');
  const idea = agent.commit({ idea: 'i' });
  agent.git('checkout', '-q', agent.checkout.branch);
  for (const text of ['first', 'second']) {
    agent.write({ one: text });
    agent.git('stash', 'push', '-q');
  }
  agent.write({ one: 'uncommitted', fresh: 'untracked', 'skip.log': 'ignored' });
  const kept = await snapshot(agent.checkout, 'discard\nnow');
  expect(kept).toMatchObject({ why: 'discard now', leftOut: [], name: agent.checkout.name });
  expect(await snapshot(agent.checkout, 'discard now')).toMatchObject({ ref: kept.ref });
  rmSync(agent.path, { recursive: true });
  world.healthy();
  const { home } = world;
  expect(home.git('show', `${kept.ref}:one`)).toBe('uncommitted');
  expect(home.git('ls-tree', '--name-only', kept.ref).split('\n')).toContain('fresh');
  expect(home.git('rev-parse', `${kept.ref}^1`)).toBe(tip);
  const reachable = home.git('rev-list', kept.ref).split('\n');
  expect(reachable).toContain(idea);
  const texts = kept.tips.map((oid) => home.tryGit('show', `${oid}:one`));
  expect(texts).toEqual(expect.arrayContaining(['first', 'second']));
});

test('[WKT6.40] also without the agent’s repository, and without its folder', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.commit({ one: '1' });
  agent.write({ two: '2' });
  rmSync(join(agent.path, '.git'), { recursive: true });
  const kept = await snapshot(agent.checkout, 'cancel');
  expect(world.home.git('diff', '--name-only', 'main', kept.ref)).toBe('one\ntwo');
  expect(kept.notices.join()).toContain('cannot be read');
  rmSync(agent.path, { recursive: true });
  const last = await snapshot(agent.checkout, 'clean-up');
  expect(last.notices.join()).toContain('no folder');
});

test('[WKT6.41] snapshots are listed, the oldest first, with their reasons', async () => {
  using world = await makeWorld();
  const [a, b] = [await world.checkout('a'), await world.checkout('b')];
  for (const [place, why] of [
    [a, 'one'],
    [b, 'two'],
    [a, 'three'],
  ] as const) {
    place.write({ file: why });
    await snapshot(place.checkout, why);
  }
  const reasons = async (of?: { name?: string; branch?: string }): Promise<string[]> =>
    (await listSnapshots(world.repository, of)).map(({ why }) => why);
  expect((await reasons()).toSorted()).toEqual(['one', 'three', 'two']);
  expect(await reasons({ name: a.checkout.name })).toEqual(['one', 'three']);
  expect(await reasons({ branch: b.checkout.branch })).toEqual(['two']);
});

test('[WKT6.42] a snapshot comes back into a checkout, which is kept itself first', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.commit({ one: '1' });
  agent.write({ one: 'precious', fresh: 'untracked', 'skip.log': 'ignored' });
  const kept = await snapshot(agent.checkout, 'retry');
  await putFiles(agent.checkout, { target: agent.checkout.start, why: 'a fresh start' });
  expect([existsSync(join(agent.path, 'fresh')), existsSync(join(agent.path, 'one'))]).toEqual([
    false,
    false,
  ]);
  expect(read(agent, 'skip.log')).toBe('ignored');
  agent.write({ later: 'later' });
  await restore(world.repository, kept.ref, { checkout: agent.checkout });
  expect([read(agent, 'one'), read(agent, 'fresh')]).toEqual(['precious', 'untracked']);
  expect(existsSync(join(agent.path, 'later'))).toBe(false);
  const [last] = (await listSnapshots(world.repository)).toReversed();
  expect(world.home.git('show', `${last?.ref}:later`)).toBe('later');
  world.healthy();
});

test('[WKT6.42] or onto a new branch', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const tip = agent.commit({ one: '1' });
  const clean = await snapshot(agent.checkout, 'clean');
  agent.write({ two: '2' });
  const dirty = await snapshot(agent.checkout, 'dirty');
  expect(await restore(world.repository, clean.ref, { branch: 'clean' })).toBe(tip);
  const made = await restore(world.repository, dirty.ref, { branch: 'dirty' });
  expect(world.home.git('rev-parse', 'dirty', 'dirty^')).toBe(`${made}\n${tip}`);
  expect(world.home.git('show', 'dirty:two')).toBe('2');
  const again = restore(world.repository, dirty.ref, { branch: 'main' });
  await expect(again).rejects.toMatchObject({ code: 'wrong_state' });
  const bad = restore(world.repository, dirty.ref, { branch: '../x..y' });
  await expect(bad).rejects.toMatchObject({ code: 'invalid_input' });
  const unknown = restore(world.repository, 'refs/heads/main', { branch: 'x' });
  await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
});

test('[WKT6.43] retention drops what is old and not among the newest, and can say so before', async () => {
  using world = await makeWorld();
  const [a, b] = [await world.checkout('a'), await world.checkout('b')];
  for (const place of [a, b])
    for (const why of ['1', '2', '3']) {
      place.write({ file: why });
      await snapshot(place.checkout, why);
    }
  const { repository } = world;
  const whys = (kept: readonly { why: string }[]): string =>
    kept
      .map(({ why }) => why)
      .toSorted()
      .join();
  expect(whys(await dropSnapshots(repository, {}))).toBe('');
  expect(whys(await dropSnapshots(repository, { olderThan: 0 }))).toBe('');
  expect(whys(await dropSnapshots(repository, { keep: 1, dry: true }))).toBe('1,1,2,2');
  expect(whys(await dropSnapshots(repository, { keep: 1, names: new Set([a.checkout.name]) }))).toBe('1,2');
  expect(whys(await dropSnapshots(repository, { olderThan: Date.now() + 60_000, keep: 2 }))).toBe('1');
  expect(whys(await listSnapshots(repository))).toBe('2,3,3');
});

test('[WKT6.20] files with + and − against where the branch started', async () => {
  using world = await makeWorld({
    a: 'a\n',
    old: 'some text\nthat stays\nthe same\n',
    bin: 'x\0',
    gone: '1\n2\n',
  });
  const agent = await world.checkout('task');
  agent.git('mv', 'old', 'renamed');
  agent.git('rm', '-q', 'gone');
  agent.commit({ a: 'a\nb\nc\n', bin: 'y\0' });
  // The person's branch goes on; that is no change of the agent's.
  world.home.commit({ elsewhere: 'x' });
  agent.write({ 'tab\there': 'new\n' });
  const files = [
    { path: 'a', insertions: 2, deletions: 0 },
    { path: 'bin', insertions: 0, deletions: 0 },
    { path: 'gone', insertions: 0, deletions: 2 },
    { path: 'renamed', insertions: 0, deletions: 0 },
  ];
  const { start, branch, path } = agent.checkout;
  const committed = await diff(agent.checkout, { uncommitted: false });
  expect(committed).toMatchObject({ branch, worktree: path, start, files, truncated: false });
  expect(committed.patch).toContain('+b\n+c\n');
  expect((await diff(agent.checkout)).files).toEqual([
    ...files,
    { path: 'tab\there', insertions: 1, deletions: 0 },
  ]);
  const { tip, problem } = await commitLeftovers(agent.checkout, AGENT);
  const work = await workProduct(agent.checkout, { commit: tip, problem });
  expect(work).toMatchObject({ worktree: path, branch, commit: tip, problem: null });
  expect(work.files).toHaveLength(5);
});

test('[WKT6.21] a patch is bounded, and cut at the end of a line', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.commit({ 'a.txt': 'ä\n'.repeat(5_000), 'z-huge': 'x\n'.repeat(20_000_000) });
  const { patch, truncated, files } = await diff(agent.checkout, { maxBytes: 1_000 });
  expect(truncated).toBe(true);
  expect(Buffer.byteLength(patch)).toBeLessThanOrEqual(1_000);
  expect(patch.endsWith('+ä\n')).toBe(true);
  expect(files.map(({ insertions }) => insertions)).toEqual([5_000, 0]);
});
