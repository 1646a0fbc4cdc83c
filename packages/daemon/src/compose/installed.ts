import { join } from 'node:path';
import { loginOf, type Preset } from '@reveille/executors/acp';
import type { ServerHere } from '@reveille/navigation';
import type { Backend } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Place } from '../place/folder.ts';
import { acpBackends, claudeBackend, hasClaude, isThere, missingClaude } from './acp/backends.ts';
import { findEndpoint, type FoundEndpoint } from './endpoint.ts';
import { usualBackend, type UsualBackend } from './usual-backend.ts';

interface Look {
  readonly config: Config;
  readonly place: Place;
  readonly env: NodeJS.ProcessEnv;
  /** Whose logins count. */
  readonly home: string;
  /** Where our own agent finds a model; null: nowhere. */
  readonly endpoint: FoundEndpoint | null;
}

/** The backends that are there, by looking for files alone. */
export function installedHere({ config, place, env, endpoint }: Look): string[] {
  const path = env['PATH'] ?? '';
  const acp = acpBackends(config).filter((backend) => isThere(backend, config, path));
  return [
    'scripted',
    ...(endpoint ? ['builtin'] : []),
    ...(hasClaude(claudeBackend(config, place.home, path), place.home) ? ['claude'] : []),
    ...acp.map(({ preset }) => preset.name),
  ];
}

/** Why a backend is not there, and what to do; undefined: nobody knows one of that name, or it is there. */
export function missingHere({ config, place, env, endpoint }: Look, name: string): string | undefined {
  const path = env['PATH'] ?? '';
  if (name === 'builtin' && !endpoint)
    return 'it has no model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or backends.builtin.model';
  if (name === 'claude') return missingClaude(claudeBackend(config, place.home, path), place.home);
  const backend = acpBackends(config).find(({ preset }) => preset.name === name);
  if (!backend || isThere(backend, config, path)) return undefined;
  const { preset, configured } = backend;
  const program = configured.program ?? preset.programs.join(' or ');
  return `${preset.title} is not installed: there is no ${program}. To install it: ${preset.install}`;
}

/** The one of agents that name none, and why. */
export function usualHere(look: Look): UsualBackend {
  const { config, place, env, home, endpoint } = look;
  const backends = [claudeBackend(config, place.home, env['PATH'] ?? ''), ...acpBackends(config)];
  // A key may be in what is configured for the agent alone.
  const envOf = ({ name }: Preset): NodeJS.ProcessEnv => ({
    ...env,
    ...backends.find(({ preset }) => preset.name === name)?.configured.env,
  });
  return usualBackend({
    configured: config.engine.defaultBackend,
    installed: installedHere(look),
    agents: backends.map(({ preset }) => preset),
    endpoint,
    login: (preset) => loginOf(preset, { env: envOf(preset), home }),
  });
}

interface BackendsIfStarted {
  readonly backends: readonly Backend[];
  /** Why another is not among them, and what to do; undefined: there is none of that name. */
  readonly problem: (name: string) => string | undefined;
}

/** What a daemon that were started now would have, for whoever asks while none runs. */
export async function backendsIfStarted(look: Omit<Look, 'endpoint'>): Promise<BackendsIfStarted> {
  const endpoint = await findEndpoint(look.config, look.env);
  const { name: usual, why } = usualHere({ ...look, endpoint });
  const names = installedHere({ ...look, endpoint }).toSorted(
    (a, b) => Number(b === usual) - Number(a === usual),
  );
  const backends = names.map((name) =>
    name === usual ? { name, isDefault: true, why } : { name, isDefault: false },
  );
  return { backends, problem: (name) => missingHere({ ...look, endpoint }, name) };
}

/** Language servers are found in the user's config, in a folder of ours, and on the path. */
export const serverSources = ({ config, place }: Pick<Look, 'config' | 'place'>) => ({
  configured: config.navigation.servers,
  folders: [join(place.home, 'servers', 'node_modules', '.bin')],
});

/** The language servers that a daemon that were started now would have. */
export async function serversIfStarted(
  look: Pick<Look, 'config' | 'place' | 'env'>,
): Promise<readonly ServerHere[]> {
  const { serversHere } = await import('@reveille/navigation');
  return await serversHere({ ...serverSources(look), path: look.env['PATH'] ?? '' });
}
