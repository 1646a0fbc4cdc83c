import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findOrphans, findRepository, listCheckouts, removeCheckout, sweep } from '@reveille/worktrees';
import { openStage } from '../../src/creation/stage.ts';
import { leftovers, nothingIsLeft } from './contract.ts';
import { canMount, smallDisk } from './mounts.ts';
import { asPerson, make, personIsWell, Scratch } from './scratch.ts';

const canFill = await canMount(() => smallDisk('1m'));
const isRoot = process.getuid?.() === 0;
const FILES = { 'a.txt': 'a\n', 'b/c.txt': 'c\n' };
/** Of a size that no file system makes smaller. */
const noise = (bytes: number): string =>
  Array.from({ length: bytes }, () => String.fromCharCode(33 + Math.random() * 90)).join('');

describe('trouble', () => {
  it.runIf(canFill)(
    '[WKT1.13] a full disk is an error that says so; nothing is left, and it works again with room',
    async () => {
      await using disk = await smallDisk('3m');
      await using scratch = await Scratch.make();
      const root = await scratch.repository({ ...FILES, 'big.txt': noise(4_000_000) });
      const small = await scratch.commit(root, { 'big.txt': 'small now\n' });
      for (const kind of ['clone', 'linked'] as const) {
        const settings = { home: join(disk.path, 'home'), kind };
        const commit = (await asPerson(root, 'rev-parse', 'HEAD~1')).trim();
        const failure = {
          code: 'workspace_failed',
          data: { reason: 'disk_full' },
          message: expect.stringMatching(/disk is full/),
        };
        await expect(make(root, { settings, commit })).rejects.toMatchObject(failure);
        const repository = await findRepository(root, settings);
        expect(await leftovers({ repository })).toEqual([]);
        await nothingIsLeft(root);
        const { checkout } = await make(root, { settings, commit: small });
        await (
          await removeCheckout(checkout)
        ).deleted;
        await asPerson(root, 'branch', '-qD', checkout.branch);
      }
      await personIsWell(root);
    },
  );

  it.runIf(canFill)('[WKT1.13] a full disk under the repository itself is one too', async () => {
    await using disk = await smallDisk('3m');
    await using scratch = await Scratch.make(disk.path);
    const root = await scratch.repository(FILES);
    await writeFile(join(disk.path, 'filler'), noise(3_500_000)).catch(() => undefined);
    await expect(make(root)).rejects.toMatchObject({
      code: 'workspace_failed',
      data: { reason: 'disk_full' },
    });
    await rm(join(disk.path, 'filler'));
    await nothingIsLeft(root);
    await make(root);
    await personIsWell(root);
  });

  it.runIf(canFill)('[WKT1.13] a read-only disk is an error that says so', async () => {
    await using disk = await smallDisk('3m');
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    await mkdir(join(disk.path, 'home'));
    await disk.makeReadOnly();
    const failure = {
      code: 'workspace_failed',
      data: { reason: 'read_only' },
      message: expect.stringMatching(/cannot be written.*read-only/),
    };
    await expect(make(root, { settings: { home: join(disk.path, 'home') } })).rejects.toMatchObject(failure);
    await nothingIsLeft(root);
  });

  it.skipIf(isRoot)('[WKT1.13] a folder without permission is an error that says so', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    await mkdir(join(scratch.path, 'closed'));
    await chmod(join(scratch.path, 'closed'), 0o500);
    const making = make(root, { settings: { home: join(scratch.path, 'closed', 'home') } });
    await expect(making).rejects.toMatchObject({ code: 'workspace_failed', data: { reason: 'read_only' } });
    await nothingIsLeft(root);
  });

  it('[WKT1.13] whatever stops the last step, all is taken back', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    for (const kind of ['clone', 'linked'] as const) {
      const making = make(root, {
        settings: { kind, setup: { command: 'x', lockFiles: [], movable: false } },
        // The place of the record is taken: it cannot be written.
        runSetup: async (_command, { checkout }) => {
          await mkdir(join(checkout.room, 'checkout.json', 'x'), { recursive: true });
          await rename(join(checkout.room, 'checkout.json'), join(checkout.room, 'setup.json'));
          return { code: 0 };
        },
      });
      await expect(making).rejects.toMatchObject({ code: 'workspace_failed' });
      await nothingIsLeft(root);
    }
  });
});

describe('orphans', () => {
  it('[WKT5.6] are reported and never deleted: no run, no tree, no record', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const [a, b, c] = [await make(root), await make(root), await make(root)];
    await rm(b.checkout.path, { recursive: true });
    await mkdir(join(a.repository.home, 'somebody’s'));
    const found = await findOrphans(a.repository, [c.checkout.name, 'never-made']);
    expect(found.map(({ name, why }) => [name, why])).toEqual(
      [
        [a.checkout.name, 'no_run'],
        [b.checkout.name, 'no_tree'],
        ['never-made', 'no_tree'],
        ['somebody’s', 'no_record'],
      ].toSorted(([x = ''], [y = '']) => (x < y ? -1 : 1)),
    );
    expect(await asPerson(a.checkout.path, 'status', '--porcelain')).toBe('');
    expect(await listCheckouts(a.repository)).toHaveLength(3);
    await (
      await removeCheckout(b.checkout)
    ).deleted;
    // One whose room is gone is removed all the same.
    const { checkout: roomless } = await make(root);
    await rm(roomless.room, { recursive: true });
    await (
      await removeCheckout(roomless)
    ).deleted;
    expect((await findOrphans(a.repository, [])).map(({ why }) => why).toSorted()).toEqual([
      'no_record',
      'no_run',
      'no_run',
    ]);
  });

  it('[WKT5.6] are none where there was never a worktree', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const repository = await findRepository(root, { home: null });
    expect(await findOrphans(repository, [])).toEqual([]);
    expect(existsSync(repository.home)).toBe(false);
  });

  it('[WKT5.7] a sweep leaves alone what is being made', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const setup = { command: 'x', lockFiles: [], movable: false };
    for (const kind of ['clone', 'linked'] as const) {
      const { checkout } = await make(root, {
        settings: { setup, kind },
        runSetup: async (_command, { checkout: half }) => {
          expect(await findOrphans(half.repository, [])).toEqual([]);
          expect(existsSync(half.path)).toBe(true);
          return { code: 0 };
        },
      });
      expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
      await (
        await removeCheckout(checkout)
      ).deleted;
    }
  });

  it('[WKT5.7] a sweep that meets a stage before its maker holds it takes it, and the maker makes another', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const repository = await findRepository(root, { home: null });
    const stages = join(repository.home, '.reveille', '.stage');
    await mkdir(stages, { recursive: true });
    const sweeping = { on: true };
    const sweeper = (async () => {
      while (sweeping.on) await sweep(repository);
    })();
    for (let i = 0; i < 100; i += 1) {
      using stage = await openStage(repository);
      expect(existsSync(join(stage.path, 'life.db'))).toBe(true);
    }
    sweeping.on = false;
    await sweeper;
    await sweep(repository);
    expect(await readdir(stages)).toEqual([]);
  });
});
