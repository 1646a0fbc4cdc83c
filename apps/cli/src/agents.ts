import type { Catalogue } from '@reveille/agents';
import { isReveilleError, type Orchestrator } from '@reveille/protocol';
import type { Io } from './io.ts';
import { homeOf, type Repository } from './repository.ts';
import { TrustFolder } from './trust.ts';

/** Whoever made it closes it. */
export type Agents = Catalogue & Disposable;

/** The agents that can be used in a repository, as its person trusts them; without one, the person's own. */
export async function agentsOf(io: Io, repository: Repository | null): Promise<Agents> {
  const [{ catalogue }, { placeOf }] = await Promise.all([
    import('@reveille/agents'),
    import('@reveille/daemon/connect'),
  ]);
  const trust = repository && new TrustFolder(placeOf(io.env).home, repository.common);
  const made = catalogue({
    home: homeOf(io),
    isTrusted: (item) => trust?.has(item) ?? false,
    ...(repository ? { repository: repository.top } : {}),
  });
  return Object.assign(made, { [Symbol.dispose]: () => made.close() });
}

/**
 * The backends that the daemon has. Nobody lists them, but whoever asks for one that does not exist is told which do, before
 * anything is made.
 */
export async function backendsOf(
  orchestrator: Pick<Orchestrator, 'spawnSubtask'>,
): Promise<readonly string[]> {
  try {
    await orchestrator.spawnSubtask(
      { agentType: 'no-such-backend-as-this:agent', prompt: 'none' },
      { blocking: false },
    );
    return [];
  } catch (error) {
    const known: unknown = isReveilleError(error, 'unknown_agent') ? error.data['known'] : [];
    return Array.isArray(known) ? known.filter((name) => typeof name === 'string') : [];
  }
}
