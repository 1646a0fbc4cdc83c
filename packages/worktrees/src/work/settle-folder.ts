import type { Repository } from '../checkout.ts';
import { settleHome } from './home-lock.ts';
import { settleLaying } from './lay.ts';
import { settlePacks } from './placing.ts';

/**
 * Ends what was begun in a scratch: by whoever used it, and if that process died, by whoever comes next. What got
 * as far as its ref is finished, everything before that is undone.
 */
export async function settleFolder(repository: Repository, folder: string): Promise<void> {
  await settleLaying(repository, folder);
  await settleHome(repository, folder);
  await settlePacks(repository, folder);
}
