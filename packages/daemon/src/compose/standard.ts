import { mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { RunTally } from '@reveille/core';
import { usedByTree } from '@reveille/navigation/memory';
import type { RunId } from '@reveille/protocol';
import { mcpHttp } from '@reveille/tools';
import { admitRepository, Boundary, Trust, type BoundarySettings } from '@reveille/worktrees';
import { expandHome } from '../config/home.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';
import { ownFolders, type Place } from '../place/folder.ts';
import { VERSION } from '../version.ts';
import { openBackends } from './backends.ts';
import { findEndpoint } from './endpoint.ts';
import { openMachine } from '../machine/machine.ts';
import { NavigationOnDemand } from './caller-navigation.ts';
import { serverSources } from './installed.ts';
import { DesktopNotices } from './notices.ts';
import { CallerWorlds } from './caller-world.ts';
import type { Parts, World } from './parts.ts';
import { RepositoryAgents } from './repository-agents.ts';
import { RepositoryPolicies } from './repository-policies.ts';
import { RepositorySettings } from './repository-settings.ts';
import { Upkeep } from './upkeep.ts';

interface From {
  readonly config: Config;
  readonly configIn?: LoadedConfig['in'] | undefined;
  readonly place: Place;
  readonly log: Log;
  /** Where the daemon listens: agents reach it whatever else they may. */
  readonly url: string;
  /** Whose agents and logins count; the home of this process unless told. */
  readonly home?: string | undefined;
}

/** The rooms as they are in production: worktrees with their boundary, the agents of every repository, MCP. */
export async function standardParts(from: From): Promise<Parts> {
  const { config, place, log, home = homedir() } = from;
  const trust = new Trust({ folder: join(place.home, 'trust') });
  const boundary = await openBoundary(from, trust);
  const upkeep = new Upkeep();
  const tally = new RunTally();
  const suggested = (run: RunId): void => tally.add(run, 'suggestions');
  const policies = new RepositoryPolicies({ config, configIn: from.configIn, own: ownFolders(place), log });
  const agents = new RepositoryAgents(trust, { home, own: ownFolders(place), policies, suggested });
  const endpoint = await findEndpoint(config, process.env);
  const navigation = config.navigation.enabled ? navigationOf(config, place, log) : null;
  const { desktop } = config.notify;
  const notices = new DesktopNotices({ desktop, env: process.env, platform: process.platform, log });
  const machine = await openMachine(config, place, log);
  const worldsIn = (world: World): CallerWorlds =>
    new CallerWorlds({ world, boundary, agents, navigation, tally });
  return {
    agents: () => agents,
    tally,
    machine,
    workspaces: () => boundary.worktrees,
    warnings: boundary.warnings,
    heard: (change) => notices.heard(change),
    executors: (world) => openBackends({ world, worlds: worldsIn(world), boundary, agents, home, endpoint }),
    mounts(world) {
      const worlds = worldsIn(world);
      const onError = (error: Error): void => log.warn('MCP', { error: String(error) });
      const answers = new WeakMap<Request, Promise<void>>();
      const sent = (request: Request): Promise<void> => answers.get(request) ?? Promise.resolve();
      const maxBodyBytes = config.daemon.runBodyBytes;
      const server = mcpHttp({ version: VERSION, onError, patience: patienceBy(config), sent, maxBodyBytes });
      agents.onChange(() => server.toolsChanged());
      return [
        {
          path: '/mcp',
          handle(request, caller, answered) {
            answers.set(request, answered);
            return server.fetch(request, worlds.of(caller));
          },
          close: () => server.close(),
        },
      ];
    },
    async started(world) {
      await tellOrphans(world, boundary);
      await upkeep.begin(world, boundary);
    },
    async close() {
      notices.close();
      machine.gauge.close();
      await upkeep.end();
      agents.close();
      await navigation?.[Symbol.asyncDispose]();
      await boundary[Symbol.asyncDispose]();
    },
  };
}

/** One for all repositories, each by its own settings. */
function openBoundary({ config, configIn, place, log, url }: From, trust: Trust): Promise<Boundary> {
  const runtimeFolder = join(place.home, 'run');
  // What a killed daemon left there is of no use to anybody.
  rmSync(runtimeFolder, { recursive: true, force: true });
  mkdirSync(runtimeFolder, { mode: 0o700 });
  const port = Number(new URL(url).port);
  const settingsOf = (some: Config): BoundarySettings => boundarySettings(some, port);
  const settings = new RepositorySettings({ config, configIn, settingsOf, trust, log });
  return Boundary.open({
    settings: settings.usual,
    settingsFor: (root) => settings.of(root),
    enter: (repository, sandbox) => settings.enter(repository, sandbox),
    admit: (repository) => admitRepository(repository, trust, { ownHome: config.worktrees.home === null }),
    own: ownFolders(place),
    runtimeFolder,
    measure: usedByTree,
    groupRecords: join(place.home, 'groups'),
    log: (message, data) => log.warn(message, data),
  });
}

function navigationOf(config: Config, place: Place, log: Log): NavigationOnDemand {
  const { memoryMb, idleMs } = config.navigation;
  return new NavigationOnDemand({
    settings: { budgetBytes: memoryMb * 2 ** 20, idleMs },
    sources: serverSources({ config, place }),
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
    worktrees: { ...rest, setup, include: null },
    dirty,
    sandbox: sandbox.mode,
    confinement: {
      network,
      loopback: [port],
      reads: paths(sandbox.reads),
      writes: paths(sandbox.writes),
      totals: totalsBy(sandbox),
    },
    audit: sandbox.audit,
    onConflict: integration.onConflict,
  };
}

/** What is not set is as the room of worktrees has it. */
const totalsBy = ({ memoryMb, diskMb, processes }: Config['sandbox']) => ({
  processes,
  ...(memoryMb === null ? {} : { memoryBytes: memoryMb * 2 ** 20 }),
  diskBytes: diskMb * 2 ** 20,
});

/** A client that asks for signs of life waits longer. */
const patienceBy =
  ({ engine }: Config) =>
  (_: unknown, progress: boolean): number =>
    engine.patienceMs * (progress ? 12 : 1);
