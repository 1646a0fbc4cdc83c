import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { depthLeft, type RunTally } from '@reveille/core';
import {
  withoutDelegation,
  type Caller,
  type CallerWorld,
  type CommandEnd,
  type CommandOptions,
  type RunId,
  type Session,
  type Task,
  type ToolFiles,
  type ToolGrants,
  type ToolNavigation,
  type ToolTally,
  type ToolWorkspace,
} from '@reveille/protocol';
import { OutputShelf, type McpCaller } from '@reveille/tools';
import type { Boundary, FileDoor } from '@reveille/worktrees';
import { CommandSlots } from './command-slots.ts';
import { navigationIn, type NavigationOnDemand } from './caller-navigation.ts';
import type { World } from './parts.ts';
import { NO_FILES, readerOf, toolPermits } from './permits.ts';
import type { RepositoryAgents } from './repository-agents.ts';

interface Rooms {
  readonly world: World;
  readonly boundary: Boundary;
  readonly agents: RepositoryAgents;
  /** Null: it is switched off. */
  readonly navigation: NavigationOnDemand | null;
  readonly tally: RunTally;
}

/** What each caller has of the world when it uses tools. Made anew for every call: what was taken from it is gone at once. */
export class CallerWorlds {
  readonly #rooms: Rooms;
  readonly #outputs = new OutputShelf();
  readonly #slots = new CommandSlots();

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  of(caller: Caller): McpCaller {
    return { key: keyOf(caller), kind: caller.kind, world: () => this.#worldOf(caller) };
  }

  async #worldOf(caller: Caller): Promise<CallerWorld> {
    const { world, agents } = this.#rooms;
    const { session, task, repository } = await this.#placeOf(caller);
    if (repository !== null) await agents.know(repository);
    const catalogue = agents.in(repository);
    const definition = task ? catalogue.get(task.agent.name) : undefined;
    const { orchestrator, answered, lost } = world.exchange(caller);
    const readOnly = (definition?.readOnly ?? true) || task?.reviews !== undefined;
    const workspace = task?.repository ? this.#workspaceOf(task, readOnly) : null;
    return {
      caller,
      orchestrator,
      grants: session && task ? this.#grantsOf(session, definition) : null,
      workspace,
      navigation: task && workspace ? this.#navigationOf(task, { readOnly, files: workspace.files }) : null,
      ...(caller.kind === 'worker'
        ? { tally: this.#tallyOf(caller.run), permit: this.#permitOf(caller, task) }
        : {}),
      agents: {
        list: () =>
          catalogue.list().flatMap(({ definition: each, state }) => (state === 'used' ? [each] : [])),
        suggest: (text) => catalogue.suggest(text),
        backends: async () => (await orchestrator.backends()).map(({ name }) => name),
      },
      skills: {
        list: () => catalogue.skills(),
        load: (name, file) => catalogue.loadSkill(name, file),
      },
      repository,
      outputs: this.#outputs,
      delivered: answered,
      undelivered: lost,
      log: (level, message, data) => world.log[level](message, data),
    };
  }

  #tallyOf(run: RunId): ToolTally {
    const { tally } = this.#rooms;
    return { add: (kind, times) => tally.add(run, kind, times) };
  }

  /** An agent whose definition is gone may do what every worker may, and no more. */
  #grantsOf(session: Session, definition: ToolGrants = NOTHING): ToolGrants {
    return depthLeft(this.#rooms.world.config.engine, session) === undefined
      ? definition
      : withoutDelegation(definition);
  }

