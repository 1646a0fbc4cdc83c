import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCheckout, removeCheckout, WORKTREE_DEFAULTS } from '@reveille/worktrees';
import { letGoOfFiles } from '../../src/git/refs.ts';
import { forgetCheckout } from '../../src/work/forget.ts';
import { bringHome } from '../../src/work/home.ts';
import { importBranch } from '../../src/work/import.ts';
import { dropSnapshots, listSnapshots, snapshot } from '../../src/work/snapshots.ts';
import { makeWorld, type World } from '../work/world.ts';
import { withAnotherGit } from './another-git.ts';

/** Tells, in a file, of every `update-ref` after which a ref has no longer the file it had. */
const WATCHED = (log: string): string => `
refs() { find "$GIT_DIR/refs" -type f ! -name '*.lock' | sort; }
case "$1" in update-ref) ;; *) exec "$GIT" "$@" ;; esac
before=$(refs)
"$GIT" "$@"
code=$?
for ref in $before; do [ -e "$ref" ] || echo "$ref" >> '${log}'; done
exit $code`;

/** All that deletes refs: a removal, what is forgotten, a merge into the checkout, retention, a failed creation. */
async function deleteAll(world: World): Promise<void> {
  const { repository } = world;
  for (const kind of ['clone', 'linked'] as const) {
    const agent = await world.checkout(`one-${kind}`, { kind });
    const { checkout } = agent;
    agent.commit({ [kind]: 'work\n' });
    await importBranch(checkout);
    expect(await bringHome(repository, checkout.branch)).toMatchObject({ merged: true });
    await snapshot(checkout, 'before');
    const { deleted } = await removeCheckout(checkout);
    await forgetCheckout(repository, checkout.name);
    await deleted;
    const setup = { command: 'false', lockFiles: [], movable: false };
    const failing = createCheckout(repository, {
      plan: 'plan',
      task: `two-${kind}`,
      id: `two-${kind}`,
      start: { commit: world.home.head() },
      author: { name: 'A', email: 'a@example.com' },
      settings: { ...WORKTREE_DEFAULTS, kind, pool: 0, setup },
      runSetup: async () => ({ code: 1 }),
    });
    await expect(failing).rejects.toMatchObject({ code: 'workspace_failed' });
  }
  expect(await dropSnapshots(repository, { keep: 0 })).toHaveLength(2);
  expect(await listSnapshots(repository)).toEqual([]);
}

test('[WKT5.10] no ref of ours goes as a file: whoever goes through all refs meanwhile still finds it', async () => {
  using world = await makeWorld();
  const log = join(world.folder, 'gone');
  await withAnotherGit(world.folder, WATCHED(log), async () => await deleteAll(world));
  expect(existsSync(log) ? readFileSync(log, 'utf8') : '').toBe('');
  const left = world.home.git('for-each-ref', '--format=%(refname)');
  expect(left.split('\n').toSorted()).toEqual([
    'refs/heads/main',
    'refs/heads/reveille/plan/one-clone',
    'refs/heads/reveille/plan/one-linked',
  ]);
  world.healthy();
});

test('[WKT5.10] a ref that is to go keeps its place when its file goes, and a file that cannot go is no obstacle', async () => {
  using world = await makeWorld();
  const { gitDir } = world.repository;
  const ref = 'refs/reveille/base/one';
  const isFile = (): boolean => existsSync(join(gitDir, ref));
  world.home.git('update-ref', ref, 'HEAD');
  expect(isFile()).toBe(true);
  const broken = `case "$1" in pack-refs) echo 'fatal: no space left' >&2; exit 128 ;; *) exec "$GIT" "$@" ;; esac`;
  await withAnotherGit(world.folder, broken, async () => await letGoOfFiles(gitDir, [ref]));
  expect(isFile()).toBe(true);
  await letGoOfFiles(gitDir, ['refs/reveille/base/other']);
  expect(isFile()).toBe(true);
  await letGoOfFiles(gitDir, [ref]);
  expect([isFile(), world.home.git('rev-parse', ref)]).toEqual([false, world.home.head()]);
});
