import type { Caller } from '@reveille/protocol';
import { sessionOf } from './authority.ts';
import type { Host } from './host.ts';

/** The repository that agents are looked for in: the one that is named, or the caller's. Its own agents are known then. */
export async function knownRepository(
  { context }: Host,
  caller: Caller,
  named: string | null | undefined,
): Promise<string | null> {
  const session = sessionOf(caller);
  const own = session ? (await context.store.get('session', session))?.doc.repository : null;
  const repository = (typeof named === 'string' ? named : null) ?? own ?? null;
  if (repository !== null) await context.agents.know?.(repository);
  return repository;
}