  async #placeOf(
    caller: Caller,
  ): Promise<{ session: Session | null; task: Task | null; repository: string | null }> {
    if (caller.kind === 'person') return { session: null, task: null, repository: null };
    const session = await this.#rooms.world.sessionOf(caller.session);
    const task = session?.task ? await this.#rooms.world.taskOf(session.task) : null;
    return { session, task, repository: session?.repository ?? null };
  }

  /** Where it would happen: the checkout as it is then, if there is one. */
  #permitOf(caller: Extract<Caller, { kind: 'worker' }>, task: Task | null) {
    const { world, boundary } = this.#rooms;
    return toolPermits(world.permits, caller, async () => {
      const checkout = task?.repository ? await boundary.checkoutOf(task).catch(() => null) : null;
      const read = task?.repository ? readerOf(boundary, task) : NO_FILES;
      return { where: checkout?.path ?? null, confined: boundary.sandbox.kind !== 'none', read };
    });
  }

  #navigationOf(
    task: Task,
    { readOnly, files }: { readonly readOnly: boolean; readonly files: ToolFiles },
  ): ToolNavigation | null {
    const { navigation, boundary, world } = this.#rooms;
    const serverCopies = join(world.place.home, 'servers', 'copies');
    return navigation && navigationIn({ navigation, boundary, serverCopies }, { task, readOnly, files });
  }

  #workspaceOf(task: Task, readOnly: boolean): ToolWorkspace {
    const { boundary } = this.#rooms;
    const access = (): 'read' | 'write' =>
      readOnly || !boundary.worktrees.mayWrite(task) ? 'read' : 'write';
    return {
      files: filesOf(() => boundary.door(task, access())),
      runCommand: async (command, options) => {
        using _slot = await this.#slots.take(task.session, options.signal);
        return await runCommand(boundary, task, command, { ...options, write: access() === 'write' });
      },
      testCommand: async () => testCommandIn(await boundary.door(task, 'read')),
    };
  }
}

const NOTHING: ToolGrants = { tools: [], deniedTools: [], delegatesTo: [] };

function keyOf(caller: Caller): string {
  if (caller.kind === 'person') return `person:${caller.name}`;
  if (caller.kind === 'session') return `session:${caller.session}`;
  return createHash('sha256').update(`${caller.session}\0${caller.run}\0${caller.epoch}`).digest('hex');
}

/** A door for each operation: it is held only as long as it is used, and what it may do is asked every time. */
function filesOf(open: () => Promise<FileDoor>): ToolFiles {
  const through = async <T>(use: (door: FileDoor) => Promise<T>): Promise<T> => {
    using door = await open();
    return await use(door);
  };
  return {
    readFile: (path, options) => through((door) => door.readFile(path, options)),
    writeFile: (path, data, options) => through((door) => door.writeFile(path, data, options)),
    deleteFile: (path) => through((door) => door.deleteFile(path)),
    listDirectory: (path, options) => through((door) => door.listDirectory(path, options)),
    async *walk(path, options) {
      using door = await open();
      yield* door.walk(path, options);
    },
  };
}

async function runCommand(
  boundary: Boundary,
  task: Task,
  command: string,
  options: CommandOptions & { readonly write: boolean },
): Promise<CommandEnd> {
  const { args = [], timeoutMs, signal, onOutput, write } = options;
  const checkout = await boundary.checkoutOf(task);
  const { environment: env } = checkout;
  const confinement = boundary.confine(checkout, { env, write });
  const ran = await boundary.sandbox.run(['/bin/sh', '-c', command, 'sh', ...args], confinement, {
    signal,
    timeoutMs,
    onOutput: (chunk) => onOutput(chunk.toString('utf8')),
  });
  return { exitCode: ran.code, signal: ran.signal, timedOut: ran.ended === 'timeout' };
}

/** What the project itself calls its tests. */
async function testCommandIn(opened: FileDoor): Promise<string | null> {
  using door = opened;
  try {
    const text = (await door.readFile('package.json', { maxBytes: 1_000_000 })).text();
    const manifest = JSON.parse(text) as { scripts?: { test?: unknown } };
    return typeof manifest.scripts?.test === 'string' ? 'npm test --' : null;
  } catch {
    return null;
  }
}
