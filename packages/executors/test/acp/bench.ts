import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Agent, ExecutorEvent, Executor, StartSpec } from '@reveille/core';
import {
  acpExecutor,
  custom,
  type AcpOptions,
  type Hands,
  type Preset,
  type Wish,
} from '@reveille/executors/acp';
import { straysOf } from '../../src/acp/strays.ts';

export const SCRIPTED_AGENT = fileURLToPath(new URL('./scripted-agent.ts', import.meta.url));

/** Longer than any busy machine needs: nobody waits for it unless something is wrong. */
const WAIT_MS = 100_000;

export async function until(holds: () => boolean | Promise<boolean>, ms = WAIT_MS): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`this never came true: ${String(holds)}`);
    await sleep(5);
  }
}

export const script = (...steps: object[]): string =>
  `do it\n\`\`\`acp-script\n${JSON.stringify({ steps })}\n\`\`\``;

export interface BenchOptions {
  readonly flags?: readonly string[];
  readonly preset?: Partial<Preset>;
  readonly options?: Partial<AcpOptions>;
  readonly command?: readonly string[];
}

/** By when a process was started, as the daemon does it on Linux; elsewhere its number has to do. */
export function identityOf(pid: number): string | null {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

/**
 * Agents of a test, without an engine, a daemon or a sandbox. What they leave running is found by their mark.
 *
 *   await using bench = new Bench();
 */
export class Bench implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'reveille-acp-'));
  readonly workdir = join(this.folder, 'tree');
  readonly logs: { message: string; data: Record<string, unknown> }[] = [];
  readonly wishes: Wish[] = [];
  answer: (wish: Wish, signal: AbortSignal) => Promise<string> = async () => 'deny';
  hands: Hands | null = null;
  launches = 0;
  readonly executor: Executor;
  readonly #lives: Life[] = [];

  constructor({ flags = [], preset = {}, options = {}, command }: BenchOptions = {}) {
    mkdirSync(this.workdir);
    mkdirSync(join(this.folder, 'home'));
    const argv = command ?? [process.execPath, SCRIPTED_AGENT, ...flags];
    this.executor = acpExecutor({
      preset: { ...custom('scripted', argv[0] ?? '', argv.slice(1)), ...preset },
      version: '0',
      folder: join(this.folder, 'ledger'),
      identityOf,
      launch: async () => {
        this.launches++;
        return {
          argv,
          env: { PATH: process.env['PATH'] ?? '', HOME: join(this.folder, 'home'), NODE_NO_WARNINGS: '1' },
          cwd: this.workdir,
          workdir: this.workdir,
          confined: false,
          dispose: async () => undefined,
        };
      },
      tools: () => ({ url: 'http://127.0.0.1:9/mcp', token: 'token' }),
      has: () => true,
      approve: (_, wish, signal) => {
        this.wishes.push(wish);
        return this.answer(wish, signal);
      },
      policy: 'ask',
      ownTools: ['a2a_check_updates', 'a2a_subtask_complete'],
      hands: () => this.hands,
      log: (message, data) => void this.logs.push({ message, data }),
      graces: { eofMs: 3_000, termMs: 300 },
      ...options,
      // However busy the machine is.
      waits: { initializeMs: 600_000, sessionMs: 600_000, lastMs: 50, ...options.waits },
    });
  }

  start(given: Partial<StartSpec> = {}): Life {
    const life = new Life(this.executor, given);
    this.#lives.push(life);
    return life;
  }

  write(path: string, content = ''): void {
    writeFileSync(join(this.workdir, path), content);
  }

  async has(path: string): Promise<void> {
    await until(() => existsSync(join(this.workdir, path)));
  }

  read(path: string): string {
    return readFileSync(join(this.workdir, path), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#lives.map((life) => life.agent.stop('the test is over')));
    const left = this.#lives.flatMap((life) => straysOf(`REVEILLE_AGENT=${life.name}`));
    rmSync(this.folder, { recursive: true });
    if (left.length > 0) throw new Error(`processes are left: ${left.join(', ')}`);
  }
}

let runs = 0;

/** One agent, and all it said. */
export class Life {
  readonly events: ExecutorEvent[] = [];
  readonly agent: Agent;
  readonly name: string;
  #turns = 0;

  constructor(executor: Executor, given: Partial<StartSpec>) {
    const run = `run_${process.pid}bench${++runs}`;
    const spec = {
      task: { id: 'task_000001', prompt: 'the task itself', expectedOutput: null },
      run,
      epoch: 1,
      session: 'ses_000001',
      agent: { name: 'agent', backend: 'scripted' },
      resume: null,
      workspace: null,
      report: (event: ExecutorEvent) => void this.events.push(event),
      ...given,
    };
    this.name = `${spec.run}.${spec.epoch}`;
    // A whole task has thirty fields, of which an executor of this kind reads three.
    this.agent = executor.start(spec as unknown as StartSpec);
  }

  turn(text: string, given: readonly string[] = []): this {
    this.agent.turn({ turn: ++this.#turns, given, text });
    return this;
  }

  of<T extends ExecutorEvent['type']>(type: T): Extract<ExecutorEvent, { type: T }>[] {
    return this.events.filter((event): event is Extract<ExecutorEvent, { type: T }> => event.type === type);
  }

  get said(): string {
    return this.of('output')
      .map(({ text }) => text)
      .join('\n');
  }

  get token(): string | null {
    return this.of('started').at(-1)?.resume ?? null;
  }

  async says(words: string): Promise<void> {
    await until(() => {
      if (this.of('exited').length > 0 && !this.said.includes(words))
        throw new Error(`it never said "${words}": ${JSON.stringify(this.events)}`);
      return this.said.includes(words);
    });
  }

  /** The end of the turn that is open. */
  async ended(): Promise<Extract<ExecutorEvent, { type: 'turn_ended' }>> {
    await until(() => {
      const over = this.of('turn_ended').some(({ turn }) => turn === this.#turns);
      if (!over && this.of('exited').length > 0)
        throw new Error(`it is gone: ${JSON.stringify(this.events)}`);
      return over;
    });
    return this.of('turn_ended').at(-1)!;
  }

  async failed(): Promise<Extract<ExecutorEvent, { type: 'failed' }>> {
    await until(() => this.of('exited').length > 0);
    return this.of('failed')[0]!;
  }
}
