import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILED = join(tmpdir(), 'reveille-bench-compiled');

/** A program of this folder in a process of its own, spoken to by messages. */
export interface Spoken<First> extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What it said first. */
  readonly first: First;
  ask<T>(message: object): Promise<T>;
}

export async function start<First>(script: string, args: readonly string[]): Promise<Spoken<First>> {
  const child = fork(join(import.meta.dirname, script), args, {
    execArgv: ['--conditions=source', '--max-semi-space-size=8'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const gone = once(child, 'exit');
  const told = async <T>(): Promise<T> => {
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [T];
    if (child.exitCode !== null) throw new Error(`${script} ended with ${child.exitCode}`);
    return message;
  };
  return {
    child,
    first: await told<First>(),
    async ask<T>(message: object) {
      const answered = told<T>();
      child.send(message);
      return await answered;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
