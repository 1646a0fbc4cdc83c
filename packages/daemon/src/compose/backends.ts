import { INTEGRATOR, type Executor, type Executors } from '@reveille/core';
import { scriptedExecutor } from '@reveille/executors';
import { sdkFile } from '@reveille/executors/claude';
import type { Boundary } from '@reveille/worktrees';
import { acpBackends, claudeBackend, isThere, sdkFolder } from './acp/backends.ts';
import { acpExecutorOf, claudeExecutorOf } from './acp/executors.ts';
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

/** How agents are run, by backend. What is installed is looked for each time: what has just been can be used at once. */
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
  const hasClaude = (): boolean =>
    claude.configured.program !== null && sdkFile(sdkFolder(place.home)) !== null;
  return {
    backends: () => [
      'scripted',
      ...(builtin ? ['builtin'] : []),
      ...(hasClaude() ? ['claude'] : []),
      ...acp
        .filter((backend) => isThere(backend, config, process.env['PATH'] ?? ''))
        .map(({ preset }) => preset.name),
    ],
    get: (name) => all.get(name),
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
