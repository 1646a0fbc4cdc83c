import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A file system of its own, mounted for as long as it is in use. */
export interface Mounted extends AsyncDisposable {
  readonly path: string;
  makeReadOnly(): Promise<void>;
  makeWritable(): Promise<void>;
}

/** A small disk in memory. */
export async function smallDisk(size: string): Promise<Mounted> {
  return await mounted(
    async (_folder, at) => await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', at]),
  );
}

/** A file system whose files can share blocks. */
export async function sharingDisk(): Promise<Mounted> {
  return await mounted(async (folder, at) => {
    const image = join(folder, 'image');
    await writeFile(image, '');
    await truncate(image, 160 * 1024 * 1024);
    await run('mkfs.btrfs', ['-q', image]);
    await run('mount', ['-o', 'loop', image, at]);
  });
}

async function mounted(mount: (folder: string, at: string) => Promise<unknown>): Promise<Mounted> {
  const folder = await mkdtemp(join(tmpdir(), 'reveille-disk-'));
  const path = join(folder, 'disk');
  await mkdir(path);
  await mount(folder, path);
  return {
    path,
    makeReadOnly: async () => {
      await run('mount', ['-o', 'remount,ro', path]);
    },
    makeWritable: async () => {
      await run('mount', ['-o', 'remount,rw', path]);
    },
    [Symbol.asyncDispose]: async () => {
      // Lazily: a program that just ended may still be counted as using it.
      await run('umount', ['-l', path]);
      await rm(folder, { recursive: true });
    },
  };
}

/** Whether the tests may mount something here. */
export async function canMount(how: () => Promise<Mounted>): Promise<boolean> {
  try {
    await using _disk = await how();
    return true;
  } catch {
    return false;
  }
}
