import type { Catalogue } from '@reveille/agents';
import type { LoadedConfig } from '@reveille/daemon/config';
import { isReveilleError, type Backend } from '@reveille/protocol';
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

/** What agents can be run on. */
export interface BackendsHere {
  readonly backends: readonly Backend[];
  /** Why another cannot be used, and what to do; undefined: there is none of that name. */
  readonly problem: (name: string) => string | undefined;
  /** What a daemon that were started now would run agents on that name no backend, if the running one does otherwise. */
  readonly afterRestart: Backend | null;
}

/** As the running daemon says; where none runs, what one would have. Null: the settings are wrong, which is said elsewhere. */
export async function backendsHere({ env }: Pick<Io, 'env'>): Promise<BackendsHere | null> {
  const { backendsIfStarted, loadConfig, placeOf } = await import('@reveille/daemon');
  const { connect, daemonStatus } = await import('@reveille/daemon/connect');
  const place = placeOf(env);
  const { config } = configOrNull(() => loadConfig({ env, userFile: place.userConfig }));
  if (!config) return null;
  const found = await backendsIfStarted({ config, place, env, home: homeOf({ env }) });
  if ((await daemonStatus({ env })).state !== 'running') return { ...found, afterRestart: null };
  const backends = await (await connect({ env, start: false })).backends();
  const usual = (all: readonly Backend[]): Backend | null => all.find(({ isDefault }) => isDefault) ?? null;
  const [now, later] = [usual(backends), usual(found.backends)];
  return { ...found, backends, afterRestart: now?.name === later?.name ? null : later };
}

function configOrNull(load: () => LoadedConfig): { readonly config: LoadedConfig['config'] | null } {
  try {
    return load();
  } catch (error) {
    if (isReveilleError(error)) return { config: null };
    throw error;
  }
}
