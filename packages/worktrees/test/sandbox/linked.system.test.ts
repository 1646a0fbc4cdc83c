import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ATTACKS } from '../../src/doctor/attacks.ts';
import { tryAttack } from '../../src/doctor/matrix.ts';
import { confinementIn, makeScene, type Scene } from '../../src/doctor/scene.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { found, hasSandbox, unlessSkipped } from './here.ts';

describe.skipIf(!hasSandbox)(`a linked worktree in the sandbox${unlessSkipped}`, () => {
  let scene: Scene;
  let sandbox: Sandbox;
  beforeAll(async () => {
    scene = await makeScene({ kind: 'linked' });
    sandbox = await openSandbox({ setting: 'require', warn: () => {}, home: scene.home, env: scene.env });
  });
  afterAll(async () => {
    await sandbox.close();
    await scene[Symbol.asyncDispose]();
  });

  test('[BND2.19] history, status and differences can be read, and files be written', async () => {
    const script = 'set -e; git log --format=%s -1; echo x >> a.txt; git status --short; git diff --stat';
    const ran = await sandbox.run(script, confinementIn(scene));
    expect(ran.output).toMatch(/^first\n M a\.txt\n[^]*1 insertion/);
    expect(ran.code).toBe(0);
  });

  test.each([...ATTACKS['git']!, ...ATTACKS['files']!])('[BND2.19] refused: $name', async (attack) => {
    const tried = await tryAttack({ sandbox, scene, found, group: 'linked', attack });
    expect(tried, JSON.stringify(tried)).toMatchObject({ got: 'refused' });
  });

  test.each([
    [
      'retarget the entry',
      'echo /tmp > "$ENTRY/commondir"; rm -f "$ENTRY/commondir"; mv "$ENTRY/commondir" "$ENTRY/x"; ln -sf /tmp "$ENTRY/commondir"',
    ],
    [
      'plant a config beside the entry',
      'echo "[core]" > "$ENTRY/config.worktree"; echo x > "$ENTRY/gitdir"; echo x > "$ENTRY/HEAD"',
    ],
    [
      'retarget the tree',
      'echo "gitdir: /tmp/fake" > .git; rm -f .git && echo ESCAPED; mv .git .git.old && echo ESCAPED',
    ],
    [
      'move the own branch or any other',
      'git update-ref refs/heads/main HEAD~0 && git update-ref refs/heads/new HEAD; git branch -f reveille/plan/mine HEAD; git symbolic-ref HEAD refs/heads/main',
    ],
    ['commit into the shared refs', 'git -c user.name=x -c user.email=x@x commit -q -am x'],
    ['stash into the shared refs', 'git -c user.name=x -c user.email=x@x stash'],
    [
      'set the shared config',
      'git config core.fsmonitor "touch $OUTSIDE.ran"; git config --worktree core.hooksPath /tmp',
    ],
  ])('[BND2.19] refused: %s', async (name, script) => {
    const attack = { name, script, changes: { env: { ENTRY: scene.checkout.agentGitDir } } };
    const tried = await tryAttack({ sandbox, scene, found, group: 'linked', attack });
    expect(tried, JSON.stringify(tried)).toMatchObject({ got: 'refused' });
  });

  test('[BND2.19] after all of that the person’s repository is whole', async () => {
    const git = (...args: string[]) =>
      spawnSync('git', args, {
        cwd: scene.checkout.repository.root,
        env: { PATH: process.env['PATH'], HOME: scene.folder },
        encoding: 'utf8',
      });
    expect(git('fsck', '--strict').status).toBe(0);
    expect(git('log', '--all', '--format=%s').stdout).toBe('first\n');
    expect(git('worktree', 'list').stdout).toContain(scene.checkout.path);
    expect(git('gc', '-q').status).toBe(0);
  });
});
