import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client, TaskView } from '@reveille/protocol';
import { AcpHouse, endOf } from './acp-house.ts';
import { until } from './house.ts';
import { request, wire } from './wire.ts';

const AGENT = fileURLToPath(new URL('./flooding-agent.ts', import.meta.url));
const MODEL = fileURLToPath(new URL('./endless-process.ts', import.meta.url));

/** Ways to flood, each by an agent in the sandbox; `answers` is a model of the built-in loop whose answers have no end. */
export const FLOODS = [
  'updates',
  'output',
  'open',
  'requests',
  'bodies',
  'connections',
  'schema',
  'answers',
  'held',
  'values',
  'sessions',
  'mail',
  'log',
];

/** A daemon with agents that flood it. */
export class FloodedHouse implements AsyncDisposable {
  readonly house: AcpHouse;
  readonly client: Client;
  readonly #model: ChildProcess;

  private constructor(house: AcpHouse, client: Client, model: ChildProcess) {
    [this.house, this.client, this.#model] = [house, client, model];
  }

  static async open(): Promise<FloodedHouse> {
    const model = fork(MODEL, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] });
    const [url] = (await once(model.stdout!, 'data')) as [Buffer];
    const builtin = {
      provider: 'openai-compatible',
      baseUrl: url.toString().trim(),
      model: 'scripted-1',
    };
    const flooding = { command: [process.execPath, AGENT], env: { NODE_NO_WARNINGS: '1' }, reads: [AGENT] };
    const house = new AcpHouse({ backends: { builtin } }, {}, { flooding });
    return new FloodedHouse(house, await house.connect(), model);
  }

  /** Starts an agent for each of these floods; several kinds in one, with commas between them, are one agent's. */
  async begin(floods: readonly string[]): Promise<TaskView[]> {
    const views = await Promise.all(
      floods.map((flood) =>
        flood === 'answers'
          ? this.house.run(this.client, 'go', { agent: 'builtin:coder' })
          : this.house.run(this.client, `flood: ${flood}`, { agent: 'flooding:coder' }),
      ),
    );
    for (const { task } of views)
      await until(async () => (await this.client.getTask(task.id)).run?.state !== undefined);
    return views;
  }

  async end(views: readonly TaskView[]): Promise<void> {
    // The one whose model has no end fails by itself.
    for (const { task } of views) await this.client.cancelPlan(task.plan!).catch(() => undefined);
    for (const view of views) await endOf(this.client, view);
  }

  /** The most memory the daemon had, in bytes. */
  get peak(): number {
    const status = readFileSync(`/proc/${this.house.lock.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1_024;
  }

  /** Asks again and again for a while: as `reveille status` does, by the person's path, and once at the port. */
  async ask(ms: number): Promise<{ readonly times: readonly number[]; readonly wrong: readonly string[] }> {
    const times: number[] = [];
    const wrong: string[] = [];
    const { port, token } = this.house.lock;
    for (const end = performance.now() + ms; performance.now() < end; await sleep(10)) {
      const began = performance.now();
      await this.#status().catch((error: unknown) => wrong.push(String(error)));
      times.push(performance.now() - began);
      const { status } = await wire(port, request(port, token));
      if (status !== 200) wrong.push(`the port answered ${status}`);
    }
    return { times, wrong };
  }

  /** With the look for the daemon, which every command begins with. */
  async #status(): Promise<void> {
    const client = await this.house.connect({ start: false });
    await Promise.all([client.listPlans(), client.listTasks({ open: true }), client.inbox()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.house[Symbol.asyncDispose]();
    this.#model.kill('SIGKILL');
  }
}
