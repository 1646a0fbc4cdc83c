import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  startModelServer,
  withModelScript,
  type ModelScript,
  type ModelServer,
} from '@reveille/model-server';
import type { Client, PlanInput, Request, RunEnd, TaskView } from '@reveille/protocol';
import { House, until as untilSoon } from '../house.ts';
import { VENDORS, folderOf } from './vendors.ts';

export { withModelScript as withScript };

/** Agents take their time, and some of them minutes where others work too. */
export const until = (holds: () => boolean | Promise<boolean>): Promise<void> => untilSoon(holds, 300_000);

interface Settings {
  readonly engine?: Readonly<Record<string, unknown>>;
  readonly acp?: Readonly<Record<string, unknown>>;
  /** Agents are told to give up our calls soon, where they can be told. */
  readonly hasty?: boolean;
  /** A file of the house that is run in place of Claude Code. */
  readonly claude?: string;
}

/** A daemon of its own with every real agent as a backend, a model that follows scripts, and a repository. */
export class AgentsHouse extends House {
  readonly root: string;
  readonly model: ModelServer;

  static async open(settings: Settings = {}): Promise<AgentsHouse> {
    return new AgentsHouse(await startModelServer(), settings);
  }

  constructor(model: ModelServer, { engine = {}, acp = {}, hasty = false, claude: own }: Settings) {
    super();
    this.model = model;
    mkdirSync(this.place.home, { mode: 0o700 });
    if (VENDORS.some(({ name }) => name === 'claude'))
      symlinkSync(folderOf('claude'), join(this.place.home, 'sdk'));
    const each = VENDORS.map(({ name, settings }) => [name, settings(model.url, hasty)] as const);
    const { claude, ...others } = Object.fromEntries(each);
    // However busy the machine is.
    const initializeMs = 300_000;
    const program = own === undefined ? {} : { program: join(this.folder, own) };
    const config = {
      engine,
      backends: { claude: { ...claude, ...program } },
      acp: { initializeMs, ...others, ...acp },
    };
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
    let path = '';
    await until(async () => {
      path = await client.diffTask(task.id).then(
        ({ worktree }) => worktree,
        () => '',
      );
      return path !== '';
    });
    return path;
  }

  /** Whether an answer of this name is held that somebody waits for who has heard these words. */
  heard(hold: string, words: string): boolean {
    const waiting = this.model.requests.filter(({ answered, abandoned }) => answered === null && !abandoned);
    const told = waiting.some(({ messages }) => messages.some(({ text }) => text.includes(words)));
    return told && this.model.held(hold) > 0;
  }

  /** The processes that work in a folder, wherever they are. */
  livingIn(folder: string): number[] {
    return processes().filter((pid) => {
      const cwd = read(() => readlinkSync(`/proc/${pid}/cwd`));
      return cwd === folder || cwd.startsWith(`${folder}/`);
    });
  }

  /** Kills all of them. The death of one may be that of another. */
  killIn(folder: string): void {
    for (const pid of this.livingIn(folder)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  /** The command lines of this machine that hold a text. */
  commandLinesWith(text: string): string[] {
    const lines = processes().map((pid) => read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
    return lines.filter((line) => line.includes(text));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.model.stop();
  }
}

const processes = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Of a process that may have gone meanwhile. */
function read(look: () => string): string {
  try {
    return look();
  } catch {
    return '';
  }
}

/** The child that a task has spawned, once it is at work. */
export async function childOf(client: Client, { task }: TaskView): Promise<TaskView> {
  let child: TaskView | undefined;
  await until(async () => {
    [child] = await client.listTasks({ owner: task.session });
    return child?.task.state === 'running';
  });
  return child!;
}

/** What a task waits for leave for now; null: it has ended. */
export async function askedBy(client: Client, { task }: TaskView): Promise<Request | null> {
  let asked: Request | undefined;
  await until(async () => {
    asked = (await client.inbox()).find((request) => request.task === task.id && request.kind === 'approval');
    return asked !== undefined || (await client.getTask(task.id)).end !== null;
  });
  return asked ?? null;
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

/** A subtask of another backend, by a script. */
export const scriptedChild = (steps: readonly object[]) => ({
  agentType: 'scripted:coder',
  prompt: `Go.\n\n\`\`\`reveille-script\n${JSON.stringify({ steps })}\n\`\`\``,
});
export const silent = scriptedChild([{ do: 'silent' }]);
