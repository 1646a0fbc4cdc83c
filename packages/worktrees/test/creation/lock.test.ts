import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tryLock, withLock } from '../../src/creation/lock.ts';

async function inFolder(work: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reveille-lock-'));
  try {
    await work(join(folder, 'lock.db'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('[WKT5.1] lets one at a time in, in the order they came', async () => {
  await inFolder(async (path) => {
    let inside = 0;
    const order: number[] = [];
    const enter = async (number: number): Promise<void> =>
      await withLock(path, async () => {
        expect((inside += 1)).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(number);
        inside -= 1;
      });
    await Promise.all(Array.from({ length: 20 }, (_, i) => enter(i)));
    expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });
});

it('[WKT5.1] is free again after a failure, and whoever waits can give up', async () => {
  await inFolder(async (path) => {
    await expect(withLock(path, () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
    const held = tryLock(path);
    expect(held).not.toBeNull();
    expect(tryLock(path)).toBeNull();
    const giveUp = new AbortController();
    const waiting = withLock(path, async () => 'entered', giveUp.signal);
    giveUp.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    held?.release();
    expect(await withLock(path, async () => 'entered')).toBe('entered');
  });
});
