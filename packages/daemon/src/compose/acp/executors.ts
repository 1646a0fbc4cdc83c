import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mayAsk, policyNow, type Executor, type StartSpec } from '@reveille/core';
import {
  Ledger,
  acpExecutor,
  pruneHomes,
  shellWord,
  type AgentAction,
  type Hands,
  type Wish,
} from '@reveille/executors/acp';
import { priceOf } from '@reveille/executors/builtin';
import { CLAUDE, claudeExecutor, loadSdk } from '@reveille/executors/claude';
import { ReveilleError } from '@reveille/protocol';
import { toolsJson } from '@reveille/tools';
import type { Boundary } from '@reveille/worktrees';
import { processIdentity } from '../../place/process-identity.ts';
import { VERSION } from '../../version.ts';
import type { World } from '../parts.ts';
import type { RepositoryAgents } from '../repository-agents.ts';
import { agentPermits, sha256Of } from '../permits.ts';
import { installClaude, sdkFolder, type AcpBackend } from './backends.ts';
import { launchFor } from './launch.ts';

interface Rooms {
  readonly world: World;
  readonly boundary: Boundary;
  readonly agents: RepositoryAgents;
  /** Whose logins agents are given. */
  readonly home: string;
}

/** Of our own tools nobody is asked: they decide for themselves. */
const OWN_TOOLS = toolsJson().map(({ name }) => name);
const FILE_BYTES = 16 * 2 ** 20;
const LONGEST_SHOWN = 24_000;

/** The executor of one agent that speaks the protocol, with what it has of the other rooms. */
export function acpExecutorOf(backend: AcpBackend, rooms: Rooms): Executor {
  const { world } = rooms;
  const { preset, configured } = backend;
  return acpExecutor({
    ...surroundings(backend, rooms),
    preset,
    version: VERSION,
    has: (needs) =>
      needs.startsWith('.')
        ? existsSync(join(rooms.home, needs))
        : (configured.env[needs] ?? process.env[needs] ?? '') !== '',
    hands: (spec) => handsOf(rooms, spec),
    role: async (spec) => roleOf(rooms, spec),
    log: (message, data) => world.log.warn(message, data),
  });
}

/** Claude Code, whose SDK is installed by the person or not at all. */
export function claudeExecutorOf(backend: AcpBackend, rooms: Rooms): Executor {
  const { place } = rooms.world;
  const folder = sdkFolder(place.home);
  return claudeExecutor({
    ...surroundings(backend, rooms),
    sdk: () => loadSdk(folder),
    install: `Install it with: ${installClaude(place.home)}`,
    transcripts: ({ task }) => join(homesOf(place.home), CLAUDE.name, task.id, '.claude'),
  });
}

/** Ends what earlier daemons of this place left: every agent that is a program of its own is recorded there. */
export async function reapAgents({ place, log }: World): Promise<void> {
  try {
    await agentsOf(place.home).reapAll();
  } catch (error) {
    log.warn('agents of an earlier daemon may be left', { error: String(error) });
  }
}

/** Every agent of this place that is a program of its own and lives. */
export const agentsOf = (home: string): Ledger => new Ledger(processesOf(home), processIdentity);

const processesOf = (home: string): string => join(home, 'processes');
const homesOf = (home: string): string => join(home, 'agents');

