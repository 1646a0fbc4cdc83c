import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Script, ScriptedAgent } from '@reveille/executors';
import type { Pulled, TaskId } from '@reveille/protocol';
import { filesOf, resolverAt, stepsOf, type Act, type Case, type ShellAct } from './case.ts';
import { placesIn } from './repositories.ts';
import { RESOLUTIONS } from './resolvers.ts';
import { environmentIn, shell, shellEach } from './shell.ts';

/** What an agent saw while it worked, which the model predicts. */
export interface Seen {
  /** The text of its first turn. */
  readonly text: string;
  /** The commit it began on. */
  readonly start: string;
  /** For each command, what it counts as and the code it ended with. */
  readonly ran: (readonly [kind: string, code: number])[];
  readonly pulled: Pulled[];
}

const LONGEST_WAIT_MS = 120_000;

/**
 * The agent of every case: it finds the case beside the repository of its task and does what is written there. Commands
 * are run in its worktree as its own, outside the sandbox: what an agent may touch is another suite's matter.
 */
export const playCase =
  (worktreeOf: (task: TaskId) => string): Script =>
  async (agent) => {
    const { task, memory } = agent;
    if (memory.notes['acted'] === undefined) {
      memory.notes['acted'] = true;
      const folder = dirname(dirname(task.repository ?? ''));
      const player = new Player(agent, folder, worktreeOf(task.id));
      const status = await player.play();
      memory.notes['status'] = status;
    }
    await report(agent, memory.notes['status'] === 'failed' ? 'failed' : 'success');
  };

/** The first report may be refused because ends of children were not read: they came with the refusal. */
async function report(agent: ScriptedAgent, status: 'success' | 'failed'): Promise<void> {
  const result = await agent.report(status, 'Done.');
  if (!result.accepted) await agent.report(status, 'Done.');
}

class Player {
  readonly #agent: ScriptedAgent;
  readonly #folder: string;
  readonly #worktree: string;
  readonly #case: Case;
  readonly #env: Record<string, string>;
  readonly #children = new Map<string, TaskId>();

  constructor(agent: ScriptedAgent, folder: string, worktree: string) {
    this.#agent = agent;
    this.#folder = folder;
    this.#worktree = worktree;
    this.#case = JSON.parse(readFileSync(filesOf(folder).case, 'utf8')) as Case;
    this.#env = { ...environmentIn(process.env['HOME'] ?? '/'), ...placesIn(filesOf(folder).real) };
  }

  async play(): Promise<'success' | 'failed'> {
    const { task, attempt, turn } = this.#agent;
    const [isResolver, part = ''] = /^resolve (.*)$/.exec(task.name) ?? [];
    if (isResolver !== undefined) return await this.#resolve(part);
    const { stdout } = await this.#shell('git rev-parse HEAD');
    const seen: Seen = { text: turn.text, start: stdout.trim(), ran: [], pulled: [] };
    const planned = this.#case.tasks.find(({ name }) => name === task.name);
    const isRetry = planned?.again !== null && planned?.again !== undefined && attempt > 1;
    const acts = isRetry ? planned.again.acts : (planned?.acts ?? this.#case.children[task.name] ?? []);
    for (const step of stepsOf(acts)) {
      if (!('do' in step)) {
        const scripts = step.map(({ script }) => script);
        const codes = await shellEach({ cwd: this.#worktree, env: this.#env }, scripts);
        seen.ran.push(...step.map(({ kind }, i) => [kind, codes[i] ?? -1] as const));
      } else await this.#do(step, seen);
    }
    const { seen: folder } = filesOf(this.#folder);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${task.name}-${attempt}.json`), JSON.stringify(seen));
    return planned?.again && attempt === 1 ? 'failed' : 'success';
  }

  async #do(act: Exclude<Act, ShellAct>, seen: Seen): Promise<void> {
    switch (act.do) {
      case 'spawn':
        this.#children.set(
          act.child,
          await this.#agent.spawn({ prompt: `work as ${act.child}`, name: act.child }),
        );
        return;
      case 'pull': {
        const child = this.#children.get(act.child);
        if (child === undefined) throw new Error(`There is no child ${act.child}.`);
        await this.#agent.wait({ taskIds: [child], timeoutMs: LONGEST_WAIT_MS });
        seen.pulled.push(await this.#agent.call('pullSubtask', child));
        return;
      }
      default:
        return act satisfies never;
    }
  }

  /** The attempts at one branch are counted in a file, because each is another agent. */
  async #resolve(part: string): Promise<'success'> {
    const counted = join(this.#folder, `resolved-${part}`);
    const attempt = existsSync(counted) ? readFileSync(counted, 'utf8').length : 0;
    appendFileSync(counted, '.');
    const [, theirs = ''] = /Merge the commit ([0-9a-f]+)/.exec(this.#agent.task.prompt) ?? [];
    await this.#shell(RESOLUTIONS[resolverAt(this.#case, attempt)], { THEIRS: theirs });
    return 'success';
  }

  #shell(script: string, more: Readonly<Record<string, string>> = {}) {
    return shell({ cwd: this.#worktree, script, env: { ...this.#env, ...more } });
  }
}
