import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCheckout, WORKTREE_DEFAULTS } from '@reveille/worktrees';
import { benchIn } from '../../src/integrator/bench.ts';
import { confirmStart } from '../../src/starting.ts';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { pull } from '../../src/work/pull.ts';
import { restore } from '../../src/work/restore.ts';
import { snapshot } from '../../src/work/snapshots.ts';
import { withAnotherGit } from '../git/another-git.ts';
import { makeWorld } from './world.ts';

/** A git that writes something else than what it was asked for into `b.txt`, in every tree it lays files into. */
const LYING = `
"$GIT" "$@"; code=$?
case "$*" in
*checkout-index*|*read-tree*-u*) if [ -f "$GIT_WORK_TREE/b.txt" ]; then echo lie >> "$GIT_WORK_TREE/b.txt"; fi ;;
esac
exit $code`;

const LIE = { code: 'workspace_failed', data: { files: ['b.txt'] } };

test('[WKT6.55] what was merged, pulled, restored or brought home is compared with what was decided, and else taken back', async () => {
  using world = await makeWorld();
  const { home, repository } = world;
  const [parent, child] = [await world.checkout('parent'), await world.checkout('child')];
  const tip = child.commit({ 'b.txt': 'b\n', 'c/d.txt': 'd\n' });
  await importBranch(child.checkout);
  const kept = await snapshot(child.checkout, 'kept');
  const head = home.head();
  const bench = benchIn({ ...parent.checkout, branchIsOurs: true }, async () => ({
    passed: true,
    output: '',
  }));
  const lied = async (work: () => Promise<unknown>): Promise<void> =>
    await withAnotherGit(world.folder, LYING, async () => await expect(work()).rejects.toMatchObject(LIE));
  const clean = (): void => {
    for (const place of [parent, home]) {
      expect(place.git('status', '--porcelain')).toBe('');
      expect([existsSync(join(place.path, 'b.txt')), existsSync(join(place.path, 'c'))]).toEqual([
        false,
        false,
      ]);
    }
  };
  await lied(() => bringHome(repository, child.checkout.branch));
  expect(home.head()).toBe(head);
  clean();
  await lied(() => pull(child.checkout, parent.checkout));
  expect(home.git('for-each-ref', 'refs/reveille/pulled')).toBe('');
  clean();
  await lied(() => restore(repository, kept.ref, { checkout: parent.checkout }));
  expect(home.git('for-each-ref', 'refs/reveille/restored')).toBe('');
  clean();
  await lied(() => bench.lay(tip));
  clean();
  const dependent = {
    plan: 'plan',
    task: 'dependent',
    id: 'task_dependent',
    start: { commit: tip },
    author: { name: 'a', email: 'a@b' },
    settings: { ...WORKTREE_DEFAULTS, pool: 0 },
    confirm: confirmStart,
  };
  await lied(() => createCheckout(repository, dependent));
  expect(existsSync(join(repository.home, 'plan-dependent'))).toBe(false);
  // The same with a git that does what it is asked.
  const { checkout } = await createCheckout(repository, dependent);
  expect(readFileSync(join(checkout.path, 'b.txt'), 'utf8')).toBe('b\n');
  await bench.lay(tip);
  await bench.lay(null);
  await restore(repository, kept.ref, { checkout: parent.checkout });
  expect(await bringHome(repository, child.checkout.branch)).toMatchObject({ merged: true });
  world.healthy();
});

/** A git that writes something else into `b.txt` of the person's checkout just before it is compared. */
const LYING_AT_HOME = `
case "$*" in
*update-index*--replace*) if [ -n "$GIT_WORK_TREE" ]; then echo lie >> "$GIT_WORK_TREE/b.txt"; fi ;;
esac
exec "$GIT" "$@"`;

test('[PLN6.11][WKT6.55] what changes its kind is brought home, and taken back whole where something is not as decided', async () => {
  using world = await makeWorld();
  const { home, repository } = world;
  home.commit({ 'folder/a.txt': 'a\n', 'folder/deep/c.txt': 'c\n', file: 'file\n', 'b.txt': 'b\n' });
  symlinkSync('b.txt', join(home.path, 'link'));
  home.git('add', '-A');
  home.git('commit', '-qm', 'a link');
  const head = home.head();
  const agent = await world.checkout('task');
  const { path, checkout } = agent;
  for (const name of ['folder', 'file', 'link']) rmSync(join(path, name), { recursive: true });
  symlinkSync('b.txt', join(path, 'folder'));
  for (const name of ['file', 'link']) {
    mkdirSync(join(path, name));
    writeFileSync(join(path, name, 'in.txt'), 'in\n');
  }
  writeFileSync(join(path, 'b.txt'), 'other\n');
  agent.git('add', '-A');
  agent.git('commit', '-qm', 'kinds');
  await importBranch(checkout);
  await withAnotherGit(
    world.folder,
    LYING_AT_HOME,
    async () => await expect(bringHome(repository, checkout.branch)).rejects.toMatchObject(LIE),
  );
  expect(home.head()).toBe(head);
  // Nobody else's lie is taken back.
  home.git('checkout', '-q', '--', 'b.txt');
  expect(home.git('status', '--porcelain')).toBe('');
  expect(await bringHome(repository, checkout.branch)).toMatchObject({ merged: true });
  expect(home.git('status', '--porcelain')).toBe('');
  expect(readlinkSync(join(home.path, 'folder'))).toBe('b.txt');
  expect(readFileSync(join(home.path, 'link', 'in.txt'), 'utf8')).toBe('in\n');
  world.healthy();
});
