import {
  appendFileSync,
  chmodSync,
  existsSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { baseline, compare } from '../../src/work/audit.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { checkpoint } from '../../src/work/checkpoint.ts';
import { snapshot } from '../../src/work/snapshots.ts';
import { AGENT, makeWorld } from './world.ts';

test('[BND3.10] nothing that runs do by themselves counts as a change', async () => {
  using world = await makeWorld();
  const { home, repository } = world;
  home.write({ 'a.txt': 'dirty\n', untracked: 'u' });
  const before = JSON.parse(JSON.stringify(await baseline(repository)));
  const index = readFileSync(join(home.path, '.git', 'index'));
  for (const kind of ['clone', 'linked'] as const) {
    const agent = await world.checkout(`task-${kind}`, { kind });
    agent.commit({ x: 'x' });
    agent.write({ y: 'y' });
    await checkpoint(agent.checkout);
    await commitLeftovers(agent.checkout, AGENT);
    await snapshot(agent.checkout, 'a test');
  }
  expect(await compare(repository, before)).toEqual([]);
  expect(readFileSync(join(home.path, '.git', 'index'))).toEqual(index);
  // What git writes when it only looks is no change either, nor is packing.
  home.git('status');
  home.git('gc', '-q');
  expect(await compare(repository, before)).toEqual([]);
});

test('[BND3.10] files, refs, index and HEAD that are not as they were are named', async () => {
  using world = await makeWorld({ clean: 'c\n', dirty: 'd\n', 'deep/er': 'e\n', '.gitignore': '*.log\n' });
  const { home, repository } = world;
  home.write({ dirty: 'mine\n', untracked: 'u\n', other: 'o\n' });
  const before = await baseline(repository);
  const expectChanges = async (...changes: string[]): Promise<void> => {
    const found = await compare(repository, before);
    expect(found.map(({ kind, path, what }) => `${kind} ${path} ${what}`)).toEqual(changes);
  };
  writeFileSync(join(home.path, 'clean'), 'C\n');
  // As if it had not been touched.
  utimesSync(join(home.path, 'clean'), 1, 1);
  writeFileSync(join(home.path, 'dirty'), 'MINE\n');
  rmSync(join(home.path, 'other'));
  rmSync(join(home.path, 'deep'), { recursive: true });
  home.write({ planted: 'p\n', 'ignored.log': 'i' });
  await expectChanges(
    'file clean changed',
    'file deep/er removed',
    'file dirty changed',
    'file other removed',
    'file planted added',
  );
  home.git('checkout', '-q', '--', 'clean', 'deep', 'dirty');
  home.write({ other: 'o\n' });
  rmSync(join(home.path, 'planted'));
  await expectChanges('file dirty changed', 'file other changed');
  home.git('update-ref', 'refs/heads/extra', 'HEAD');
  home.git('update-ref', 'refs/heads/reveille/ours', 'HEAD');
  home.git('add', 'untracked');
  await expectChanges(
    'ref refs/heads/extra added',
    'index .git/index changed',
    'file dirty changed',
    'file other changed',
    'file untracked changed',
  );
  home.git('checkout', '-q', 'extra');
  await expectChanges('setting HEAD:HEAD changed');
});

test('[BND3.11] a planted setting is found before any git could follow it', async () => {
  using world = await makeWorld({ 'a.txt': 'a\n', '.gitattributes': '*.txt filter=evil\n' });
  const { home, repository } = world;
  const before = await baseline(repository);
  const canary = join(world.folder, 'canary');
  const gitDir = join(home.path, '.git');
  const plant = async (name: string, text: string): Promise<void> => {
    const path = join(gitDir, name);
    const old = existsSync(path) ? readFileSync(path) : null;
    appendFileSync(path, text);
    chmodSync(path, 0o755);
    writeFileSync(join(home.path, 'a.txt'), `changed ${name}\n`);
    const found = await compare(repository, before);
    expect(found.map(({ path: where }) => where)).toEqual([`.git/${name}`]);
    expect(existsSync(canary)).toBe(false);
    if (old) writeFileSync(path, old);
    else rmSync(path);
    chmodSync(path.replace(/[^/]*$/, ''), 0o755);
    if (old) chmodSync(path, 0o644);
  };
  await plant(
    'config',
    `[filter "evil"]\n\tclean = touch ${canary}\n[core]\n\tfsmonitor = touch ${canary}\n`,
  );
  await plant('hooks/post-index-change', `#!/bin/sh\ntouch ${canary}\n`);
  await plant('info/attributes', '* filter=evil\n');
  await plant('objects/info/alternates', `${world.folder}\n`);
  expect(await compare(repository, before)).toEqual([{ kind: 'file', path: 'a.txt', what: 'changed' }]);
});

test('[BND3.11] a filter of the person is not run on what somebody may have planted', async () => {
  using world = await makeWorld({ 'a.txt': 'a\n', '.gitattributes': '*.txt filter=mine\n' });
  const { home, repository } = world;
  const canary = join(world.folder, 'canary');
  home.git('config', 'filter.mine.clean', `touch ${canary}; cat`);
  const before = await baseline(repository);
  // As long as it was: git has to compare the content.
  writeFileSync(join(home.path, 'a.txt'), 'b\n');
  expect(await compare(repository, before)).toEqual([{ kind: 'file', path: 'a.txt', what: 'changed' }]);
  expect(existsSync(canary)).toBe(false);
  home.git('status');
  expect(existsSync(canary)).toBe(true);
});

test('[BND3.10] a split index is read', async () => {
  using world = await makeWorld();
  world.home.git('update-index', '--split-index');
  const before = await baseline(world.repository);
  world.home.write({ 'a.txt': 'changed\n' });
  expect(await compare(world.repository, before)).toMatchObject([{ path: 'a.txt' }]);
});
