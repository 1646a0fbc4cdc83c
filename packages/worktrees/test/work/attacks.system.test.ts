import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { isReveilleError } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/work/checkpoint.ts';
import { diff } from '../../src/work/diff.ts';
import { Forecaster } from '../../src/work/forecast.ts';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { mergeBranches } from '../../src/work/merge.ts';
import { pull } from '../../src/work/pull.ts';
import { snapshot } from '../../src/work/snapshots.ts';
import { AGENT, makeWorld, placeAt, type AgentPlace, type World } from './world.ts';

/** Everything that is ever done with what an agent left. */
async function everything(world: World, agent: AgentPlace): Promise<void> {
  const other = await world.checkout('other');
  other.commit({ 'other.txt': 'other\n' });
  await importBranch(agent.checkout);
  await diff(agent.checkout);
  await checkpoint(agent.checkout).catch(() => undefined);
  const { tip } = await commitLeftovers(agent.checkout, AGENT);
  await snapshot(agent.checkout, 'attacked');
  await pull(agent.checkout, other.checkout);
  await pull(other.checkout, agent.checkout);
  await mergeBranches(world.repository, { base: 'main', branches: [tip, other.checkout.branch] });
  await new Forecaster(world.repository).look([
    { ...agent.checkout, tip },
    { ...other.checkout, tip: other.head() },
  ]);
  // A filter in its attributes is a reason to refuse it.
  await bringHome(world.repository, agent.checkout.branch).catch((error: unknown) => {
    if (!isReveilleError(error, 'wrong_state')) throw error;
  });
}

/** A loose object whose content is not what its name says. */
function forge(agent: AgentPlace, oid: string, type: string, content: Buffer): void {
  const folder = join(agent.path, '.git', 'objects', oid.slice(0, 2));
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, oid.slice(2)), { force: true });
  writeFileSync(
    join(folder, oid.slice(2)),
    deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])),
  );
}

function writeObject(agent: AgentPlace, type: string, content: Buffer): string {
  const oid = createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex');
  forge(agent, oid, type, content);
  return oid;
}

const entry = (mode: string, name: string, oid: string): Buffer =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]);

function commitTree(agent: AgentPlace, tree: string): string {
  const who = 'Agent <agent@example.com> 1700000000 +0000';
  const text = `tree ${tree}\nparent ${agent.head()}\nauthor ${who}\ncommitter ${who}\n\nattack\n`;
  const oid = writeObject(agent, 'commit', Buffer.from(text));
  agent.git('update-ref', 'HEAD', oid);
  return oid;
}

