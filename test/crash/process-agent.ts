import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isReveilleError, type Orchestrator, type RequestId, type TaskId } from '@reveille/protocol';
import type { Agent, Executor, Seen, StartSpec, TurnInput } from '@reveille/core';
import { assignmentOf, letterOf, lettersIn, type Letter } from './letters.ts';
import { birth, endGroup, formatIdentity, parseIdentity, signalGroup } from './processes.ts';
import { childInput, childrenIn, patiently, type World } from './world.ts';

const AGENT = join(import.meta.dirname, 'agent.sh');
const KILL_AFTER_MS = 30;

/**
 * Agents that are processes of their own (`agent.sh`) and outlive the victim. They are found again by the identity that
 * the engine recorded, never by name.
 */
export function processExecutor(world: World, options: { stubborn: boolean }): Executor {
  return {
    steers: false,
    start: (spec) => new ProcessAgent(spec, world, options.stubborn),
    reap: (identity) => endGroup(parseIdentity(identity)),
  };
}

class ProcessAgent implements Agent {
  readonly #spec: StartSpec;
  readonly #world: World;
  readonly #orchestrator: Orchestrator;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #closed: Promise<unknown>;
  #stopped = false;

  constructor(spec: StartSpec, world: World, stubborn: boolean) {
    this.#spec = spec;
    this.#world = world;
    this.#orchestrator = world.orchestratorOf(spec);
    this.#child = spawn('/bin/sh', argumentsOf(spec, world, stubborn), {
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#exited = once(this.#child, 'exit').then(() =>
      this.#spec.report({ type: 'exited', detail: 'its process is gone' }),
    );
    this.#closed = once(this.#child, 'close');
    // It may be gone before the last line reached it; that it is gone is said by `exit`.
    this.#child.stdin?.on('error', () => {});
    const { pid } = this.#child;
    if (pid === undefined || !this.#child.stdout) return;
    createInterface({ input: this.#child.stdout }).on('line', (line) => void this.#hear(line));
    const born = birth(pid);
    if (born !== null)
      spec.report({ type: 'started', identity: formatIdentity({ pid, born }), resume: spec.session });
  }

  turn(input: TurnInput): void {
    this.#give([
      ...input.given.filter((id) => id === this.#spec.run).map(assignmentOf),
      ...lettersIn(input.text),
    ]);
    this.#write(`turn ${input.turn}`);
  }

  async steer(): Promise<'refused'> {
    return 'refused';
  }

  interrupt(): void {}

  async seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const effects = this.#world.effects.read(this.#spec.session);
    const given = new Set(effects.map(({ words }) => words[2]));
    return new Map(ids.map((id) => [id, given.has(id) ? 'yes' : 'no']));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined) return;
    if (exitCode === null && signalCode === null) {
      signalGroup(pid, 'SIGTERM');
      const kill = setTimeout(() => signalGroup(pid, 'SIGKILL'), KILL_AFTER_MS);
      await this.#exited;
      clearTimeout(kill);
    }
    // Its group may have members that it left behind, and they hold its end of the pipes.
    signalGroup(pid, 'SIGKILL');
    await this.#closed;
  }

  async #hear(line: string): Promise<void> {
    const [word, ...words] = line.split(' ');
    if (word === 'noted') this.#world.effects.happened();
    if (word === 'noted') this.#spec.report({ type: 'output', text: 'noted' });
    if (word === 'end') this.#spec.report({ type: 'turn_ended', turn: Number(words[0]), lastWords: '' });
    if (word !== 'call') return;
    this.#world.point('before-call');
    const stopped = (): boolean => this.#stopped;
    const answering = patiently(stopped, () => this.#answer(words));
    const reply = await answering.catch((error: unknown) => (this.#stopped ? 'gone' : refusal(error)));
    if (this.#stopped) return;
    this.#world.point('before-answer');
    this.#write(`reply ${reply}`);
    this.#world.point('after-answer');
  }

  async #answer([call, first = '', second = '']: string[]): Promise<string> {
    const calls = this.#orchestrator;
    switch (call) {
      case 'spawn':
        return this.#spawn(childInput(second, first));
      case 'retry':
        await calls.retryTask(first as TaskId);
        return 'ok';
      case 'answer':
        await calls.answer({ request: first as RequestId, answer: 'this one' });
        return 'ok';
      case 'ask':
        return (await calls.notifyParent({ type: 'question', message: 'which one?' })).request ?? '-';
      case 'report':
        return this.#report(first === 'success' ? 'success' : 'failed');
      default:
        throw new Error(`no call "${call}"`);
    }
  }

  /** Spawned in an earlier life, the child may have ended; the call returns its end then. */
  async #spawn(input: ReturnType<typeof childInput>): Promise<string> {
    const result = await this.#orchestrator.spawnSubtask(input, { blocking: false });
    if (result.state === 'ended' && result.delivery) this.#give([letterOf(result.delivery)]);
    return result.task;
  }

  async #report(status: 'success' | 'failed'): Promise<string> {
    const result = await this.#orchestrator.reportCompletion({
      status,
      output: `${this.#spec.task.name}: ${status}`,
    });
    if (result.accepted) return 'accepted';
    if (result.code !== 'unread_ends') return result.code;
    this.#give(result.deliveries.map(letterOf));
    return 'unread';
  }

  #give(letters: readonly Letter[]): void {
    for (const { id, kind, again, task, status, request } of letters) {
      this.#write(`letter ${id} ${kind} ${again ? 1 : 0} ${task ?? '-'} ${status ?? '-'} ${request ?? '-'}`);
    }
  }

  #write(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }
}

function argumentsOf(spec: StartSpec, world: World, stubborn: boolean): string[] {
  const { task, run, epoch, session } = spec;
  const work = (world.chance() * 0.012).toFixed(3);
  const from = [AGENT, world.effects.path(session), world.locks.path(task.id), String(world.life)];
  const how = [spec.agent.name, String(task.attempts), String(epoch), work, stubborn ? '1' : '0', run];
  return [...from, ...how, ...childrenIn(task.prompt)];
}

function refusal(error: unknown): string {
  if (isReveilleError(error, 'wrong_state') || isReveilleError(error, 'already_answered')) return 'late';
  if (isReveilleError(error, 'stale_caller') || isReveilleError(error, 'stopping')) return 'gone';
  throw error;
}