/** What every agent that is a program of its own has of the other rooms. */
function surroundings(backend: AcpBackend, rooms: Rooms) {
  const { world, boundary } = rooms;
  const { config, place, url } = world;
  const folder = homesOf(place.home);
  const asks = config.acp.permissions === 'ask';
  pruneHomes(join(folder, backend.preset.name), Date.now()).catch((error: unknown) => {
    world.log.warn('old homes of agents could not be removed', { error: String(error) });
  });
  return {
    folder: processesOf(place.home),
    identityOf: processIdentity,
    launch: async (spec: StartSpec) => {
      // After a restart nobody has asked for this repository's agents yet.
      if (spec.task.repository !== null) await rooms.agents.know(spec.task.repository);
      const { readOnly } = roleOf(rooms, spec);
      // One that would not ask by itself cannot be held to a policy that wants to be asked.
      const mustAsk = asks || mayAsk(policyNow({ agents: rooms.agents }, spec.task));
      return launchFor(spec, backend, { boundary, folder, asks: mustAsk, readOnly, person: rooms.home });
    },
    tools: ({ run, session, epoch }: StartSpec) => ({
      url: `${url}/mcp`,
      token: world.credentialOf({ run, session, epoch }),
    }),
    approve: ({ session, run, epoch }: StartSpec, wish: Wish, signal: AbortSignal) =>
      world.approve({ kind: 'worker', session, run, epoch }, wish, signal),
    policy: config.acp.permissions,
    ownTools: OWN_TOOLS,
    priceOf: (model: string) => priceOf(model, config.prices),
    permits: agentPermits(world.permits, { asksAll: asks, boundary }),
    waits: { initializeMs: config.acp.initializeMs },
    digest: (spec: StartSpec) => digestOf(world, spec),
  };
}

/** An agent whose definition is gone may read. */
function roleOf({ agents }: Rooms, { task, role }: StartSpec): { words: string; readOnly: boolean } {
  if (role) return { words: role.systemPrompt, readOnly: role.readOnly };
  const definition = agents.defined(task.agent.name, task.repository);
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

/** A command as a shell would be given it, with the variables that the agent sets for it: these decide what runs, too. */
function lineOf(command: readonly string[], env: Readonly<Record<string, string>>): string {
  const [program, flag, text] = command;
  const isLine = program === '/bin/sh' && flag === '-c' && command.length === 3;
  const set = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`);
  // Variables hold for all of a line: exported before it, not set for its first command.
  if (isLine) return [...set.map((each) => `export ${each};`), text ?? ''].join(' ');
  return [...set, ...command.map(shellWord)].join(' ');
}

/** Nobody gives these up: the agent waits for its answer. */
const NEVER = new AbortController().signal;
type HandsAction = Omit<AgentAction, 'held' | 'paths' | 'detail'> &
  Partial<Pick<AgentAction, 'paths' | 'detail'>>;

/** Its client's hands, through the same door and sandbox as the tools. */
function handsOf({ boundary, ...rooms }: Rooms, spec: StartSpec): Hands | null {
  const { task, workspace } = spec;
  if (!workspace) return null;
  const { world } = rooms;
  const asksAll = world.config.acp.permissions === 'ask';
  const permits = agentPermits(world.permits, { asksAll, boundary });
  const mayDo = async (wanted: HandsAction, signal: AbortSignal): Promise<void> => {
    const confined = boundary.sandbox.kind !== 'none';
    const action = { paths: [], detail: '', ...wanted, held: confined || wanted.kind !== 'command' };
    const permit = await permits.permit(spec, action, signal);
    if (!permit.allowed) throw new ReveilleError('not_allowed', permit.why ?? 'It was not allowed.');
  };
  const { readOnly } = roleOf({ boundary, ...rooms }, spec);
  const writes = (): boolean => !readOnly && boundary.worktrees.mayWrite(task);
  return {
    async readFile(path) {
      await mayDo({ tool: 'read_file', kind: 'read', command: null, paths: [path], input: path }, NEVER);
      using door = await boundary.door(task, 'read');
      return (await door.readFile(path, { maxBytes: FILE_BYTES })).text();
    },
    async writeFile(path, content, { approved }) {
      const detail = `${content.length} characters, sha256 ${sha256Of(content)}\n${content.slice(0, LONGEST_SHOWN)}`;
      const action = { tool: 'create_file', kind: 'write', command: null, paths: [path], detail } as const;
      if (!approved) await mayDo({ ...action, input: { path, content } }, NEVER);
      using door = await boundary.door(task, writes() ? 'write' : 'read');
      await door.writeFile(path, content);
    },
    async run(command, { signal, env, output }) {
      const line = lineOf(command, env);
      await mayDo({ tool: 'run_command', kind: 'command', command: line, input: [command, env] }, signal);
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
