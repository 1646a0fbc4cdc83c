import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@reveille/daemon/connect';
import {
  recipeFor,
  startModelServer,
  withModelScript,
  type ModelServer,
  type ModelStep,
  type RealAgent,
} from '@reveille/model-server';
import type { Client, TaskView } from '@reveille/protocol';
import { programOf } from './agents-bare.ts';

export type Installed = Partial<Readonly<Record<RealAgent, string>>>;

export const report = (output: string): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output },
});
/** Longer than what is quoted of a task, so that no answer is in any quote. */
const PADDING = 'Take your time and do it well. '.repeat(12);
export const childOf = (step: ModelStep): object => ({
  agentType: 'builtin:coder',
  prompt: withModelScript(PADDING, { steps: [step] }),
});

/** A daemon of its own in a process of its own, a scripted model in this one, and all agents that are installed. */
export class AgentsWorld implements AsyncDisposable {
  readonly model: ModelServer;
  readonly client: Client;
  readonly folder: string;
  #tasks = 0;

  private constructor(model: ModelServer, client: Client, folder: string) {
    this.model = model;
    this.client = client;
    this.folder = folder;
  }

  static async open(folder: string, installed: Installed): Promise<AgentsWorld> {
    const model = await startModelServer({ keep: 100_000 });
    const home = join(folder, 'state');
    mkdirSync(home, { mode: 0o700 });
    if (installed.claude) symlinkSync(installed.claude, join(home, 'sdk'));
    writeFileSync(join(home, 'config.yaml'), JSON.stringify(configOf(model.url, installed)));
    const env = {
      PATH: process.env['PATH'],
      HOME: join(folder, 'person'),
      REVEILLE_HOME: home,
      BENCH_KEY: 'scripted',
    };
    mkdirSync(env.HOME);
    return new AgentsWorld(model, await connect({ env, waitMs: 60_000 }), folder);
  }

  /** Starts an agent on what its model is to say; its conversation is known by the mark. */
  async begin(agent: string, steps: readonly ModelStep[]): Promise<{ mark: string; view: TaskView }> {
    const mark = `BENCH-${++this.#tasks}.`;
    const prompt = withModelScript(mark, { steps: [...steps] });
    const tasks = [{ id: 'one', agent: `${agent}:coder`, prompt }];
    const made = await this.client.savePlan({ name: mark, tasks }, { start: true });
    const [view] = made.tasks;
    if (!view) throw new Error('the plan has no task');
    return { mark, view };
  }

  /** When the first request came in which this conversation holds these words. */
  async arrival(mark: string, words = ''): Promise<number> {
    const has = (texts: readonly { readonly role: string; readonly text: string }[]): boolean =>
      texts.some(({ text }) => text.includes(mark)) &&
      texts.some(({ role, text }) => role !== 'assistant' && !text.includes(mark) && text.includes(words));
    for (;;) {
      const found = this.model.requests.find(
        ({ messages, tools }) =>
          tools.length > 0 &&
          (words === '' ? messages.some(({ text }) => text.includes(mark)) : has(messages)),
      );
      if (found) return found.at;
      await sleep(2);
    }
  }

  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await sleep(5);
  }

  async rests({ task }: TaskView): Promise<void> {
    await this.until(async () => (await this.client.getTask(task.id)).task.state === 'waiting');
  }

  async over({ task }: TaskView): Promise<void> {
    await this.client.cancelTask(task.id).catch(() => undefined);
    await this.until(async () => (await this.client.getTask(task.id)).end !== null);
  }

  /** What the daemon holds in memory, in megabytes. */
  get daemonMb(): number {
    const { pid } = JSON.parse(readFileSync(join(this.folder, 'state/daemon.json'), 'utf8')) as {
      pid: number;
    };
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = JSON.parse(readFileSync(join(this.folder, 'state/daemon.json'), 'utf8')) as {
      pid: number;
    };
    await this.client.stopDaemon();
    await this.until(() => !isAlive(pid));
    await this.model.stop();
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function configOf(url: string, installed: Installed): object {
  const agent = (name: RealAgent): object => {
    const { args, env } = recipeFor(name, url);
    const folder = installed[name];
    return folder === undefined ? {} : { args, env, program: programOf(name, folder) };
  };
  const { claude: _, ...acp } = installed;
  const names = Object.keys(acp) as Exclude<RealAgent, 'claude'>[];
  const limits = { open: 1_000, total: 100_000, perMinute: 100_000 };
  return {
    engine: { children: limits, concurrency: 500, health: { stuckAfterMs: 3_600_000 } },
    worktrees: { pool: 0 },
    navigation: { enabled: false },
    // What is measured is the machine at its limit.
    governor: { enabled: false },
    daemon: { drainMs: 0 },
    acp: { initializeMs: 120_000, ...Object.fromEntries(names.map((name) => [name, agent(name)])) },
    backends: {
      builtin: { provider: 'anthropic', model: 'scripted', baseUrl: url, apiKeyEnv: 'BENCH_KEY' },
      ...(installed.claude ? { claude: agent('claude') } : {}),
    },
  };
}
