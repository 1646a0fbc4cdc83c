import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Checkout, Repository } from '../checkout.ts';
import { git } from '../git/git.ts';
import { dropRef, letGoOfFiles } from '../git/refs.ts';
import { dropEntry, entryIsForgotten, hideEntry } from './linked.ts';
import { workspaceError } from './failures.ts';
import { moveFolder } from './files.ts';
import { layoutOf, pinOf } from './layout.ts';
import { withLock } from './lock.ts';
import { freePorts } from './ports.ts';
import { checkoutOf, readRecord, type CheckoutRecord } from './record.ts';
import { deleteFolder, newBin } from './trash.ts';

export interface Removal {
  /** Resolves when it is deleted, or left for the next start to delete. Never rejects. */
  readonly deleted: Promise<void>;
}

/**
 * Takes a worktree away: it is gone from its place at once, and deleted behind everything else. Its branch stays, it
 * holds work; what nobody committed is lost, so whoever calls this has made a snapshot first.
 *
 * The room goes first, with the record in it, and is the bin for the rest: a process that dies in between leaves a bin
 * that says what was meant, and the next start goes on from there.
 */
export async function removeCheckout(checkout: Checkout): Promise<Removal> {
  const { repository } = checkout;
  try {
    const bin = await newBin(repository);
    await withLock(layoutOf(repository).lock, async () => {
      const room = await moveFolder(checkout.room, bin);
      await moveFolder(checkout.path, room ? treeIn(bin) : bin);
    });
    return { deleted: emptyBin(repository, bin).catch(() => undefined) };
  } catch (error) {
    throw workspaceError(`Removing the worktree ${checkout.name}`, error);
  }
}

const treeIn = (bin: string): string => join(bin, 'removed-tree');

/** Ends a removal that was begun, and deletes what is in the bin. May be done twice, and by two at a time. */
export async function emptyBin(repository: Repository, bin: string): Promise<void> {
  const record = await readRecord(bin);
  if (record) await finishRemoval(repository, record, bin);
  await deleteFolder(bin);
}

async function finishRemoval(repository: Repository, record: CheckoutRecord, bin: string): Promise<void> {
  const { name, kind, start } = record;
  const { room, path } = checkoutOf(repository, record);
  const { lock } = layoutOf(repository);
  const pinned = await stillNeeded(repository, record);
  const seen = await withLock(lock, async () => {
    // Somebody has ended this removal, and the name is another worktree's by now.
    if (existsSync(room)) return false;
    await moveFolder(path, treeIn(bin));
    return kind === 'linked' && (await hideEntry(repository, name));
  });
  const pin = pinOf(name);
  await Promise.all([
    seen ? entryIsForgotten() : null,
    pinned || existsSync(room) ? null : letGoOfFiles(repository.gitDir, [pin]),
  ]);
  await withLock(lock, async () => {
    if (existsSync(room)) return;
    if (kind === 'linked') await dropEntry(repository, name, basename(bin));
    await freePorts(repository, name);
    // Last: as long as the pin is there, nobody else gets the name.
    if (!pinned) await dropRef(repository.gitDir, pin, start);
  });
}

/**
 * The start of a branch that no longer contains it (the agent began anew) is kept for comparing; that of one that
 * does, or is gone, is not needed any more.
 */
async function stillNeeded(repository: Repository, { branch, start }: CheckoutRecord): Promise<boolean> {
  const contains = await git({
    gitDir: repository.gitDir,
    args: ['merge-base', '--is-ancestor', start, `refs/heads/${branch}`],
    // 128: one of the two is not there, and there is nothing to compare.
    accept: [1, 128],
  });
  return contains.code === 1;
}
