import type { Clock, Executor, Seen, StartSpec } from '@reveille/core';
import { ReveilleError, type Caller, type Orchestrator } from '@reveille/protocol';
import { newMemory } from './body.ts';
import { Life, type History, type Mind, type Script, type Surroundings } from './life.ts';
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
  /** Work without a script is refused before it begins: outside of tests no agent may report success for doing nothing (AGT2). */
  readonly needsScript?: boolean;
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
  const around: Surroundings = {
    clock: options.clock,
    connect: options.connect,
    write: options.write ?? noFiles,
    killAfterMs: options.killAfterMs ?? 5_000,
    died: (spec) => world.lives.delete(nameOf(spec)),
    reported: ({ run }) => world.histories.delete(run),
  };
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
    ...(options.needsScript ? { refuses: withoutScript } : {}),
    start(spec) {
      const life = new Life(spec, around, { script: scriptOf(spec), ...historyOf(options, world, spec) });
      world.lives.set(nameOf(spec), life);
      const identity = options.identified ? nameOf(spec) : null;
      spec.report({ type: 'started', identity, resume: options.history === 'keeps' ? spec.run : null });
      return life;
    },
    async reap(identity) {
      await world.lives.get(identity)?.stop('an earlier life of it was found');
    },
  };
}

/** Why scripted agents have nothing to do for this prompt, or null. A reviewer does what the script of the reviewed task says. */
export function withoutScript({
  prompt,
  reviews,
}: Parameters<NonNullable<Executor['refuses']>>[0]): string | null {
  const missing = (what: string): string => `scripted agents only do what ${what}, and there is none`;
  try {
    const script = scriptInPrompt(prompt);
    if (reviews) return script?.review ? null : missing('`review` in the script of the task says');
    return script ? null : missing('a script in the prompt says');
  } catch (error) {
    return `its script cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const nameOf = ({ run, epoch }: StartSpec): string => `${run}:${epoch}`;

const noFiles = (): Promise<never> =>
  Promise.reject(new ReveilleError('wrong_state', 'These scripted agents have no files to write.'));

const NO = (): Seen => 'no';
const UNKNOWN = (): Seen => 'unknown';

/** What it remembers, if that is kept. A history that should be there and is not (its process died) can say nothing. */
function historyOf(
  { history }: ScriptedOptions,
  { histories }: ScriptedWorld,
  { run, resume }: StartSpec,
): Pick<Mind, 'history' | 'recalls'> {
  if (history !== 'keeps') return { history: null, recalls: history === 'forgets' ? NO : UNKNOWN };
  const known = resume === null ? undefined : histories.get(resume);
  const kept = known ?? { given: new Set(), memory: newMemory() };
  histories.set(run, kept);
  if (!known) return { history: kept, recalls: resume === null ? NO : UNKNOWN };
  return { history: kept, recalls: (id) => (known.given.has(id) ? 'yes' : 'no') };
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
