import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout, Repository } from '../checkout.ts';
import { orNull } from '../creation/files.ts';
import { layoutOf } from '../creation/layout.ts';
import { FENCES } from './lay.ts';
import { readRefs, updateRefs } from './refs.ts';
import { withCheckout, withRepository } from './scratch.ts';

/**
 * Ends what a killed process had begun: half laid files go back, a lock on the person's index is given back, a pack that
 * nothing needs is dropped. Every operation does this for its own checkout; this does it for all, when a life begins.
 */
export async function settleWork(repository: Repository, checkouts: readonly Checkout[]): Promise<void> {
  const own = join(layoutOf(repository).ours, '.work');
  const purposes = (await orNull(readdir(own))) ?? [];
  for (const purpose of purposes) await withRepository(repository, purpose, async () => undefined);
  for (const checkout of checkouts) await withCheckout(checkout, async () => undefined);
  const rooms = [...purposes.map((purpose) => join(own, purpose)), ...checkouts.map(({ room }) => room)];
  await dropFences(repository, rooms);
}

/** A git that outlived its process may have made one after we had settled what it was for. */
async function dropFences(repository: Repository, rooms: readonly string[]): Promise<void> {
  const fences = await readRefs(repository, [FENCES]);
  const dead = [...fences].filter(([ref]) =>
    rooms.every((room) => !existsSync(join(room, 'scratch', ref.slice(FENCES.length)))),
  );
  const updates = dead.map(([ref, from]) => ({ ref, from, to: null }));
  if (updates.length > 0) await updateRefs(repository, updates, 'settled');
}