test('[BND4.10] nothing that an agent’s config, hooks or attributes name is run', async () => {
  using world = await makeWorld({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  const agent = await world.checkout('task');
  const canary = join(world.folder, 'canary');
  const run = `touch ${canary};`;
  agent.commit({ 'c.txt': 'c\n' });
  agent.write({
    '.gitattributes': '* filter=evil diff=evil merge=evil\n',
    'a.txt': 'changed\n',
    'new.txt': 'new\n',
  });
  for (const [key, value] of [
    ['core.fsmonitor', run],
    ['core.sshCommand', run],
    ['core.pager', run],
    ['core.editor', run],
    ['core.alternateRefsCommand', run],
    ['diff.external', run],
    ['diff.evil.textconv', run],
    ['diff.evil.command', run],
    ['merge.evil.driver', run],
    ['filter.evil.clean', `${run} cat`],
    ['filter.evil.smudge', `${run} cat`],
    ['filter.evil.process', run],
    ['filter.evil.required', 'true'],
    ['uploadpack.packObjectsHook', run],
    ['credential.helper', `!${run}`],
    ['gpg.program', run],
    ['commit.gpgSign', 'true'],
    ['core.hooksPath', join(agent.path, 'hooks')],
    ['include.path', join(agent.path, 'more-config')],
  ] as const)
    execFileSync('git', ['config', '-f', join(agent.path, '.git', 'config'), key, value]);
  for (const folder of ['hooks', '.git/hooks'])
    for (const hook of [
      'pre-commit',
      'post-checkout',
      'post-index-change',
      'reference-transaction',
      'post-merge',
      'pre-auto-gc',
    ]) {
      agent.write({ [`${folder}/${hook}`]: `#!/bin/sh\n${run}\n` });
      chmodSync(join(agent.path, folder, hook), 0o755);
    }
  // They work: the agent's own git does run them.
  agent.tryGit('status');
  expect(existsSync(canary)).toBe(true);
  rmSync(canary);
  await everything(world, agent);
  expect(existsSync(canary)).toBe(false);
  world.healthy();
});

test('[BND4.10] nor by a repository within, committed as a link or not', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const canary = join(world.folder, 'canary');
  const inner = join(agent.path, 'inner');
  mkdirSync(inner);
  const place = placeAt(inner, world.folder);
  place.git('init', '-q');
  place.commit({ x: 'x' });
  agent.git('-c', 'advice.addEmbeddedRepo=false', 'add', '-A');
  agent.git('commit', '-qm', 'a link');
  place.write({ x: 'changed' });
  place.git('config', 'core.fsmonitor', `touch ${canary};`);
  agent.tryGit('status');
  expect(existsSync(canary)).toBe(true);
  rmSync(canary);
  await everything(world, agent);
  expect(existsSync(canary)).toBe(false);
  expect(readFileSync(join(world.home.path, 'inner/x'), 'utf8')).toBe('changed');
});

describe('[BND4.11] where an agent’s repository says its objects are does not count:', () => {
  test('[BND4.11] alternates that lead elsewhere, in a circle, or are many', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    const secret = join(world.folder, 'secret');
    mkdirSync(secret);
    const vault = placeAt(secret, world.folder);
    vault.git('init', '-q');
    const hidden = vault.commit({ key: 'a secret\n' });
    const alternates = join(agent.path, '.git', 'objects', 'info', 'alternates');
    const lines = [
      join(secret, '.git', 'objects'),
      join(agent.path, '.git', 'objects'),
      ...Array.from({ length: 5_000 }, (_, i) => `/no/${i}`),
    ];
    appendFileSync(alternates, `${lines.join('\n')}\n`);
    writeFileSync(join(agent.path, '.git', 'refs', 'heads', agent.checkout.branch), `${hidden}\n`);
    const found = await importBranch(agent.checkout);
    expect(found).toMatchObject({ tip: agent.checkout.start, problem: expect.stringContaining('not taken') });
    expect(world.home.tryGit('cat-file', '-e', hidden)).toBeNull();
    world.healthy();
  });

  test('[BND4.11] replacements, grafts, a shallow file, promises of objects, a commit graph', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    const first = agent.commit({ one: '1' });
    const second = agent.commit({ two: '2' });
    agent.git('commit-graph', 'write', '--reachable');
    agent.git('replace', '--graft', second);
    writeFileSync(join(agent.path, '.git', 'info', 'grafts'), `${second}\n`);
    writeFileSync(join(agent.path, '.git', 'shallow'), `${second}\n`);
    agent.git('config', 'extensions.partialClone', 'origin');
    agent.git('config', 'remote.origin.promisor', 'true');
    agent.git('config', 'remote.origin.url', `ext::sh -c "touch ${join(world.folder, 'canary')}"`);
    expect(await importBranch(agent.checkout)).toMatchObject({ tip: second, problem: null });
    expect(world.home.git('log', '--format=%H', `main..${second}`)).toBe(`${second}\n${first}`);
    world.healthy();
    expect(existsSync(join(world.folder, 'canary'))).toBe(false);
  });
});

