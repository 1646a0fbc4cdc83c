import { join } from 'node:path';
import type { ErrorClass } from '@reveille/protocol';
import {
  startModelServer,
  withModelScript,
  type ModelScript,
  type ModelServer,
  type ModelStep,
} from '@reveille/model-server';
import { asLoopTools, callTool } from '@reveille/tools';
import { builtinExecutor, type BuiltinOptions } from '../src/builtin/index.ts';
import { scriptedExecutor, ScriptedWorld, type Script, type ScriptedAgent } from '../src/index.ts';
import type { Backend, Stand } from './stand.ts';

interface Also extends Omit<Partial<BuiltinOptions>, 'endpoint'> {
  readonly endpoint?: Partial<BuiltinOptions['endpoint']>;
  /** Called with the model's server. */
  readonly serving?: (server: ModelServer) => void;
}

/** The built-in loop on the scripted model, in one of the dialects it speaks. */
export function builtinBackend(
  provider: 'anthropic' | 'openai-compatible' = 'anthropic',
  also: Also = {},
): Backend {
  return {
    name: 'builtin',
    async open(stand) {
      const server = await startModelServer({ key: 'the-key', models: ['scripted-1'] });
      also.serving?.(server);
      const executor = builtinExecutor({
        clock: stand.clock,
        folder: join(stand.folder, 'sessions'),
        connect: (caller) => stand.engine.as(caller),
        toolsOf: async (caller) => asLoopTools(stand.worldOf(caller)),
        roleOf: async () => ({ system: 'You are an agent.', model: null }),
        ...also,
        endpoint: {
          provider,
          baseUrl: `${server.url}/v1`,
          model: 'scripted-1',
          apiKey: () => 'the-key',
          keyName: 'MODEL_KEY',
          contextTokens: null,
          maxOutputTokens: 4_096,
          price: null,
          ...also.endpoint,
        },
      });
      return {
        executor,
        prompt: (script) => withModelScript('Do this.', script),
        release: (name) => server.release(name),
        held: (name) => server.held(name),
        [Symbol.asyncDispose]: () => server.stop(),
      };
    },
  };
}

const CLASSES: Readonly<Record<string, ErrorClass>> = {
  auth: 'auth',
  refusal: 'refusal',
  network: 'network',
};
const BLOCK = /```play\n(.*)\n```/;

/** Scripted agents that do what a model would, with the same tools. */
export const scriptedBackend: Backend = {
  name: 'scripted',
  speaksWhole: true,
  async open(stand) {
    const gates = new Gates();
    const executor = scriptedExecutor({
      clock: stand.clock,
      connect: (caller) => stand.engine.as(caller),
      otherwise: (agent) => new Player(stand, gates, agent).play(),
      history: 'keeps',
      world: new ScriptedWorld(),
    });
    return {
      executor,
      prompt: (script) => `Do this.\n\`\`\`play\n${JSON.stringify(script)}\n\`\`\``,
      release: (name) => gates.open.add(name),
      held: (name) => gates.waiting.get(name) ?? 0,
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
};

class Gates {
  readonly open = new Set<string>();
  readonly waiting = new Map<string, number>();

  async pass(name: string, agent: ScriptedAgent): Promise<void> {
    const count = (by: number): void => void this.waiting.set(name, (this.waiting.get(name) ?? 0) + by);
    count(1);
    try {
      while (!this.open.has(name)) await agent.work(2);
    } finally {
      count(-1);
    }
  }
}

/** One turn of a script for models, played by a scripted agent. */
class Player {
  readonly #stand: Stand;
  readonly #gates: Gates;
  readonly #agent: ScriptedAgent;
  readonly #script: ModelScript;
  #results = '';
  /** It is given its task in this turn. */
  #isFirst = false;

  constructor(stand: Stand, gates: Gates, agent: ScriptedAgent) {
    this.#stand = stand;
    this.#gates = gates;
    this.#agent = agent;
    this.#script = JSON.parse(BLOCK.exec(agent.task.prompt)?.[1] ?? '{}') as ModelScript;
  }

  play: () => ReturnType<Script> = async () => {
    const { notes } = this.#agent.memory;
    this.#isFirst = !notes['begun'];
    const section = this.#isFirst ? undefined : this.#section();
    notes['begun'] = true;
    if (section) {
      for (const step of section) if (!(await this.#take(step))) return;
      return;
    }
    const steps = this.#script.steps ?? [];
    for (;;) {
      const at = Number(notes['at'] ?? 0);
      const step = steps[at];
      if (!step) return this.#agent.say('Done.');
      const past = step.until !== undefined && this.#heard().includes(step.until);
      const goesOn = past || (await this.#take(step));
      const done = Number(notes['done'] ?? 0) + 1;
      const over = past || done >= Number(step.repeat ?? (step.until === undefined ? 1 : Infinity));
      notes['at'] = over ? at + 1 : at;
      notes['done'] = over ? 0 : done;
      if (!goesOn) return;
    }
  };

  #section(): readonly ModelStep[] | undefined {
    const heard = this.#heard();
    return this.#script.onMail?.find(({ when = '' }) => heard.includes(when))?.steps;
  }

  #heard(): string {
    const { letters, turn } = this.#agent;
    const mail = letters.map(({ status, body }) => `ended: ${status}\n${body}`);
    return [this.#isFirst ? '' : turn.text, ...mail, this.#results].join('\n');
  }

  /** True: the turn goes on. */
  async #take(step: ModelStep): Promise<boolean> {
    const agent = this.#agent;
    if (step.hold !== undefined) await this.#gates.pass(step.hold, agent);
    if (step.fail !== undefined) agent.fail(CLASSES[step.fail] ?? 'unknown', 'so it is written');
    if (step.say !== undefined) agent.say(step.say);
    const { input = 10, output = 5 } = step.usage ?? {};
    agent.use({ tokens: input + output });
    if (step.call === undefined) return false;
    await this.#call(step.call, step.input ?? {});
    return true;
  }

  async #call(name: string, input: unknown): Promise<void> {
    const { task } = this.#agent;
    const { spec } = this.#stand.livesOf(task.id).at(-1)!;
    const world = this.#stand.worldOf({ kind: 'worker', ...spec });
    const { signal } = new AbortController();
    const call = { callId: null, signal, progress: () => undefined, patienceMs: null };
    const result = await callTool(name, input, { ...world, ...call });
    world.delivered?.();
    this.#results += `\n${result.text}`;
    if (result.structured?.['accepted'] === true) await this.#agent.silent();
    // A real agent takes some time over everything.
    await this.#agent.work(1);
  }
}
