import type { Catalogue } from '@reveille/agents';
import type { Backend } from '@reveille/protocol';
import type { Io } from './io.ts';
import { homeOf, type Repository } from './repository.ts';
import { trustIn } from './trusted.ts';

/** Whoever made it closes it. */
export type Agents = Catalogue & Disposable;

/** The agents that can be used in a repository, as its person trusts them; without one, the person's own. */
export async function agentsOf(io: Io, repository: Repository | null): Promise<Agents> {
  const { catalogue } = await import('@reveille/agents');
  const isTrusted = repository ? (await trustIn(io, repository)).has : () => false;
  const made = catalogue({
    home: homeOf(io),
    isTrusted,
    ...(repository ? { repository: repository.top } : {}),
  });
  return Object.assign(made, { [Symbol.dispose]: () => made.close() });
}

/** What agents can be run on. Only a running daemon knows; none is started to ask. Null: none runs. */
export async function backendsHere({ env }: Pick<Io, 'env'>): Promise<readonly Backend[] | null> {
  const { connect, daemonStatus } = await import('@reveille/daemon/connect');
  if ((await daemonStatus({ env })).state !== 'running') return null;
  return (await connect({ env, start: false })).backends();
}
