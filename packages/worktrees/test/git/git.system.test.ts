import { existsSync } from 'node:fs';
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { git, GitError, type Checkout } from '@reveille/worktrees';
import { isRace, retrying } from '../../src/git/races.ts';
import { asPerson, make, Scratch } from '../creation/scratch.ts';

/** A program that shows, by a file, that it was run. */
async function trap(scratch: Scratch): Promise<{ command: string; sprung: () => boolean }> {
  const mark = join(scratch.path, 'sprung');
  const command = join(scratch.path, 'trap');
  await writeFile(command, `#!/bin/sh\ntouch ${mark}\ncat\n`);
  await chmod(command, 0o755);
  return { command, sprung: () => existsSync(mark) };
}

/** What we ask of a checkout after a turn: what is changed, and a commit of it. */
async function askAll(checkout: Checkout): Promise<string> {
  const place = { gitDir: checkout.ownGitDir, workTree: checkout.path };
  const status = await git({ ...place, args: ['status', '--porcelain', '--ignore-submodules=all'] });
  await git({ ...place, args: ['add', '-A'] });
  await git({ ...place, args: ['write-tree'] });
  await git({ ...place, args: ['diff', '--cached', 'HEAD', '--'] });
  return status.stdout;
}

const AGENTS = (command: string): string =>
  [
    `[core]\n\tfsmonitor = ${command}\n\thooksPath = ${join(command, '..', 'hooks')}\n\tpager = ${command}\n\tsshCommand = ${command}`,
    `[filter "evil"]\n\tclean = ${command}\n\tsmudge = ${command}\n\tprocess = ${command}\n\trequired = true`,
    `[diff "evil"]\n\ttextconv = ${command}\n\tcommand = ${command}\n[diff]\n\texternal = ${command}`,
    `[merge "evil"]\n\tdriver = ${command}\n[gpg]\n\tprogram = ${command}\n[commit]\n\tgpgSign = true`,
    `[alias]\n\tstatus = !${command}\n[include]\n\tpath = /etc/passwd\n`,
  ].join('\n');

