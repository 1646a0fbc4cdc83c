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
import { acpBackends, isThere, type AcpBackend } from './acp/backends.ts';
import { acpExecutorOf } from './acp/executors.ts';
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
  const acp = acpBackends(config);
  const backends = believed(() => ['scripted', ...installed(acp, config)]);
  return {
    agents: () => agents,
    workspaces: () => boundary.worktrees,
    executors(world) {
      const byProtocol = acp.map(
        (backend) => [backend.preset.name, acpExecutorOf(backend, { world, boundary, agents })] as const,
      );
      const all = new Map<string, Executor>([...ownExecutors(world, boundary), ...byProtocol]);
      return { backends, get: (name) => all.get(name) };
    },
    mounts(world) {
      const worlds = new CallerWorlds({ world, boundary, agents, backends });
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
      await boundary[Symbol.asyncDispose]();
    },
  };
}

/** Those that need no model and no program of others. */
function ownExecutors({ clock, connect }: World, boundary: Boundary): [string, Executor][] {
  const scripted = scriptedExecutor({
    clock,
    connect,
    write: async ({ task }, path, content) => {
      using door = await boundary.door(task, 'write');
      await door.writeFile(path, content);
    },
  });
  return [
    ['scripted', scripted],
    [INTEGRATOR.backend, boundary.integrator(connect)],
  ];
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

/** Looked for again and again: one that was just installed can be used. */
function installed(acp: readonly AcpBackend[], config: Config): string[] {
  const path = process.env['PATH'] ?? '';
  return acp.filter((backend) => isThere(backend, config, path)).map(({ preset }) => preset.name);
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
