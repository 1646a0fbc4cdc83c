import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** What it said first; empty if it ended without a word. */
  readonly up: Promise<string>;
  readonly ended: Promise<Ended>;
}

const PROGRAMS = {
  program: new URL('./program.ts', import.meta.url),
  victim: new URL('./victim.ts', import.meta.url),
  'disk-victim': new URL('./disk-victim.ts', import.meta.url),
};

/** Starts a program of this folder in a process of its own. */
export function startProgram(
  name: keyof typeof PROGRAMS,
  args: readonly string[],
  options: { env?: Record<string, string>; prefix?: readonly string[] } = {},
): Running {
  const command = [process.execPath, '--conditions=source', fileURLToPath(PROGRAMS[name]), ...args];
  const [file = '', ...rest] = [...(options.prefix ?? []), ...command];
  const child = spawn(file, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr })),
  );
  const up = new Promise<string>((resolve) => {
    child.stdout.on('data', (data: Buffer) => resolve((stdout += data.toString())));
    void ended.then(() => resolve(stdout));
  });
  return { child, up, ended };
}
