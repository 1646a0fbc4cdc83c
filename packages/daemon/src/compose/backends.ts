import { INTEGRATOR, type Executor, type Executors } from '@reveille/core';
import { scriptedExecutor } from '@reveille/executors';
import type { Boundary } from '@reveille/worktrees';
import { acpBackends, claudeBackend } from './acp/backends.ts';
import { acpExecutorOf, claudeExecutorOf, reapAgents } from './acp/executors.ts';
import { builtinOf } from './builtin.ts';
import type { CallerWorlds } from './caller-world.ts';
import type { FoundEndpoint } from './endpoint.ts';
import type { World } from './parts.ts';
import type { RepositoryAgents } from './repository-agents.ts';
import { installedHere, missingHere, usualHere } from './installed.ts';

interface Rooms {
  readonly world: World;
  readonly worlds: CallerWorlds;
  readonly boundary: Boundary;
  readonly agents: RepositoryAgents;
  /** Whose logins agents are given. */
  readonly home: string;
  /** Where our own agent finds a model; null: nowhere. */
  readonly endpoint: FoundEndpoint | null;
}

/** How agents are run, by backend. What is installed is looked for again and again: what has just been can be used. */
export function openBackends(rooms: Rooms): Executors & { readonly usual: string } {
  const { config, place, connect } = rooms.world;
  const acp = acpBackends(config);
  const claude = claudeBackend(config, place.home, process.env['PATH'] ?? '');
  const builtin = rooms.endpoint && builtinOf(rooms, rooms.endpoint.endpoint);
  const all = new Map<string, Executor>([
    ['scripted', scriptedOf(rooms)],
    [INTEGRATOR.backend, rooms.boundary.integrator(connect)],
    ['claude', claudeExecutorOf(claude, rooms)],
    ...(builtin ? ([['builtin', builtin]] as const) : []),
    ...acp.map((backend) => [backend.preset.name, acpExecutorOf(backend, rooms)] as const),
  ]);
  const { endpoint } = rooms;
  const look = { config, place, env: process.env, home: rooms.home, endpoint };
  const usual = usualHere(look);
  return {
    backends: believed(() => installedHere(look)),
    problem: (name) => missingHere(look, name),
    get: (name) => all.get(name),
    usual: usual.name,
    why: () => usual.why,
    reapAll: () => reapAgents(rooms.world),
  };
}

/** How long the list of installed backends is kept: every spawn asks for it, and a path is long. */
const BELIEVED_MS = 2_000;

function believed(look: () => readonly string[]): Executors['backends'] {
  let known: { readonly at: number; readonly names: readonly string[] } | undefined;
  return (wanted) => {
    const isOld = known === undefined || performance.now() - known.at > BELIEVED_MS;
    const lacks = wanted !== undefined && known?.names.includes(wanted) !== true;
    if (known === undefined || isOld || lacks) known = { at: performance.now(), names: look() };
    return known.names;
  };
}

/** Scripted agents write through the same door as any other. */
function scriptedOf({ world: { clock, connect }, boundary }: Rooms): Executor {
  return scriptedExecutor({
    needsScript: true,
    clock,
    connect,
    write: async ({ task }, path, content) => {
      using door = await boundary.door(task, 'write');
      await door.writeFile(path, content);
    },
  });
}