describe('our own git', () => {
  it('[BND4.1] runs nothing that an agent’s config, hooks or attributes name', async () => {
    await using scratch = await Scratch.make();
    const { command, sprung } = await trap(scratch);
    const { checkout } = await make(await scratch.repository({ 'a.txt': 'a\n', 'b.txt': 'b\n' }));
    await writeFile(join(checkout.agentGitDir, 'config'), AGENTS(command));
    await writeFile(join(checkout.agentGitDir, 'info', 'attributes'), '* filter=evil diff=evil merge=evil\n');
    for (const hook of ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction'])
      await symlink(command, join(checkout.agentGitDir, 'hooks', hook));
    await writeFile(join(checkout.path, '.gitattributes'), '* filter=evil diff=evil merge=evil\n');
    await writeFile(join(checkout.path, 'a.txt'), 'changed\n');
    await writeFile(join(checkout.path, '.gitconfig'), AGENTS(command));
    expect(await askAll(checkout)).toBe(' M a.txt\n?? .gitattributes\n?? .gitconfig\n');
    expect(sprung()).toBe(false);
  });

  it('[BND4.2] is not led into a repository that an agent put into the tree', async () => {
    await using scratch = await Scratch.make();
    const { command, sprung } = await trap(scratch);
    const { checkout } = await make(await scratch.repository({ 'a.txt': 'a\n' }));
    const nested = join(checkout.path, 'nested');
    await asPerson(checkout.path, 'init', '-q', nested);
    await scratch.commit(nested, { 'x.txt': 'x\n' });
    await asPerson(checkout.path, 'add', 'nested');
    await asPerson(checkout.path, 'commit', '-qm', 'a link to a commit');
    await writeFile(join(nested, '.git', 'config'), AGENTS(command));
    await writeFile(join(nested, 'x.txt'), 'changed\n');
    await writeFile(join(checkout.path, 'a.txt'), 'changed\n');
    expect(await askAll(checkout)).toMatch(/^ M a\.txt\n/);
    expect(sprung()).toBe(false);
  });

  it('[BND4.3] does not go where a `.git` that an agent rewrote leads', async () => {
    await using scratch = await Scratch.make();
    const { command, sprung } = await trap(scratch);
    const root = await scratch.repository({ 'a.txt': 'a\n' });
    const evil = await scratch.repository({ 'evil.txt': 'evil\n' }, 'evil');
    await writeFile(join(evil, '.git/config'), AGENTS(command));
    for (const kind of ['clone', 'linked'] as const) {
      const { checkout } = await make(root, { settings: { kind } });
      await rm(join(checkout.path, '.git'), { recursive: true });
      await writeFile(join(checkout.path, '.git'), `gitdir: ${join(evil, '.git')}\n`);
      await writeFile(join(checkout.path, 'new.txt'), 'new\n');
      if (kind === 'clone') {
        await mkdir(join(checkout.path, 'objects'));
        await writeFile(join(checkout.path, 'HEAD'), 'ref: refs/heads/main\n');
        await writeFile(join(checkout.path, 'commondir'), join(evil, '.git'));
      }
      expect(await askAll(checkout)).toMatch(/\?\? new\.txt\n/);
      expect(await askAll(checkout)).not.toMatch(/evil/);
    }
    expect(sprung()).toBe(false);
  });

  it('[BND4.4] is given nothing of our environment, and asks nobody', async () => {
    await using scratch = await Scratch.make();
    const { command, sprung } = await trap(scratch);
    const root = await scratch.repository();
    await writeFile(join(scratch.path, 'home', '.gitconfig'), AGENTS(command));
    const planted = {
      GIT_DIR: '/nowhere',
      GIT_INDEX_FILE: '/nowhere',
      GIT_EXTERNAL_DIFF: command,
      GIT_SSH: command,
      SECRET: 'secret',
    };
    const before = Object.keys(planted).map((key) => [key, process.env[key]] as const);
    Object.assign(process.env, planted);
    try {
      const gitDir = join(root, '.git');
      await git({ gitDir, workTree: root, args: ['status'] });
      await git({ gitDir, workTree: root, args: ['diff', 'HEAD'] });
      const { stdout } = await git({ gitDir, args: ['-c', 'alias.env=!env', 'env'] });
      expect(stdout).not.toMatch(/SECRET|nowhere/);
      await expect(git({ gitDir, args: ['fetch', 'https://127.0.0.1:1/x'] })).rejects.toThrow(/not allowed/);
    } finally {
      for (const [key, value] of before) {
        if (value === undefined) delete process.env[key];
        else process.env[key] = value;
      }
    }
    expect(sprung()).toBe(false);
  });

  it('[BND4.5] ends with an error that says what failed, is given up when asked, and is over then', async () => {
    await using scratch = await Scratch.make();
    const gitDir = join(await scratch.repository(), '.git');
    const failing = git({ gitDir, args: ['-c', 'a.b=c', 'rev-parse', '--verify', 'nothing'] });
    await expect(failing).rejects.toThrow(/^git rev-parse failed \(128\): fatal: Needed a single revision$/);
    expect((await git({ gitDir, args: ['rev-parse', '--verify', 'nothing'], accept: [128] })).code).toBe(128);
    await expect(git({ gitDir: join(scratch.path, 'gone'), args: ['version'] })).rejects.toMatchObject({
      code: 'not_found',
    });
    const giveUp = new AbortController();
    const mark = join(scratch.path, 'waits');
    const waiting = git({
      gitDir,
      // Git ends its children with itself once it knows of them: one that is ended before that leaves a child to wait for.
      args: ['-c', `alias.wait=!touch ${mark}; exec sleep 20`, 'wait'],
      signal: giveUp.signal,
    });
    await vi.waitUntil(() => existsSync(mark), { timeout: 60_000 });
    giveUp.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await expect(git({ gitDir, args: ['version'], signal: giveUp.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });
});

describe('races of git', () => {
  it.each([
    "fatal: Unable to create '/r/.git/index.lock': File exists.",
    "error: Unable to create '/r/.git/packed-refs.lock': File exists.",
    "fatal: cannot lock ref 'refs/heads/a': Unable to create '/r/.git/refs/heads/a.lock': File exists.",
    "fatal: cannot lock ref 'refs/heads/a': unable to resolve reference 'refs/heads/a'",
    'fatal: failed to read .git/worktrees/x/commondir: Success',
    'error: could not lock config file .git/config: File exists',
  ])('[WKT5.8] are tried again: %s', async (words) => {
    let tries = 0;
    const answer = await retrying(async () => {
      tries += 1;
      if (tries < 3) throw new GitError(['update-ref'], 128, words);
      return 'done';
    });
    expect([answer, tries]).toEqual(['done', 3]);
  });

  it('[WKT5.8] are not what else goes wrong, which is tried once', async () => {
    let tries = 0;
    const asking = retrying(async () => {
      tries += 1;
      throw new GitError(['update-ref'], 128, 'fatal: not a valid object name');
    });
    await expect(asking).rejects.toThrow('not a valid object');
    expect(tries).toBe(1);
    expect(isRace(new Error("x.lock': File exists"))).toBe(false);
    const answer = "fatal: cannot lock ref 'refs/heads/a': reference already exists";
    expect(isRace(new GitError(['update-ref'], 128, answer))).toBe(false);
  });
});
