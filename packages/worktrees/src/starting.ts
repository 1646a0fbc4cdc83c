import type { Made, Origin } from '@reveille/core';
import type { DirtyPolicy } from '@reveille/protocol';
import type { Checkout } from './checkout.ts';
import { resolveStart, type Start } from './creation/start.ts';
import type { FoundRepository } from './repository.ts';
import { confirmTree } from './work/accepted.ts';
import { capture } from './work/capture.ts';
import { mergeBranches } from './work/merge.ts';
import { withCheckout } from './work/scratch.ts';

export interface Beginning {
  readonly start: Pick<Start, 'commit'> & Partial<Start>;
  readonly notices: readonly string[];
  /** It is what its dependencies made, merged. */
  readonly merged?: boolean;
}

/** The commit a checkout starts from. */
export async function beginningOf(
  repository: FoundRepository,
  origin: Exclude<Origin, { kind: 'shared' }>,
  dirty: DirtyPolicy,
): Promise<Beginning> {
  switch (origin.kind) {
    case 'base':
      return { start: await baseOf(repository, origin, dirty), notices: [] };
    case 'integration':
      return { start: await resolveStart(repository, { branch: origin.branch, dirty: 'head' }), notices: [] };
    case 'checkpoint':
      return { start: { commit: origin.commit }, notices: [] };
    case 'dependencies':
      return merged(repository, origin, dirty);
    default:
      return origin satisfies never;
  }
}

/** A named branch, or the person's checkout as it was decided when the work was made; without a decision, as the setting says. */
async function baseOf(
  repository: FoundRepository,
  { branch, startsFrom }: Pick<Extract<Origin, { kind: 'base' }>, 'branch' | 'startsFrom'>,
  dirty: DirtyPolicy,
): Promise<Beginning['start']> {
  if (branch === null && startsFrom?.snapshot) return { commit: startsFrom.snapshot };
  return resolveStart(repository, { branch, dirty: startsFrom ? 'head' : dirty });
}

/**
 * All that its dependencies made, in one commit (PLN5). What does not go together with the rest is left out, and its agent
 * is told to merge it: it knows what both sides are for, we do not.
 */
async function merged(
  repository: FoundRepository,
  origin: Extract<Origin, { kind: 'dependencies' }>,
  dirty: DirtyPolicy,
): Promise<Beginning> {
  const [first, ...others] = origin.made.filter(
    (one): one is Made & { commit: string } => one.commit !== null,
  );
  if (!first) return { start: await baseOf(repository, origin, dirty), notices: [] };
  const notices: string[] = [];
  let { commit } = first;
  for (const other of others) {
    const message = (): string => `Merge what "${other.task.name}" made`;
    const next = await mergeBranches(repository, { base: commit, branches: [other.commit], message });
    if (next.commit === undefined)
      notices.push(
        conflictNotice(
          other,
          next.conflict.files.map(({ path }) => path),
        ),
      );
    else ({ commit } = next);
  }
  return { start: { commit }, notices, merged: true };
}

/** The files of a new checkout are what was merged for it. */
export async function confirmStart(checkout: Checkout): Promise<void> {
  const { name, start: accepted } = checkout;
  await withCheckout(checkout, async (scratch) => {
    const { tree: found } = await capture(scratch, checkout, { base: accepted });
    await confirmTree(scratch, { what: `Merging what ${name} depends on`, accepted, found });
  });
}

const conflictNotice = ({ task, commit }: Made, files: readonly string[]): string =>
  `What "${task.name}" made conflicts with the rest of what you start from, in ${files.slice(0, 20).join(', ')}. It is not in your tree: merge the commit ${commit} yourself before you begin.`;
