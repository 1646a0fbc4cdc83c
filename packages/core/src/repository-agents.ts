import type { Caller, RequestId, TaskId } from '@reveille/protocol';
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

/** The agents of a task's repository are known: another of them may be named for it. */
export async function knownFor({ context }: Host, about: TaskId | RequestId): Promise<void> {
  const { store, agents } = context;
  const request = (await store.get('request', about))?.doc;
  const task = (await store.get('task', request?.task ?? about))?.doc;
  if (task?.repository) await agents.know?.(task.repository);
}
