import { ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { PassThrough, Readable, type Writable } from 'node:stream';
import type { Launched } from '../place.ts';

/** A server's process, and everything it starts. It dies with us, also when we are killed. */
export interface ServerProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** When it has ended, however: the last it said on its error output, and how it ended. */
  readonly ended: Promise<string>;
  kill(): void;
}

const SETPRIV = '/usr/bin/setpriv';

export async function startProcess(launched: Launched): Promise<ServerProcess> {
  const { argv, env, cwd, seesUs, dispose } = launched;
  // A sandbox dies with its parent. Without one the system is asked to see to it where it can; the end of its input
  // tells the server everywhere else.
  const bound = seesUs && (await isProgram(SETPRIV)) ? [SETPRIV, '--pdeathsig', 'KILL', ...argv] : argv;
  const [program = '', ...args] = bound;
  const child = started(program, args, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = (): string => '';
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`it could not be started: ${error.message}`));
    child.on('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`}${said()}`));
  });
  // A process that could not be started has no streams where the descriptors for them were missing.
  const stdin = child.stdin ?? new PassThrough();
  if (child.stderr) said = lastWords(child.stderr);
  // A server that is gone does not read any more.
  stdin.on('error', () => undefined);
  void ended.then(dispose);
  return {
    pid: child.pid ?? 0,
    stdin,
    stdout: child.stdout ?? Readable.from([]),
    ended,
    kill: () => killAll(child),
  };
}

/** A process that could not be started says so by its `error` event, also where Node throws (without memory). */
function started(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(program, args, options);
  } catch (error) {
    const child = new ChildProcess();
    process.nextTick(() => child.emit('error', error));
    return child;
  }
}

function killAll(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

const isProgram = async (path: string): Promise<boolean> =>
  process.platform === 'linux' &&
  (await access(path, constants.X_OK).then(
    () => true,
    () => false,
  ));

function lastWords(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text = `${text}${chunk}`.slice(-2_000);
  });
  return () => {
    const lines = text.trim().split('\n');
    // What was wrong is seldom the last that is said: traces and versions follow.
    const last = (lines.find((line) => /error/i.test(line)) ?? lines.at(-1))?.trim();
    return last ? `: ${last}` : '';
  };
}
