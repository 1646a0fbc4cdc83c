import { PassThrough, Writable } from 'node:stream';
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
  /** Both ends are a terminal; what is typed is written to it. */
  readonly typed?: (typing: PassThrough) => void;
  /** Ends it as Ctrl-C would. */
  readonly signal?: AbortSignal;
  /** Told of everything it writes, as it comes. */
  readonly wrote?: (out: string) => void;
}

/** Runs a command line in this process, as the program would in one of its own. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const input = Object.assign(new PassThrough(), { isTTY: options.typed !== undefined });
  if (options.typed) options.typed(input);
  else input.end(options.input ?? '');
  const io: Io = {
    out: Object.assign(
      new Writable({
        decodeStrings: false,
        write(text, _encoding, done) {
          out += String(text);
          options.wrote?.(out);
          done();
        },
      }),
      { isTTY: options.typed !== undefined, columns: 120 },
    ),
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
