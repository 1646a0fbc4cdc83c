import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout, Repository } from '../checkout.ts';
import { orNull } from '../creation/files.ts';
import { layoutOf } from '../creation/layout.ts';
import { withCheckout, withRepository } from './scratch.ts';

/**
 * Ends what a killed process had begun: half laid files go back, a lock on the person's index is given back, a pack that
 * nothing needs is dropped. Every operation does this for its own checkout; this does it for all, when a life begins.
 */
export async function settleWork(repository: Repository, checkouts: readonly Checkout[]): Promise<void> {
  const purposes = (await orNull(readdir(join(layoutOf(repository).ours, '.work')))) ?? [];
  for (const purpose of purposes) await withRepository(repository, purpose, async () => undefined);
  for (const checkout of checkouts) await withCheckout(checkout, async () => undefined);
}