test('[BND4.12] pipes and links in its git directory are not waited at and not followed', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const tip = agent.commit({ one: '1' });
  await importBranch(agent.checkout);
  const at = (...names: string[]): string => join(agent.path, '.git', ...names);
  const pipe = (path: string): void => {
    rmSync(path, { force: true });
    execFileSync('mkfifo', [path]);
  };
  for (const name of ['alternates', 'commit-graph', 'packs']) pipe(at('objects', 'info', name));
  pipe(at('objects', 'pack', 'multi-pack-index'));
  pipe(at('objects', 'pack', `pack-${'0'.repeat(40)}.idx`));
  pipe(at('objects', 'pack', `pack-${'0'.repeat(40)}.pack`));
  mkdirSync(at('objects', 'ab'), { recursive: true });
  pipe(at('objects', 'ab', '0'.repeat(38)));
  symlinkSync('/dev/zero', at('objects', 'ab', '1'.repeat(38)));
  writeFileSync(at('refs', 'heads', agent.checkout.branch), `${'2'.repeat(40)}\n`);
  expect(await importBranch(agent.checkout)).toMatchObject({ tip, problem: expect.any(String) });
  for (const name of ['HEAD', 'packed-refs']) pipe(at(name));
  pipe(at('refs', 'heads', agent.checkout.branch));
  expect(await importBranch(agent.checkout)).toMatchObject({
    tip,
    problem: expect.stringContaining('cannot be read'),
  });
  // A git directory that is somebody else's.
  renameSync(at(), join(agent.path, 'was'));
  symlinkSync(world.repository.gitDir, at());
  world.home.commit({ private: 'p' });
  expect(await importBranch(agent.checkout)).toMatchObject({
    tip,
    problem: expect.stringContaining('cannot be read'),
  });
  rmSync(at());
  writeFileSync(at(), `gitdir: ${world.repository.gitDir}\n`);
  expect(await importBranch(agent.checkout)).toMatchObject({
    tip,
    problem: expect.stringContaining('cannot be read'),
  });
  world.healthy();
});

test('[BND4.12] a pipe in place of a .gitignore ends in an error, not in waiting', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  agent.write({ 'new/file': 'x' });
  execFileSync('mkfifo', [join(agent.path, 'new', '.gitignore')]);
  const stuck = commitLeftovers(agent.checkout, { ...AGENT, patienceMs: 300 });
  await expect(stuck).rejects.toMatchObject({ code: 'workspace_failed' });
  rmSync(join(agent.path, 'new', '.gitignore'));
  expect(await commitLeftovers(agent.checkout, AGENT)).toMatchObject({ committed: true });
});

