import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  startModelServer,
  withModelScript,
  type ModelScript,
  type ModelServer,
} from '@reveille/model-server';
import type { Client, PlanInput, RunEnd, TaskView } from '@reveille/protocol';
import { House, until } from '../house.ts';
import { VENDORS, folderOf } from './vendors.ts';

export { until, withModelScript };

/** A daemon of its own with every real agent as a backend, a model that follows scripts, and a repository. */
export class AgentsHouse extends House {
  readonly root: string;
  readonly model: ModelServer;

  static async open(settings: Readonly<Record<string, unknown>> = {}): Promise<AgentsHouse> {
    return new AgentsHouse(await startModelServer(), settings);
  }

  constructor(model: ModelServer, settings: Readonly<Record<string, unknown>>) {
    super();
    this.model = model;
    mkdirSync(this.place.home, { mode: 0o700 });
    symlinkSync(folderOf('claude'), join(this.place.home, 'sdk'));
    const each = Object.fromEntries(VENDORS.map(({ name, settings: of }) => [name, of(model.url)]));
    const { claude, ...acp } = each;
    const { acp: more = {}, ...rest } = settings;
    const config = { backends: { claude }, acp: { ...acp, ...(more as object) }, ...rest };
    writeFileSync(join(this.place.home, 'config.yaml'), JSON.stringify(config));
    this.root = join(this.folder, 'shop');
    mkdirSync(this.root);
    this.git('init', '-q', '-b', 'main');
    writeFileSync(join(this.root, 'README.md'), 'a shop\n');
    this.git('add', '-A');
    this.git('commit', '-q', '-m', 'first');
  }

  git(...args: string[]): string {
    const who = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
    return execFileSync('git', [...who, ...args], { cwd: this.root, encoding: 'utf8' }).trimEnd();
  }

  /** One task in the repository, started. */
  async run(
    client: Client,
    task: Partial<PlanInput['tasks'][number]> & { prompt: string },
  ): Promise<TaskView> {
    const input = { name: 'p', repository: this.root, tasks: [{ id: 'a', ...task }] };
    const { tasks } = await client.savePlan(input, { start: true });
    return tasks[0]!;
  }

  async worktreeOf(client: Client, { task }: TaskView): Promise<string> {
    const path = join(`${this.root}.worktrees`, `p-${task.name}`);
    await until(async () => existsSync(path) && (await client.getTask(task.id)).run !== null);
    return path;
  }

  /** The processes that work in a folder, wherever they are. */
  livingIn(folder: string): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
        } catch {
          return false;
        }
      });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.model.stop();
  }
}

export async function endOf(client: Client, { task }: TaskView): Promise<RunEnd> {
  await until(async () => (await client.getTask(task.id)).end !== null);
  return (await client.getTask(task.id)).end!;
}

export const scripted = (script: ModelScript): string => withModelScript('Do your task.', script);

export const report = (output: string): NonNullable<ModelScript['steps']>[number] => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output },
});
