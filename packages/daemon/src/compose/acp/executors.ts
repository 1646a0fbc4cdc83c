import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Executor, StartSpec } from '@reveille/core';
import { acpExecutor, pruneHomes, type Hands } from '@reveille/executors/acp';
import { toolsJson } from '@reveille/tools';
import type { Boundary } from '@reveille/worktrees';
import { processIdentity } from '../../place/process-identity.ts';
import { VERSION } from '../../version.ts';
import type { World } from '../parts.ts';
import type { RepositoryAgents } from '../repository-agents.ts';
import type { AcpBackend } from './backends.ts';
import { launchFor } from './launch.ts';

interface Rooms {
  readonly world: World;
  readonly boundary: Boundary;
  readonly agents: RepositoryAgents;
}

const FILE_BYTES = 16 * 2 ** 20;

/** The executor of one agent that speaks the protocol, with what it has of the other rooms. */
export function acpExecutorOf(backend: AcpBackend, rooms: Rooms): Executor {
  const { world, boundary } = rooms;
  const { config, place, url } = world;
  const { preset, configured } = backend;
  const folder = join(place.home, 'agents');
  const asks = config.acp.permissions === 'ask';
  pruneHomes(join(folder, preset.name), Date.now()).catch((error: unknown) => {
    world.log.warn('old homes of agents could not be removed', { error: String(error) });
  });
  return acpExecutor({
    preset,
    version: VERSION,
    folder: join(place.home, 'processes'),
    identityOf: processIdentity,
    launch: async (spec) => {
      // After a restart nobody has asked for this repository's agents yet.
      if (spec.task.repository !== null) await rooms.agents.know(spec.task.repository);
      return launchFor(spec, backend, { boundary, folder, asks, readOnly: roleOf(rooms, spec).readOnly });
    },
    tools: ({ run, session, epoch }) => ({
      url: `${url}/mcp`,
      token: world.credentialOf({ run, session, epoch }),
    }),
    has: (needs) =>
      needs.startsWith('.')
        ? existsSync(join(homedir(), needs))
        : (configured.env[needs] ?? process.env[needs] ?? '') !== '',
    approve: ({ session, run, epoch }, wish, signal) =>
      world.approve({ kind: 'worker', session, run, epoch }, wish, signal),
    policy: config.acp.permissions,
    ownTools: new Set(toolsJson().flatMap(({ name, title }) => [name, title])),
    hands: (spec) => handsOf(rooms, spec),
    role: async (spec) => roleOf(rooms, spec),
    digest: (spec) => digestOf(world, spec),
    log: (message, data) => world.log.warn(message, data),
    waits: { initializeMs: config.acp.initializeMs },
  });
}

/** An agent whose definition is gone may read. */
function roleOf({ agents }: Rooms, { task }: StartSpec): { words: string; readOnly: boolean } {
  const definition = agents.definition(task.repository, task.agent);
  return { words: definition?.instructions ?? '', readOnly: definition?.readOnly ?? true };
}

/** What its earlier lives left: their last words, and what they changed. */
async function digestOf({ connect, log }: World, { task }: StartSpec): Promise<string> {
  const calls = connect({ kind: 'person', name: 'reveille' });
  try {
    const { run } = await calls.getTask(task.id);
    const words = run?.lastWords ? [`Your last words were: ${run.lastWords}`] : [];
    const { files } = task.repository ? await calls.diffTask(task.id) : { files: [] };
    const changed = files.map(
      ({ path, insertions, deletions }) => `- ${path} (+${insertions} −${deletions})`,
    );
    return [...words, ...(changed.length > 0 ? ['Files you changed:', ...changed.slice(0, 200)] : [])].join(
      '\n',
    );
  } catch (error) {
    log.warn('what an agent did before could not be found out', { task: task.id, error: String(error) });
    return '';
  }
}

/** Its client's hands, through the same door and sandbox as the tools. */
function handsOf({ boundary, ...rooms }: Rooms, spec: StartSpec): Hands | null {
  const { task, workspace } = spec;
  if (!workspace) return null;
  const { readOnly } = roleOf({ boundary, ...rooms }, spec);
  const writes = (): boolean => !readOnly && boundary.worktrees.mayWrite(task);
  return {
    async readFile(path) {
      using door = await boundary.door(task, 'read');
      return (await door.readFile(path, { maxBytes: FILE_BYTES })).text();
    },
    async writeFile(path, content) {
      using door = await boundary.door(task, writes() ? 'write' : 'read');
      await door.writeFile(path, content);
    },
    async run(command, { signal, env, output }) {
      const checkout = await boundary.checkoutOf(task);
      const all = { ...env, ...checkout.environment };
      const confinement = boundary.confine(checkout, { env: all, write: writes() });
      const { code, signal: by } = await boundary.sandbox.run(command, confinement, {
        signal,
        onOutput: (chunk) => output(chunk.toString('utf8')),
      });
      return { code, signal: by };
    },
  };
}
