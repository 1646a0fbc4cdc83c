import { INTEGRATOR, type Executor, type Executors } from '@reveille/core';
import { scriptedExecutor } from '@reveille/executors';
import { sdkFile } from '@reveille/executors/claude';
import type { Boundary } from '@reveille/worktrees';
import { acpBackends, claudeBackend, isThere, sdkFolder } from './acp/backends.ts';
import { acpExecutorOf, claudeExecutorOf, reapAgents } from './acp/executors.ts';
import { builtinOf } from './builtin.ts';
import type { CallerWorlds } from './caller-world.ts';
import type { World } from './parts.ts';
import type { RepositoryAgents } from './repository-agents.ts';

interface Rooms {
  readonly world: World;
  readonly worlds: CallerWorlds;
  readonly boundary: Boundary;
  readonly agents: RepositoryAgents;
}

/** How agents are run, by backend. What is installed is looked for again and again: what has just been can be used. */
export function openBackends(rooms: Rooms): Executors {
  const { config, place, connect } = rooms.world;
  const acp = acpBackends(config);
  const claude = claudeBackend(config, place.home);
  const builtin = builtinOf(rooms);
  const all = new Map<string, Executor>([
    ['scripted', scriptedOf(rooms)],
    [INTEGRATOR.backend, rooms.boundary.integrator(connect)],
    ['claude', claudeExecutorOf(claude, rooms)],
    ...(builtin ? ([['builtin', builtin]] as const) : []),
    ...acp.map((backend) => [backend.preset.name, acpExecutorOf(backend, rooms)] as const),
  ]);
  const path = (): string => process.env['PATH'] ?? '';
  const hasClaude = (): boolean =>
    claude.configured.program !== null && sdkFile(sdkFolder(place.home)) !== null;
  const installed = (): string[] => [
    'scripted',
    ...(builtin ? ['builtin'] : []),
    ...(hasClaude() ? ['claude'] : []),
    ...acp.filter((backend) => isThere(backend, config, path())).map(({ preset }) => preset.name),
  ];
  return {
    backends: believed(installed),
    get: (name) => all.get(name),
    reapAll: () => reapAgents(rooms.world),
  };
}

/** For how long it is believed which programs there are: every spawn asks, and a path is long. */
const BELIEVED_MS = 2_000;

function believed<T>(look: () => T): () => T {
  let known: { readonly at: number; readonly value: T } | undefined;
  return () => {
    if (known === undefined || performance.now() - known.at > BELIEVED_MS)
      known = { at: performance.now(), value: look() };
    return known.value;
  };
}

/** Scripted agents write through the same door as any other. */
function scriptedOf({ world: { clock, connect }, boundary }: Rooms): Executor {
  return scriptedExecutor({
    clock,
    connect,
    write: async ({ task }, path, content) => {
      using door = await boundary.door(task, 'write');
      await door.writeFile(path, content);
    },
  });
}
