import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client, PlanInput, RunEnd, TaskView } from '@reveille/protocol';
import { House, until } from './house.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const AGENT = join(ROOT, 'packages/executors/test/acp/scripted-agent.ts');

export type Steps = readonly (Readonly<Record<string, unknown>> & { readonly do: string })[];

/** A task's words with a script for the scripted agent in them. */
export const play = (steps: Steps, restarted?: Steps): string =>
  `do it\n\n\`\`\`acp-script\n${JSON.stringify({ steps, restarted })}\n\`\`\``;

export const report = (output: string, more: object = {}): Steps[number] => ({
  do: 'call',
  tool: 'a2a_subtask_complete',
  args: { status: 'success', output, ...more },
});

/** A daemon of its own, a repository, and our scripted agent as a backend under several names. */
export class AcpHouse extends House {
  readonly root: string;

  constructor(
    settings: Readonly<Record<string, unknown>> = {},
    acp: Readonly<Record<string, unknown>> = {},
    further: Readonly<Record<string, unknown>> = {},
  ) {
    super();
    const agent = (...flags: string[]) => ({
      command: [process.execPath, AGENT, ...flags],
      env: { NODE_NO_WARNINGS: '1' },
      reads: [join(ROOT, 'packages'), join(ROOT, 'node_modules')],
    });
    const custom = {
      played: agent(),
      steered: agent('--steers'),
      forgetful: agent('--no-load', '--no-http'),
      hanging: agent('--hang'),
      crashing: agent('--crash'),
      strange: agent('--login'),
      absent: { command: ['no-such-program-anywhere'] },
      ...further,
    };
    mkdirSync(this.place.home, { mode: 0o700 });
    // However busy the machine is.
    const config = { ...settings, acp: { custom, initializeMs: 600_000, ...acp } };
    writeFileSync(join(this.place.home, 'config.yaml'), JSON.stringify(config));
    this.root = join(this.folder, 'shop');
    mkdirSync(this.root);
    this.git('init', '-q', '-b', 'main');
    writeFileSync(join(this.root, 'README.md'), 'a shop\n');
    this.git('add', '-A');
    this.git('commit', '-q', '-m', 'first');
  }

  /** What an agent without a sandbox left, if a test failed before it was ended. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    const home = `HOME=${join(this.place.home, 'agents')}`;
    for (const { pid } of processesWith((variable) => variable.startsWith(home))) endProcess(pid);
  }

  git(...args: string[]): string {
    const who = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
    return execFileSync('git', [...who, ...args], { cwd: this.root, encoding: 'utf8' }).trimEnd();
  }

  /** One task in the repository, started. */
  async run(
    client: Client,
    prompt: string,
    task: Partial<PlanInput['tasks'][number]> = {},
  ): Promise<TaskView> {
    const only = { id: 'a', agent: 'played:coder', prompt, ...task };
    const input = { name: 'p', repository: this.root, tasks: [only] };
    const { tasks } = await client.savePlan(input, { start: true });
    return tasks[0]!;
  }
}

export async function endOf(client: Client, { task }: TaskView): Promise<RunEnd> {
  await until(async () => (await client.getTask(task.id)).end !== null);
  return (await client.getTask(task.id)).end!;
}

/** The worktree of a task, once there is a file of this name in it. */
export async function worktreeWith(client: Client, { task }: TaskView, file: string): Promise<string> {
  let path = '';
  await until(async () => {
    path = await client.diffTask(task.id).then(
      ({ worktree }) => worktree,
      () => '',
    );
    return path !== '' && existsSync(join(path, file));
  });
  return path;
}

export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Every process of the agents of a run that lives, with its command line. */
export const processesOfRun = (run: string): { pid: number; command: string }[] =>
  processesWith((variable) => variable.startsWith('REVEILLE_AGENT=') && variable.includes(run));

function processesWith(matches: (variable: string) => boolean): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      env: readProc(name, 'environ'),
      command: readProc(name, 'cmdline'),
    }))
    .filter(({ env }) => env.some(matches))
    .map(({ pid, command }) => ({ pid, command: command.join(' ') }));
}

function readProc(pid: string, file: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** The agent itself, not the sandbox around it. */
export function agentOf(run: string): number {
  const found = processesOfRun(run).find(({ command }) => /^\S*node \S*scripted-agent\.ts/.test(command));
  if (!found) throw new Error(`no agent: ${JSON.stringify(processesOfRun(run))}`);
  return found.pid;
}
