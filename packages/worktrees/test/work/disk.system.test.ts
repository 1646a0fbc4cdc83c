import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Checkout } from '@reveille/worktrees';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { importBranch } from '../../src/work/import.ts';
import { snapshot } from '../../src/work/snapshots.ts';
import { canMount, smallDisk, type Mounted } from '../creation/mounts.ts';
import { asPerson, make, personIsWell, Scratch } from '../creation/scratch.ts';
import { AGENT } from './world.ts';

const canFill = await canMount(() => smallDisk('1m'));
const SKIPPED = canFill ? '' : ' (skipped: nothing can be mounted here)';

/** Writes until there is no room for anything. */
async function fill(disk: Mounted): Promise<void> {
  for (const piece of [1_000_000, 4_096, 1])
    for (let i = 0; ; i += 1) {
      const full = await writeFile(join(disk.path, `filler-${piece}-${i}`), randomBytes(piece)).then(
        () => false,
        () => true,
      );
      if (full) break;
    }
}

async function empty(disk: Mounted): Promise<void> {
  for (const name of readdirSync(disk.path).filter((each) => each.startsWith('filler-')))
    await rm(join(disk.path, name));
}

/** Packs, locks and objects that somebody began. */
const begun = (gitDir: string): string[] =>
  readdirSync(gitDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /tmp_|\.lock$|\.keep$/.test(name),
  );

const CASES: Readonly<Record<string, (checkout: Checkout) => Promise<unknown>>> = {
  'an import': (checkout) => importBranch(checkout),
  'a commit of leftovers': (checkout) => commitLeftovers(checkout, AGENT),
  'a snapshot': (checkout) => snapshot(checkout, 'kept'),
};

describe.runIf(canFill)(`the disk under the repository${SKIPPED}`, () => {
  for (const [name, work] of Object.entries(CASES))
    for (const trouble of ['full', 'read-only'] as const)
      it(`[WKT1.29] is ${trouble}: ${name} is an error that says so, leaves nothing, and works again`, async () => {
        await using disk = await smallDisk('6m');
        await using scratch = await Scratch.make();
        await using onDisk = await Scratch.make(disk.path);
        const root = await onDisk.repository();
        const { checkout, repository } = await make(root, { settings: { home: join(scratch.path, 'home') } });
        await writeFile(join(checkout.path, 'large'), randomBytes(500_000));
        await asPerson(checkout.path, 'add', '-A');
        await asPerson(checkout.path, 'commit', '-qm', 'large');
        await writeFile(join(checkout.path, 'left'), randomBytes(300_000));
        const refs = async (): Promise<string> => await asPerson(root, 'for-each-ref');
        const before = await refs();
        if (trouble === 'full') await fill(disk);
        else await disk.makeReadOnly();
        await expect(work(checkout)).rejects.toMatchObject({
          code: 'workspace_failed',
          data: { reason: trouble === 'full' ? 'disk_full' : 'read_only' },
        });
        expect(await refs()).toBe(before);
        expect(begun(repository.gitDir)).toEqual([]);
        expect(existsSync(join(checkout.path, 'left'))).toBe(true);
        if (trouble === 'full') await empty(disk);
        else await disk.makeWritable();
        await work(checkout);
        expect(await asPerson(root, 'log', '--format=%s', checkout.branch)).toContain('large');
        await personIsWell(root);
      });
});

describe.runIf(canFill)(`the disk under the worktrees${SKIPPED}`, () => {
  for (const [name, work] of Object.entries(CASES))
    it(`[WKT1.29] has room for a little: ${name} is an error that says so, and is not taken for a fault of the agent’s`, async () => {
      await using disk = await smallDisk('6m');
      await using scratch = await Scratch.make();
      const root = await scratch.repository();
      const { checkout } = await make(root, { settings: { home: join(disk.path, 'home'), pool: 0 } });
      await writeFile(join(checkout.path, 'large'), randomBytes(1_000_000));
      await asPerson(checkout.path, 'add', '-A');
      await asPerson(checkout.path, 'commit', '-qm', 'large');
      await writeFile(join(disk.path, 'filler-last'), randomBytes(300_000));
      await fill(disk);
      await rm(join(disk.path, 'filler-last'));
      await expect(work(checkout)).rejects.toMatchObject({
        code: 'workspace_failed',
        data: { reason: 'disk_full' },
      });
      expect(readdirSync(join(checkout.room, 'scratch'))).toEqual([]);
      await empty(disk);
      await work(checkout);
      expect(await asPerson(root, 'log', '--format=%s', checkout.branch)).toContain('large');
      await personIsWell(root);
    });
});
