import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Confinement } from '../../src/sandbox/confinement.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { hasSandbox, unlessSkipped } from './here.ts';

let scratch: string;
let sandbox: Sandbox;
let confinement: Confinement;
const at = (place: string): string => join(scratch, place);

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(at(path), '..'), { recursive: true });
  await writeFile(at(path), text);
}

const opened = async (own: readonly string[]): Promise<Sandbox> =>
  await openSandbox({ setting: 'require', warn: () => {}, home: at('home'), own });

const reading = async (path: string, changes: Partial<Confinement> = {}): Promise<string> =>
  (
    await sandbox.run(['/bin/sh', '-c', `cat "$0"/* "$0" 2>/dev/null; true`, path], {
      ...confinement,
      ...changes,
    })
  ).output;

describe.skipIf(!hasSandbox)(`Reveille’s own folders${unlessSkipped}`, () => {
  beforeEach(async () => {
    scratch = await realpath(await mkdtemp(join(tmpdir(), 'reveille-guard-')));
    for (const place of ['repo/.git/objects', 'repo.worktrees/mine', 'home', 'state/homes/one', 'state/run'])
      await mkdir(at(place), { recursive: true });
    await write('state/daemon.json', 'TOKEN');
    await write('state/homes/two/login', 'TOKEN');
    await write('other/state.txt', 'harmless');
    const repository = {
      root: at('repo'),
      gitDir: at('repo/.git'),
      home: at('repo.worktrees'),
      objectStores: [at('repo/.git/objects')],
    };
    const path = at('repo.worktrees/mine');
    confinement = {
      checkout: { repository, kind: 'clone', path, agentGitDir: join(path, '.git') },
      write: true,
      network: { kind: 'off' },
    };
    sandbox = await opened([at('state')]);
  });
  afterEach(async () => {
    await sandbox.close();
    await rm(scratch, { recursive: true, force: true });
  });

  const checkoutWith = (changes: Partial<Confinement['checkout']['repository']>): Partial<Confinement> => ({
    checkout: { ...confinement.checkout, repository: { ...confinement.checkout.repository, ...changes } },
  });

  const ROADS: Record<string, () => Partial<Confinement> | Promise<Partial<Confinement>>> = {
    'a setting that names it to read': () => ({ reads: [at('state')] }),
    'a setting that names a file in it': () => ({ reads: [at('state/daemon.json')] }),
    'a setting that names it to write': () => ({ writes: [at('state')] }),
    'a link in the home that a setting names': async () => {
      await symlink(at('state'), at('home/.tool'));
      return { reads: [at('home/.tool')] };
    },
    'borrowed objects': () => checkoutWith({ objectStores: [at('repo/.git/objects'), at('state')] }),
    'objects that are a link': async () => {
      await rename(at('repo/.git/objects'), at('repo/.git/kept'));
      await symlink(at('state'), at('repo/.git/objects'));
      return {};
    },
    'objects that are a link to something harmless': async () => {
      await rename(at('repo/.git/objects'), at('repo/.git/kept'));
      await symlink(at('other'), at('repo/.git/objects'));
      return {};
    },
    'a worktree that is a link': async () => {
      await rm(at('repo.worktrees/mine'), { recursive: true });
      await symlink(at('state'), at('repo.worktrees/mine'));
      return {};
    },
    'a worktree in it': () => ({ checkout: { ...confinement.checkout, path: at('state/homes/two') } }),
    'a home of worktrees that is a link': async () => {
      await rename(at('repo.worktrees'), at('moved'));
      await symlink(at('moved'), at('repo.worktrees'));
      return {};
    },
    'a temporary folder': () => ({ tmp: at('state') }),
    'a temporary folder that is a link': async () => {
      await symlink(at('state'), at('tmp'));
      return { tmp: at('tmp') };
    },
    'refs of a linked worktree that are a link': async () => {
      await symlink(at('state'), at('repo/.git/refs'));
      return { checkout: { ...confinement.checkout, kind: 'linked' } };
    },
    'what another process was lent': () => ({
      lent: [at('state/homes/one')],
      reads: [at('state/homes/two')],
    }),
    'a folder that is lent to nobody': () => ({ lent: [at('state/homes/one')], reads: [at('state/homes')] }),
    'the folder round it': async () => {
      await mkdir(at('round/state'), { recursive: true });
      await rename(at('state/daemon.json'), at('round/state/daemon.json'));
      await rm(at('state'), { recursive: true });
      await symlink(at('round/state'), at('state'));
      return { reads: [at('round')] };
    },
  };

  for (const [road, take] of Object.entries(ROADS))
    test(`[BND6.16] cannot be mounted by way of ${road}`, async () => {
      const changes = await take();
      await expect(reading(at('state'), changes)).rejects.toMatchObject({ code: 'not_allowed' });
    });

  test('[BND6.16] are not there, and what a process is lent of them is', async () => {
    await write('state/homes/one/login', 'mine');
    const changes = { writes: [at('state/homes/one')], lent: [at('state/homes/one')] };
    expect(await reading(at('state/homes/one'), changes)).toBe('mine');
    expect(await reading(at('state'), changes)).toBe('');
    expect(await reading(at('state/homes/two'), changes)).toBe('');
    expect(await reading(at('other'), { reads: [at('other')] })).toBe('harmless');
  });

  test('[BND6.16] are covered in a folder of the system', async () => {
    // Any folder that every sandbox has serves as one: nothing is written there.
    await using other = await opened(['/usr/share']);
    const listing = async (box: Sandbox): Promise<string> =>
      (await box.run(['/bin/sh', '-c', 'ls /usr/share | wc -l; touch /usr/share/x 2>&1'], confinement))
        .output;
    expect(await listing(sandbox)).not.toMatch(/^0\n/);
    expect(await listing(other)).toMatch(/^0\n.*Read-only/);
  });
});
