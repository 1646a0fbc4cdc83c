import { PassThrough } from 'node:stream';
import { cli } from '../src/cli.ts';
import type { Io } from '../src/io.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly input?: string;
  /** Ends it as Ctrl-C would. */
  readonly signal?: AbortSignal;
  /** Told of everything it writes, as it comes. */
  readonly wrote?: (out: string) => void;
}

/** Runs a command line in this process, as the program would in one of its own. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const input = new PassThrough();
  input.end(options.input ?? '');
  const io: Io = {
    out: {
      write(text) {
        out += text;
        options.wrote?.(out);
      },
    },
    err: { write: (text) => (err += text) },
    in: input,
    env: options.env ?? { HOME: '/nowhere', PATH: process.env['PATH'] },
    cwd: options.cwd ?? '/',
    interruption: () => ({
      signal: options.signal ?? new AbortController().signal,
      exitCode: 130,
      [Symbol.dispose]: () => undefined,
    }),
  };
  const code = await cli(args, io);
  return { code, out, err };
}
