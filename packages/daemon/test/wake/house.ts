import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  recipeFor,
  startModelServer,
  withModelScript,
  type ModelScript,
  type ModelServer,
  type ModelStep,
  type RealAgent,
} from '@reveille/model-server';
import type { Client, Message, TaskView } from '@reveille/protocol';
import { expect } from 'vitest';
import { endProcess, processesOfRun } from '../acp-house.ts';
import { House, until as untilSoon } from '../house.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SCRIPTED_AGENT = join(ROOT, 'packages/executors/test/acp/scripted-agent.ts');

/** What each vendor's program is called in the folder it was installed in. */
const PROGRAMS: Readonly<Record<RealAgent, string>> = {
  claude: 'claude',
  codex: 'codex-acp',
  gemini: 'gemini',
  copilot: 'copilot',
  opencode: 'opencode',
};

/** Where each was installed, as `npm run test:agents` says it. */
export const INSTALLED = JSON.parse(process.env['REVEILLE_AGENTS'] ?? '{}') as Partial<
  Record<RealAgent, string>
>;

export const report = (output: string, status = 'success'): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status, output },
});

/** Longer than what is quoted of a task, so that no answer is in any quote. */
export const PADDING = 'Take your time and do it well. '.repeat(12);

/** What a child is given to do; the first words are quoted to its parent. */
export const task = (script: ModelScript, words = ''): string =>
  withModelScript(`${words}${PADDING}`, script);

/** Agents take their time, and some of them minutes where others work too. */
export const until = (holds: () => boolean | Promise<boolean>): Promise<void> => untilSoon(holds, 300_000);

/**
 * A daemon, a model that follows scripts, and agents on it: our own, one that speaks the protocol, and one of a vendor.
 * Children are our own, so that fifty of them cost little; nobody has files.
 */
export class WakeHouse extends House {
  readonly model: ModelServer;
  #parents = 0;

  static async open(settings: object = {}, vendor?: RealAgent): Promise<WakeHouse> {
    return new WakeHouse(await startModelServer({ keep: 10_000 }), settings, vendor);
  }

  private constructor(model: ModelServer, engine: object, vendor: RealAgent | undefined) {
    super({ WAKE_KEY: 'scripted' });
    this.model = model;
    mkdirSync(this.place.home, { mode: 0o700 });
    const { url } = model;
    const builtin = { provider: 'anthropic', model: 'scripted', baseUrl: url, apiKeyEnv: 'WAKE_KEY' };
    const played = {
      command: [process.execPath, SCRIPTED_AGENT],
      env: { NODE_NO_WARNINGS: '1', SCRIPTED_MODEL: url },
      reads: [join(ROOT, 'packages'), join(ROOT, 'node_modules')],
    };
    const children = { open: 200, total: 10_000, perMinute: 10_000 };
    const config = {
      engine: { children, concurrency: 200, ...engine },
      // However busy the machine is.
      acp: { initializeMs: 600_000, custom: { played }, ...(vendor ? this.#acp(vendor) : {}) },
      backends: { builtin, ...(vendor === 'claude' ? { claude: this.#vendor(vendor) } : {}) },
    };
    writeFileSync(join(this.place.home, 'config.yaml'), JSON.stringify(config));
  }

  #acp(vendor: RealAgent): object {
    return vendor === 'claude' ? {} : { [vendor]: this.#vendor(vendor) };
  }

  #vendor(vendor: RealAgent): object {
    const folder = INSTALLED[vendor];
    if (folder === undefined) throw new Error(`${vendor} is not installed: use npm run test:agents`);
    const { args, env } = recipeFor(vendor, this.model.url);
    // Its program comes with its SDK.
    if (vendor === 'claude') symlinkSync(folder, join(this.place.home, 'sdk'));
    const program = join(folder, 'node_modules/.bin', PROGRAMS[vendor]);
    return { args, env, ...(vendor === 'claude' ? {} : { program }) };
  }

  async parent(client: Client, backend: string, steps: readonly ModelStep[]): Promise<Parent> {
    const mark = `PARENT-${++this.#parents}.`;
    const prompt = withModelScript(mark, { steps: [...steps] });
    const tasks = [{ id: 'parent', agent: `${backend}:coder`, prompt }];
    const { tasks: made } = await client.savePlan({ name: mark, tasks }, { start: true });
    return new Parent(this.model, made[0]!, mark);
  }

  /** Every process of the agent of a run, but for the sandbox around it, which ends with it. */
  killAgentOf(run: string): void {
    const own = processesOfRun(run).filter(({ command }) => !command.includes('bwrap '));
    expect(own).not.toEqual([]);
    for (const { pid } of own) endProcess(pid);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.model.stop();
  }
}

/** A task whose agent has children, as it looks from outside: by its records, and by what its model is told. */
export class Parent {
  readonly view: TaskView;
  readonly #model: ModelServer;
  readonly #mark: string;

  constructor(model: ModelServer, view: TaskView, mark: string) {
    this.#model = model;
    this.view = view;
    this.#mark = mark;
  }

  /** What its model was told last, but for its task: of a conversation that began anew only what came since. */
  get heard(): string {
    const said = this.#model.requests.findLast(
      ({ messages, tools }) => tools.length > 0 && messages.some(({ text }) => text.includes(this.#mark)),
    );
    const others = said?.messages.filter(({ role }) => role !== 'assistant') ?? [];
    const fence = '```';
    // One that begins anew is told its task and what came since in one message.
    const besides = (text: string): string =>
      text.includes(this.#mark) ? text.slice(text.lastIndexOf(fence) + fence.length) : text;
    return others.map(({ text }) => besides(text)).join('\n');
  }

  /** How often its model was told this. */
  times(words: string): number {
    return this.heard.split(words).length - 1;
  }

  async ended(client: Client): Promise<NonNullable<TaskView['end']>> {
    await until(async () => (await client.getTask(this.view.task.id)).end !== null);
    return (await client.getTask(this.view.task.id)).end!;
  }

  /** The ends of its children, as its mailbox has them. */
  async ends(client: Client): Promise<Message[]> {
    const mail = await client.mailbox(this.view.task.session);
    return mail.filter(({ kind }) => kind === 'end');
  }

  children(client: Client): Promise<readonly TaskView[]> {
    return client.listTasks({ owner: this.view.task.session });
  }

  /** It rests, and waits for its children. */
  async rests(client: Client): Promise<void> {
    await until(async () => (await client.getTask(this.view.task.id)).task.state === 'waiting');
  }
}
