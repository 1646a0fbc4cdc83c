import { homedir, tmpdir } from 'node:os';
import { ReveilleError } from '@reveille/protocol';
import type { Confinement } from './confinement.ts';
import { Doors } from './doors.ts';
import { findSandbox, type Bubblewrap, type Found, type Probe } from './probe.ts';
import { runProcess, type Ran, type RunOptions } from './process.ts';
import type { Resolve } from './proxy.ts';
import { leaveBare, wrapInBubblewrap, wrapInSeatbelt, type Wrapped } from './wrap.ts';

export interface SandboxOptions {
  /** What to do where there is none: refuse to run anything, say so once and go on, or never use one. */
  readonly setting: 'require' | 'warn' | 'off';
  readonly warn: (text: string) => void;
  /** The person's home, which is hidden. */
  readonly home?: string;
  /** Our own environment, of which little is passed on. Its path is where bubblewrap is looked for. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where the folder of the doors' sockets is made. Short: a socket's path has at most 107 bytes. */
  readonly runtimeFolder?: string;
  /** How the proxy finds the addresses of a name. */
  readonly resolve?: Resolve;
}

export async function probeSandbox(path?: string): Promise<Probe> {
  const { kind, version, why } = await findSandbox(path);
  return { kind, version, why };
}

/** Looks for a sandbox and follows the setting. To be closed when nothing runs in it any more. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const env = options.env ?? process.env;
  const found = options.setting === 'off' ? OFF : await findSandbox(env['PATH']);
  if (found.kind === 'none' && options.setting === 'require') throw missing(found.why);
  if (found.kind === 'none' && options.setting === 'warn')
    options.warn(
      `Agents and commands run without a sandbox: only their file tools are held to the worktree. ${found.why}`,
    );
  return new Sandbox(found, { ...options, env });
}

const OFF: Found = { kind: 'none', version: null, why: 'The setting switches it off.', bubblewrap: null };

const missing = (why: string): ReveilleError =>
  new ReveilleError('sandbox_missing', `The setting requires a sandbox. ${why}`, { data: { why } });

/** Bubblewrap says on this descriptor which process is the first in the sandbox, and whether the command was started. */
const STATUS = ['--json-status-fd', '3'];

export class Sandbox implements AsyncDisposable {
  readonly kind: Probe['kind'];
  readonly #bubblewrap: Bubblewrap | null;
  readonly #env: NodeJS.ProcessEnv;
  readonly #home: string;
  readonly #doors: Doors;

  constructor(found: Found, options: SandboxOptions) {
    this.kind = found.kind;
    this.#bubblewrap = found.bubblewrap;
    this.#env = options.env ?? process.env;
    this.#home = options.home ?? homedir();
    this.#doors = new Doors(options.runtimeFolder ?? tmpdir(), options.resolve);
  }

  /** For a whole agent: whoever starts it speaks with it, and kills it. Killing what was started kills all of it. */
  async wrap(command: readonly string[], confinement: Confinement): Promise<Wrapped> {
    if (command.length === 0) throw new ReveilleError('invalid_input', 'There is no command to run.');
    const surroundings = { confinement, env: this.#env, home: this.#home, doors: this.#doors };
    if (this.#bubblewrap !== null) return wrapInBubblewrap(command, this.#bubblewrap, surroundings);
    return this.kind === 'seatbelt'
      ? wrapInSeatbelt(command, surroundings)
      : leaveBare(command, surroundings);
  }

  /** For a command: runs it to its end. A string is for the shell inside. */
  async run(
    command: string | readonly string[],
    confinement: Confinement,
    options: RunOptions = {},
  ): Promise<Ran> {
    options.signal?.throwIfAborted();
    const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
    const wrapped = await this.wrap(argv, confinement);
    try {
      const status = this.#bubblewrap !== null;
      const [program = '', ...args] = wrapped.argv;
      const start = { ...wrapped, argv: status ? [program, ...STATUS, ...args] : wrapped.argv, status };
      const { wasSetUp, ...ran } = await runProcess(start, options);
      if (wasSetUp === false && ran.ended === null)
        throw new ReveilleError('sandbox_missing', `The sandbox could not be set up: ${ran.output.trim()}`);
      return ran;
    } finally {
      await wrapped.dispose();
    }
  }

  /** Shuts the doors that are still open. */
  async close(): Promise<void> {
    await this.#doors.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
