import { existsSync, readFileSync } from 'node:fs';
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
