import type { Repository } from '../checkout.ts';
import { readRefs, REFS, updateRefs, type RefUpdate } from './refs.ts';

const PULLED = 'refs/reveille/pulled/';

/**
 * Drops what our refs say about a checkout that was removed, so that another of its name does not inherit it. Its branch
 * and its snapshots stay; and where it was pulled into another, that one still has it as a part of its history to be.
 */
export async function forgetCheckout(repository: Repository, name: string): Promise<void> {
  const refs = await readRefs(repository, [
    REFS.seen(name),
    REFS.restored(name),
    REFS.checkpoints(name),
    PULLED,
  ]);
  const updates = [...refs].flatMap(([ref, commit]): RefUpdate[] => {
    const gone = { ref, from: commit, to: null };
    if (!ref.startsWith(PULLED) || ref.startsWith(REFS.pulled(name, ''))) return [gone];
    const [parent = '', child] = ref.slice(PULLED.length).split('/');
    const nameless = REFS.pulled(parent, `was-${commit}`);
    if (child !== name) return [];
    return refs.has(nameless) ? [gone] : [gone, { ref: nameless, from: null, to: commit }];
  });
  if (updates.length > 0) await updateRefs(repository, updates, 'removed');
}