describe('[WKT1.24] what is not as it should be stays out:', () => {
  test('[WKT1.24][BND4.13] forged objects', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    const good = agent.commit({ one: '1' });
    await importBranch(agent.checkout);
    const tip = agent.commit({ two: '2' });
    // The tip's tree, and the person's own first commit, say something else here.
    const tree = agent.git('rev-parse', `${tip}^{tree}`);
    forge(agent, tree, 'tree', entry('100644', 'planted', agent.git('hash-object', '-w', 'one')));
    expect(await importBranch(agent.checkout)).toMatchObject({ tip: good, problem: expect.any(String) });
    forge(agent, agent.checkout.start, 'commit', Buffer.from(`tree ${tree}\n\nforged\n`));
    expect(await importBranch(agent.checkout)).toMatchObject({ tip: good, problem: expect.any(String) });
    world.healthy();
    expect(world.home.git('log', '-1', '--format=%s', 'main')).toBe('first');
  });

  test('[WKT1.24] trees that git refuses', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    const blob = writeObject(agent, 'blob', Buffer.from('#!/bin/sh\n'));
    const modules = writeObject(
      agent,
      'blob',
      Buffer.from('[submodule "x"]\n\tpath = x\n\turl = --upload-pack=evil\n'),
    );
    const hooks = writeObject(agent, 'tree', entry('100755', 'post-checkout', blob));
    const start = agent.head();
    for (const content of [
      entry('40000', '.git', hooks),
      entry('40000', '.GIT', hooks),
      entry('40000', 'git~1', hooks),
      entry('40000', '..', hooks),
      entry('100644', 'a/b', blob),
      entry('100644', '.gitmodules', modules),
      entry('120000', '.gitmodules', blob),
      Buffer.concat([entry('100644', 'x', blob), entry('100644', 'x', blob)]),
      entry('100644', 'missing', '3'.repeat(40)),
    ]) {
      agent.git('update-ref', 'HEAD', start);
      const tip = commitTree(agent, writeObject(agent, 'tree', content));
      const found = await importBranch(agent.checkout);
      expect(found, content.toString('latin1')).toMatchObject({ tip: start, problem: expect.any(String) });
      expect(world.home.tryGit('cat-file', '-e', tip)).toBeNull();
    }
    world.healthy();
  });

  test('[WKT1.26] a few small trees that stand for more files than there is room', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task');
    const blob = writeObject(agent, 'blob', Buffer.from('x'));
    let tree = writeObject(agent, 'tree', entry('100644', 'f', blob));
    for (let level = 0; level < 10; level += 1) {
      const beneath = tree;
      tree = writeObject(
        agent,
        'tree',
        Buffer.concat(Array.from({ length: 10 }, (_, i) => entry('40000', `d${i}`, beneath))),
      );
    }
    const bomb = commitTree(agent, tree);
    expect(await importBranch(agent.checkout)).toMatchObject({
      tip: agent.checkout.start,
      problem: expect.stringContaining('files'),
    });
    expect(world.home.tryGit('cat-file', '-e', bomb)).toBeNull();
    for (let level = 0; level < 3_000; level += 1)
      tree = writeObject(
        agent,
        'tree',
        entry('40000', 'd', level === 0 ? writeObject(agent, 'tree', entry('100644', 'f', blob)) : tree),
      );
    agent.git('update-ref', 'HEAD', agent.checkout.start);
    commitTree(agent, tree);
    expect(await importBranch(agent.checkout)).toMatchObject({
      tip: agent.checkout.start,
      problem: expect.any(String),
    });
    world.healthy();
  });
});

test('[WKT1.23] refs that lie or lead away are not believed', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const tip = agent.commit({ one: '1' });
  await importBranch(agent.checkout);
  const at = (...names: string[]): string => join(agent.path, '.git', ...names);
  const tree = agent.git('rev-parse', 'HEAD^{tree}');
  for (const text of [
    tree,
    `ref: refs/heads/../../../../etc/passwd`,
    'ref: /etc/passwd',
    `${tip} `.repeat(100),
    '-x',
    `${tip}\n--all`,
    `ref: refs/heads/${'a/'.repeat(500)}`,
    '',
  ]) {
    writeFileSync(at('HEAD'), `${text}\n`);
    writeFileSync(at('refs', 'heads', agent.checkout.branch), `${text}\n`);
    expect(await importBranch(agent.checkout), text.slice(0, 50)).toMatchObject({
      tip,
      problem: expect.any(String),
    });
  }
  writeFileSync(at('HEAD'), Buffer.alloc(50 * 1024 * 1024));
  expect(await importBranch(agent.checkout)).toMatchObject({ tip, problem: expect.any(String) });
  world.healthy();
});

test('[BND4.14] an agent that destroys all it can reach leaves the person’s repository and its own last work whole', async () => {
  using world = await makeWorld();
  const agent = await world.checkout('task');
  const tip = agent.commit({ one: '1' });
  await importBranch(agent.checkout);
  for (const name of readdirSync(join(agent.path, '.git')))
    rmSync(join(agent.path, '.git', name), { recursive: true });
  rmSync(join(agent.path, 'one'));
  agent.write({
    '.git/config': '\0\0\0',
    '.git/HEAD': 'ref: refs/heads/none\n',
    '.git/objects': 'a file',
    rest: 'r',
  });
  const left = await commitLeftovers(agent.checkout, AGENT);
  expect(left).toMatchObject({ committed: true, problem: expect.any(String) });
  expect(world.home.git('log', '-1', '--format=%P', left.tip)).toBe(tip);
  expect(world.home.git('diff', '--name-status', tip, left.tip)).toBe('D\tone\nA\trest');
  world.healthy();
});
