import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { importBranch } from '../../src/work/import.ts';
import { listSnapshots } from '../../src/work/snapshots.ts';
import { AGENT, makeWorld, placeAt } from './world.ts';

describe.each(['clone', 'linked'] as const)('%s', (kind) => {
  test('[WKT6.10] what is not committed becomes a commit of the agent, once', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    const committed = agent.commit({ 'mine.txt': 'mine\n' });
    agent.write({ 'a.txt': 'changed\n', 'deep/down/new.txt': 'new\n', 'skip.log': 'ignored\n' });
    agent.git('add', 'a.txt');
    rmSync(join(agent.path, 'src'), { recursive: true });
    const left = await commitLeftovers(agent.checkout, AGENT);
    expect(left).toMatchObject({ committed: true, problem: null, notices: [], leftOut: [] });
    const { home } = world;
    expect(home.git('log', '-1', '--format=%an <%ae> %cn|%s|%P', agent.checkout.branch)).toBe(
      `Coder <coder@example.com> Reveille|What was left|${committed}`,
    );
    expect(home.git('ls-tree', '-r', '--name-only', left.tip).split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'deep/down/new.txt',
      'mine.txt',
    ]);
    expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ tip: left.tip, committed: false });
    expect(await importBranch(agent.checkout)).toMatchObject({ tip: left.tip, replaced: null });
    world.healthy();
  });

  test('[WKT6.12] modes, links, names, and files that became folders or the other way', async () => {
    using world = await makeWorld({
      file: 'f',
      'folder/x': 'x',
      'run.sh': '#!/bin/sh\n',
      plain: 'p',
      gone: 'g',
    });
    const agent = await world.checkout('task', { kind });
    rmSync(join(agent.path, 'file'));
    rmSync(join(agent.path, 'folder'), { recursive: true });
    rmSync(join(agent.path, 'gone'));
    agent.write({
      'file/inside': 'now a folder',
      folder: 'now a file',
      'ä ö\n"ü"': 'name',
      '-dash': 'd',
      'back\\slash': 'b',
    });
    chmodSync(join(agent.path, 'run.sh'), 0o755);
    rmSync(join(agent.path, 'plain'));
    symlinkSync('/etc/passwd', join(agent.path, 'plain'));
    symlinkSync('nowhere', join(agent.path, 'dangling'));
    const { tip, leftOut } = await commitLeftovers(agent.checkout, AGENT);
    expect(leftOut).toEqual([]);
    const tree = world.home.git('ls-tree', '-r', '-z', tip).split('\0');
    const entries = tree
      .filter((line) => line !== '')
      .map((line) => `${line.slice(0, 6)} ${line.slice(line.indexOf('\t') + 1)}`);
    expect(entries.toSorted()).toEqual(
      [
        '100644 -dash',
        '100644 back\\slash',
        '120000 dangling',
        '100644 file/inside',
        '100644 folder',
        '120000 plain',
        '100755 run.sh',
        '100644 ä ö\n"ü"',
      ].toSorted(),
    );
    expect(world.home.git('show', `${tip}:plain`)).toBe('/etc/passwd');
    expect(readlinkSync(join(agent.path, 'plain'))).toBe('/etc/passwd');
  });

  test('[WKT6.14] in the middle of a merge the tree is taken as it is, and the message says so', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    const base = agent.head();
    const tip = agent.commit({ 'a.txt': 'ours\n' });
    agent.git('checkout', '-q', '-b', 'side', base);
    agent.commit({ 'a.txt': 'theirs\n' });
    agent.git('checkout', '-q', agent.checkout.branch);
    expect(agent.tryGit('merge', 'side')).toBeNull();
    const left = await commitLeftovers(agent.checkout, AGENT);
    expect(world.home.git('log', '-1', '--format=%P', left.tip)).toBe(tip);
    expect(world.home.git('log', '-1', '--format=%B', left.tip)).toContain('in the middle of a merge');
    expect(world.home.git('show', `${left.tip}:a.txt`)).toContain('<<<<<<<');
    expect(agent.git('status')).toContain('You have unmerged paths');
  });
});

test('[WKT6.11] the agent’s repository is not touched, and its next commit replaces ours, which is kept', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.commit({ one: '1' });
  agent.write({ two: '2', three: '3' });
  agent.git('add', 'two');
  const before = { head: agent.head(), status: agent.git('status', '--porcelain') };
  const index = readFileSync(join(agent.path, '.git', 'index'));
  const left = await commitLeftovers(agent.checkout, AGENT);
  expect(readFileSync(join(agent.path, '.git', 'index'))).toEqual(index);
  expect({ head: agent.head(), status: agent.git('status', '--porcelain') }).toEqual(before);
  const tip = agent.commit({ two: '22' });
  const next = await importBranch(agent.checkout);
  expect(next).toMatchObject({ tip, problem: null, replaced: expect.any(String) });
  expect((await listSnapshots(world.repository))[0]).toMatchObject({ tips: [left.tip] });
  expect(world.home.git('show', `${next.replaced}:two`)).toBe('2');
});

