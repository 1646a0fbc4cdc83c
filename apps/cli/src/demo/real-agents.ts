import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Executor, Executors } from '@reveille/core';
import {
  Config,
  installClaude,
  loadConfig,
  openPlace,
  placeOf,
  startDaemon,
  type Log,
  type World,
} from '@reveille/daemon';
import { PRESETS, findProgram, missing } from '@reveille/executors/acp';
import { CLAUDE, bundledProgram, sdkFile } from '@reveille/executors/claude';
import { recipeFor, startModelServer, type ModelStep, type RealAgent } from '@reveille/model-server';
import { ReveilleError } from '@reveille/protocol';
import type { DemoBackend } from './demo-backends.ts';
import type { Hands } from './model-story.ts';
import type { Probe } from './probe.ts';

/** No secret: the scripted model takes any. */
const KEY = 'REVEILLE_DEMO_KEY';

interface Opening {
  readonly backend: DemoBackend;
  readonly folder: string;
  readonly probe: Probe;
  readonly warn: (warning: string) => void;
}

/**
 * A whole daemon in this process, in a folder of its own, whose agents are the real ones of a vendor on a scripted model.
 * Of the person it is given only where their programs are: no key, no login, no agent of theirs.
 */
export async function openRealAgents({ backend, folder, probe, warn }: Opening) {
  const undo = new AsyncDisposableStack();
  try {
    const program = backend === 'builtin' ? null : installed(backend);
    const person = placeOf(process.env);
    forgetKeys();
    // What a vendor's SDK has to say to its callers would be written through the live view.
    process.noDeprecation = true;
    const model = await startModelServer();
    undo.use(model);
    const place = placeOf({ REVEILLE_HOME: join(folder, 'state') });
    openPlace(place);
    const sdk = join(person.home, 'sdk');
    if (existsSync(sdk)) symlinkSync(sdk, join(place.home, 'sdk'));
    const home = join(folder, 'home');
    mkdirSync(home);
    const log: Log = {
      debug: () => undefined,
      info: () => undefined,
      warn: (message, data = {}) => {
        if (!isLateCall(message, data)) warn(`${message} ${JSON.stringify(data)}`);
      },
      error: (message, data = {}) => warn(`${message} ${JSON.stringify(data)}`),
    };
    let world: World | null = null;
    const daemon = await startDaemon({
      place,
      home,
      log,
      config: settingsFor(backend, model.url, program),
      around: (parts) => ({
        ...parts,
        store: (store) => probe.store(store),
        executors: (given) => {
          world = given;
          return watched(parts.executors(given), probe);
        },
      }),
    });
    undo.defer(() => daemon.stop('the demo is over'));
    if (!world) throw new ReveilleError('internal', 'The daemon runs without agents.');
    const { connect }: World = world;
    return { connect, close: () => undo.disposeAsync() };
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

/** An agent whose run has ended still says goodbye to our tools, by a credential that ended with the run. */
const isLateCall = (message: string, { path, status }: Record<string, unknown>): boolean =>
  message === 'a request was refused' && path === '/mcp' && status === 401;

function watched(executors: Executors, probe: Probe): Executors {
  const known = new Map<string, Executor>();
  return {
    backends: (wanted) => executors.backends(wanted),
    problem: (name) => executors.problem?.(name),
    get(name) {
      const executor = known.get(name) ?? executors.get(name);
      if (!executor || known.has(name)) return executor;
      const seen = probe.executor(executor);
      known.set(name, seen);
      return seen;
    },
  };
}

/** What the person has installed: found by looking, as the daemon does; a clear sentence if there is nothing. */
function installed(backend: RealAgent): string {
  const place = placeOf(process.env);
  const { config } = loadConfig({ env: process.env, userFile: place.userConfig });
  const path = process.env['PATH'] ?? '';
  if (backend !== 'claude') {
    const preset = PRESETS.find(({ name }) => name === backend) ?? CLAUDE;
    const { program } = config.acp[backend];
    const found = findProgram(program === null ? preset.programs : [program], path);
    if (found === null) throw new ReveilleError('not_found', missing(preset).message);
    return found;
  }
  const sdk = join(place.home, 'sdk');
  if (sdkFile(sdk) === null)
    throw new ReveilleError(
      'not_found',
      `The Agent SDK of Claude Code is not installed. To install it: ${installClaude(place.home)}`,
    );
  const { program } = config.backends.claude;
  const names = program === null ? CLAUDE.programs : [program];
  const found = findProgram(names, path) ?? bundledProgram(sdk);
  if (found === null) throw new ReveilleError('not_found', missing(CLAUDE).message);
  return found;
}

/** What agents are given of this process's environment is not the person's: it would cost them, or log them in. */
function forgetKeys(): void {
  const passes = [CLAUDE, ...PRESETS].flatMap((preset) => preset.passes);
  for (const name of Object.keys(process.env))
    if (passes.some((pattern) => pattern.test(name))) delete process.env[name];
  process.env[KEY] = 'scripted';
}

function settingsFor(backend: DemoBackend, url: string, program: string | null): Config {
  const builtin = { provider: 'anthropic', model: 'scripted', baseUrl: `${url}/v1`, apiKeyEnv: KEY };
  const agent = (): object => {
    if (backend === 'builtin') return { backends: { builtin } };
    const { args, env } = recipeFor(backend, url);
    const own = { program, args, env };
    return backend === 'claude' ? { backends: { claude: own } } : { acp: { [backend]: own } };
  };
  return Config.parse({
    engine: { defaultBackend: backend },
    // Nobody waits for the next demo.
    worktrees: { pool: 0 },
    daemon: { drainMs: 0 },
    navigation: { enabled: false },
    // It shows who wakes whom, however busy the machine is.
    governor: { enabled: false },
    ...agent(),
  });
}

/** The built-in agent writes with our tools, the others with their own shell. */
export function handsOf(backend: DemoBackend): Hands {
  const look: ModelStep = { call: 'a2a_check_updates', input: {} };
  if (backend === 'builtin')
    return { look, write: (path, content) => ({ call: 'create_file', input: { path, content } }) };
  const { shell } = recipeFor(backend, '');
  return { look, write: (path, content) => shell(writing(path, content)) };
}

/** Paths and contents are the story's own: no quotes are in the names, and none of its lines is the mark. */
const writing = (path: string, content: string): string =>
  `mkdir -p "$(dirname '${path}')" && cat > '${path}' <<'END_OF_FILE'\n${content}END_OF_FILE`;
