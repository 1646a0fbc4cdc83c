import { mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { INTEGRATOR, type Executor } from '@reveille/core';
import { scriptedExecutor } from '@reveille/executors';
import { mcpHttp } from '@reveille/tools';
import { Boundary, Trust, type BoundarySettings } from '@reveille/worktrees';
import { expandHome } from '../config/home.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';
import type { Place } from '../place/folder.ts';
import { VERSION } from '../version.ts';
import { NavigationOnDemand } from './caller-navigation.ts';
import { CallerWorlds } from './caller-world.ts';
import type { Parts, World } from './parts.ts';
import { RepositoryAgents } from './repository-agents.ts';

/** The rooms as they are in production: worktrees with their boundary, the agents of every repository, MCP. */
export async function standardParts(from: {
  readonly config: Config;
  readonly place: Place;
  readonly log: Log;
  /** Where the daemon listens: agents reach it whatever else they may. */
  readonly url: string;
}): Promise<Parts> {
  const { config, place, log, url } = from;
  const runtimeFolder = join(place.home, 'run');
  // What a killed daemon left there is of no use to anybody.
  rmSync(runtimeFolder, { recursive: true, force: true });
  mkdirSync(runtimeFolder, { mode: 0o700 });
  const boundary = await Boundary.open({
    settings: boundarySettings(config, Number(new URL(url).port)),
    runtimeFolder,
    log: (message, data) => log.warn(message, data),
  });
  const agents = new RepositoryAgents(new Trust({ folder: join(place.home, 'trust') }));
  const navigation = config.navigation.enabled ? navigationOf(config, place, log) : null;
  return {
    agents: () => agents,
    workspaces: () => boundary.worktrees,
    executors({ clock, connect }) {
      const scripted = scriptedExecutor({
        clock,
        connect,
        write: async ({ task }, path, content) => {
          using door = await boundary.door(task, 'write');
          await door.writeFile(path, content);
        },
      });
      const all = new Map<string, Executor>([
        ['scripted', scripted],
        [INTEGRATOR.backend, boundary.integrator(connect)],
      ]);
      return { backends: () => ['scripted'], get: (name) => all.get(name) };
    },
    mounts(world) {
      const worlds = new CallerWorlds({ world, boundary, agents, navigation });
      const onError = (error: Error): void => log.warn('MCP', { error: String(error) });
      const server = mcpHttp({ version: VERSION, onError });
      agents.onChange(() => server.toolsChanged());
      return [
        {
          path: '/mcp',
          handle: (request, caller) => server.fetch(request, worlds.of(caller)),
          close: () => server.close(),
        },
      ];
    },
    started: (world) => tellOrphans(world, boundary),
    async close() {
      agents.close();
      await navigation?.[Symbol.asyncDispose]();
      await boundary[Symbol.asyncDispose]();
    },
  };
}

/** Servers are found on the path, in a folder of ours, and in the user's config. */
function navigationOf({ navigation }: Config, { home }: Place, log: Log): NavigationOnDemand {
  const { memoryMb, idleMs, servers } = navigation;
  return new NavigationOnDemand({
    settings: { budgetBytes: memoryMb * 2 ** 20, idleMs },
    sources: { configured: servers, folders: [join(home, 'servers', 'node_modules', '.bin')] },
    log: (message, data) => log.warn(message, data),
  });
}

/** Worktrees without a task, and tasks without a worktree: told, never deleted. */
async function tellOrphans({ connect, log }: World, { worktrees }: Boundary): Promise<void> {
  const tasks = await connect({ kind: 'person', name: 'reveille' }).listTasks({});
  for (const { path, why } of await worktrees.orphans(tasks.map(({ task }) => task)))
    log.warn('a worktree that belongs to no task, or is not where it should be; it is left as it is', {
      path,
      why,
    });
}

function boundarySettings({ worktrees, sandbox, integration }: Config, port: number): BoundarySettings {
  const { dirty, setup, ...rest } = worktrees;
  const network =
    sandbox.network === 'list' ? { kind: 'list' as const, hosts: sandbox.hosts } : { kind: sandbox.network };
  const paths = (named: readonly string[]): string[] => named.map((path) => expandHome(path, homedir()));
  return {
    worktrees: { ...rest, setup: setup && { ...setup, lockFiles: setup.lockFiles } },
    dirty,
    sandbox: sandbox.mode,
    confinement: { network, loopback: [port], reads: paths(sandbox.reads), writes: paths(sandbox.writes) },
    audit: sandbox.audit,
    onConflict: integration.onConflict,
  };
}