test('[WKT6.11] a linked worktree shows its leftovers as committed', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task', { kind: 'linked' });
  agent.write({ two: '2', 'a.txt': 'changed' });
  const { tip } = await commitLeftovers(agent.checkout, AGENT);
  expect(agent.head()).toBe(tip);
  expect(agent.git('status', '--porcelain')).toBe('');
});

test('[WKT6.13] repositories that the agent made inside are taken as plain files', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  mkdirSync(join(agent.path, 'inner/deeper'), { recursive: true });
  const inner = placeAt(join(agent.path, 'inner'), world.folder);
  inner.git('init', '-q');
  inner.write({
    'in.txt': 'in',
    'skip.log': 'ignored above',
    'own.tmp': 'ignored there',
    '.gitignore': '*.tmp\n',
  });
  inner.git('add', '-A');
  inner.git('commit', '-qm', 'inner');
  placeAt(join(agent.path, 'inner/deeper'), world.folder).git('init', '-q');
  agent.write({ 'inner/deeper/d.txt': 'd' });
  const found = await commitLeftovers(agent.checkout, AGENT);
  expect(found.notices).toHaveLength(2);
  const names = (tip: string): string =>
    world.home.git('ls-tree', '-r', '--format=%(objectmode) %(path)', tip, 'inner');
  const expected = '100644 inner/.gitignore\n100644 inner/deeper/d.txt\n100644 inner/in.txt';
  expect(names(found.tip)).toBe(expected);
  // The agent commits it as a link to a commit that nobody else has.
  agent.git('-c', 'advice.addEmbeddedRepo=false', 'add', '-A');
  agent.git('commit', '-qm', 'linked');
  const { tip } = await importBranch(agent.checkout);
  expect(names(tip)).toMatch(/^160000 inner$/);
  expect(names((await commitLeftovers(agent.checkout, AGENT)).tip)).toBe(expected);
  expect(inner.git('log', '--format=%s')).toBe('inner');
  world.healthy();
});

test('[WKT6.13] a submodule of the person stays what it is', async () => {
  using world = await makeWorld();
  const { home } = world;
  home.git('update-index', '--add', '--cacheinfo', `160000,${home.head()},sub`);
  home.write({ '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = https://example.com/sub\n' });
  home.git('add', '.gitmodules');
  home.git('commit', '-qm', 'a submodule');
  const agent = await world.checkout('task');
  const sub = join(agent.path, 'sub');
  mkdirSync(sub, { recursive: true });
  placeAt(sub, world.folder).git('init', '-q');
  placeAt(sub, world.folder).commit({ x: 'x' });
  agent.write({ other: 'file' });
  const { tip } = await commitLeftovers(agent.checkout, AGENT);
  expect(home.git('diff', '--name-status', '--ignore-submodules=none', 'main', tip)).toBe('A\tother');
});

test('[WKT6.15] what cannot be taken is named, and the rest is taken', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  execFileSync('mkfifo', [join(agent.path, 'pipe')]);
  rmSync(join(agent.path, 'a.txt'));
  execFileSync('mkfifo', [join(agent.path, 'a.txt')]);
  agent.write({ '.GIT/config': 'x', 'git~1': 'y', good: 'good' });
  writeFileSync(Buffer.concat([Buffer.from(`${agent.path}/`), Buffer.from([0xff, 0xfe])]), 'no text');
  writeFileSync(join(agent.path, '.gitmodules'), '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=evil\n');
  const found = await commitLeftovers(agent.checkout, AGENT);
  expect(world.home.git('diff', '--name-status', 'main', found.tip)).toBe('A\tgood');
  const words = [...found.notices, ...found.leftOut].join('\n');
  for (const part of ['.GIT/config', 'git~1', 'a.txt is a pipe', 'not UTF-8', '.git… files'])
    expect(words).toContain(part);
  world.healthy();
});

test('[WKT6.16] changes on an older commit than the branch are kept beside it', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const first = agent.commit({ one: '1' });
  const tip = agent.commit({ one: '2' });
  agent.git('checkout', '-q', '--detach', first);
  expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ tip, committed: false, notices: [] });
  agent.write({ more: 'more' });
  const found = await commitLeftovers(agent.checkout, AGENT);
  expect(found).toMatchObject({ tip, committed: false });
  const [kept] = await listSnapshots(world.repository, { branch: agent.checkout.branch });
  expect(found.notices.join()).toContain(kept?.ref);
  expect(world.home.git('show', `${kept?.ref}:more`)).toBe('more');
  expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ notices: found.notices });
});

test('[WKT6.17] names and messages cannot say more than they are', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.write({ x: 'x' });
  const name = 'A\nauthor Evil <evil@example.com> 0 +0000\n\0<>';
  const { tip } = await commitLeftovers(agent.checkout, {
    author: { name, email: '\u2028' },
    message: '\0\n  \n',
  });
  const raw = world.home.git('cat-file', 'commit', tip);
  expect(raw.split('\n').filter((line) => line.startsWith('author '))).toHaveLength(1);
  expect(world.home.git('log', '-1', '--format=%s', tip)).toBe('What was left uncommitted');
  expect(lstatSync(join(agent.path, 'x')).isFile()).toBe(true);
});
