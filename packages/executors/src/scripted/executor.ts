import type { Clock, Executor, Seen, StartSpec } from '@reveille/core';
import { ReveilleError, type Caller, type Orchestrator } from '@reveille/protocol';
import { Life, type History, type Script } from './life.ts';
import { play } from './play.ts';
import { parseScript, reviewInPrompt, scriptInPrompt, type WrittenScript } from './written.ts';

/** What outlives an engine in tests that restart one: the agents' own sessions, and the agents still alive. */
export class ScriptedWorld {
  readonly histories = new Map<string, History>();
  readonly lives = new Map<string, Life>();
}

export interface ScriptedOptions {
  /** The operations as this agent may use them: `(caller) => engine.as(caller)`. */
  readonly connect: (caller: Caller) => Orchestrator;
  readonly clock: Clock;
  /** What an agent does, by its name, unless its prompt has a script. */
  readonly scripts?: Readonly<Record<string, Script | WrittenScript>>;
  /** What an agent does whose name has no script. Without it, it works for no time and reports. */
  readonly otherwise?: Script | WrittenScript;
  /** Whether mail reaches an agent in the middle of a turn. */
  readonly steers?: boolean;
  /**
   * What a resumed agent knows of its earlier life: `keeps` all it was given, `forgets` it and begins anew, or begins
   * anew and cannot say (`unknown`). Only what is kept costs a commit, for the token it is found by.
   */
  readonly history?: 'keeps' | 'forgets' | 'unknown';
  /** Gives every agent an identity, so that a later life of the engine can end it. Costs a commit. */
  readonly identified?: boolean;
  readonly killAfterMs?: number;
  /** Writes a file into the agent's checkout. Without it, agents that want to write fail. */
  readonly write?: (spec: StartSpec, path: string, content: string) => Promise<void>;
  readonly world?: ScriptedWorld;
}

export interface ScriptedExecutor extends Executor {
  readonly world: ScriptedWorld;
}

/** Runs agents that follow a script, in process, with no model: for the demo, the tests and the benchmarks (EXE1). */
export function scriptedExecutor(options: ScriptedOptions): ScriptedExecutor {
  const { steers = true, world = new ScriptedWorld() } = options;
  const table = new Map(
    Object.entries(options.scripts ?? {}).map(([name, script]) => [name, program(script)]),
  );
  const otherwise = program(options.otherwise ?? {});
  const scriptOf = (spec: StartSpec): Script => promptScript(spec) ?? table.get(spec.agent.name) ?? otherwise;
  return {
    steers,
    capabilities: {
      steer: steers,
      resume: options.history === 'keeps',
      approve: false,
      usage: true,
      cost: true,
    },
    world,
    start: (spec) => start(options, world, spec, scriptOf(spec)),
    async reap(identity) {
      await world.lives.get(identity)?.stop('an earlier life of it was found');
    },
  };
}

function start(options: ScriptedOptions, world: ScriptedWorld, spec: StartSpec, script: Script): Life {
  const { clock, connect, identified = false, killAfterMs = 5_000 } = options;
  const keeps = options.history === 'keeps';
  const name = `${spec.run}:${spec.epoch}`;
  const known = keeps && spec.resume ? world.histories.get(spec.resume) : undefined;
  const history = known ?? newHistory();
  if (keeps) world.histories.set(spec.run, history);
  const life = new Life(spec, {
    clock,
    script,
    history,
    recalls: recall(options, spec, known),
    killAfterMs,
    write: options.write ?? noFiles,
    orchestrator: () => connect({ kind: 'worker', session: spec.session, run: spec.run, epoch: spec.epoch }),
    died: () => world.lives.delete(name),
    reported: () => world.histories.delete(spec.run),
  });
  world.lives.set(name, life);
  spec.report({ type: 'started', identity: identified ? name : null, resume: keeps ? spec.run : null });
  return life;
}

const noFiles = (): Promise<never> =>
  Promise.reject(new ReveilleError('wrong_state', 'These scripted agents have no files to write.'));

const newHistory = (): History => ({
  given: new Set(),
  memory: { at: 0, asked: null, children: new Set(), notes: {} },
});

/** A history that should be there and is not (its process died) can say nothing. */
function recall(options: ScriptedOptions, spec: StartSpec, known: History | undefined): (id: string) => Seen {
  if (options.history === 'forgets') return () => 'no';
  if (options.history !== 'keeps' || (spec.resume !== null && !known)) return () => 'unknown';
  return (id) => (known?.given.has(id) ? 'yes' : 'no');
}

const program = (script: Script | WrittenScript): Script =>
  typeof script === 'function' ? script : play(parseScript(script));

/** A script that cannot be read fails its agent, with the reason, and nobody else. */
function promptScript(spec: StartSpec): Script | undefined {
  try {
    const { prompt, reviews } = spec.task;
    const script = reviews ? reviewInPrompt(prompt, reviews.round) : scriptInPrompt(prompt);
    return script && play(script);
  } catch (error) {
    return (agent) => agent.fail('invalid', error instanceof Error ? error.message : String(error));
  }
}
