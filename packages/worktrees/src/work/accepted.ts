import { ReveilleError } from '@reveille/protocol';
import type { Scratch } from './scratch-place.ts';
import { changesBetween, type RawChange } from './trees.ts';

const MOST_NAMED = 20;

export interface AcceptedTree {
  /** What was merged, pulled, restored or brought home, in words. */
  readonly what: string;
  /** The tree, or a commit of it, that was decided on. */
  readonly accepted: string;
  /** The tree that is there. */
  readonly found: string;
  /** Where others may write meanwhile, only these paths must be alike. One character for each byte. */
  readonly only?: ReadonlySet<string>;
}

/**
 * The last step of everything that changes files for somebody: what is there must be what was decided on, by path, mode
 * and object, before it is called done. The scratch takes back what was laid when this throws.
 */
export async function confirmTree(scratch: Scratch, tree: AcceptedTree): Promise<void> {
  const { what, accepted, found, only } = tree;
  const changes = await changesBetween(scratch, accepted, found);
  const files = changes.filter(({ path }) => only?.has(path) ?? true).map(nameOf);
  if (files.length > 0) throw differs(what, files);
}

export function differs(what: string, files: readonly string[]): ReveilleError {
  const named = files.slice(0, MOST_NAMED);
  const more = files.length > named.length ? ` and ${files.length - named.length} more` : '';
  return new ReveilleError(
    'workspace_failed',
    `${what} was taken back: afterwards ${named.join(', ')}${more} ${files.length === 1 ? 'was' : 'were'} not as decided. Look whether something else writes there, and try again.`,
    { data: { files: named, count: files.length } },
  );
}

const nameOf = ({ path }: RawChange): string => Buffer.from(path, 'latin1').toString('utf8');
