import { ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { tailOf, type Tail } from './lines.ts';
import { endStrays, killGroup } from './strays.ts';

/** How an agent is started: in its sandbox, with these arguments, this environment and no other. */
export interface Launch {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Where it works, as it sees it. */
  readonly workdir: string;
  /** Whether a sandbox holds it: then nothing it started outlives it. */
  readonly confined: boolean;
  /** To be called with its process when it has been started. */
  readonly started?: (pid: number) => void;
  /** Kills its process and everything that it started; its group, unless told. */
  readonly kill?: (pid: number) => void;
  /** Whether a keeper stands above it, which does the killing and takes a moment for it. */
  readonly kept?: boolean;
  /** Why it was killed for what its run took; null: it was not. */
  readonly overrun?: () => string | null;
  /** To be called when the process has ended. */
  readonly dispose: () => Promise<void>;
}

/** How long an agent has at each step of its end, before the next. */
export interface Graces {
  /** Its input ended: it should go by itself. */
  readonly eofMs: number;
  /** It was asked to (TERM). */
  readonly termMs: number;
}

export const GRACES: Graces = { eofMs: 2_000, termMs: 2_000 };

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It could not be started at all. */
  readonly error: NodeJS.ErrnoException | null;
}

const SIGNALS = new Map(
  Object.entries(constants.signals)
    // Of two names of one signal the first counts.
    .toReversed()
    .map(([name, number]) => [number, name]),
);
const isSignal = (name: string | undefined): name is NodeJS.Signals =>
  name !== undefined && name in constants.signals;

/** A shell or bubblewrap passes the signal that ended its command on as exit code 128 + n: that is a signal here. */
export function exitOf(code: number | null, signal: NodeJS.Signals | null): Exit {
  const passedOn = code === null ? undefined : SIGNALS.get(code - 128);
  if (signal === null && isSignal(passedOn)) return { code: null, signal: passedOn, error: null };
  return { code, signal, error: null };
}

const STDERR_CHARACTERS = 4_000;
/** What a process that is gone still has in its pipes comes within this time, or is held by another one. */
const DRAIN_MS = 500;
/** How long a keeper may take to kill all that is below it. */
const KEEPER_MS = 5_000;

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

/** By which the processes of one agent can be told from all others, also those that left its group. */
export const MARK = 'REVEILLE_AGENT';

/**
 * One agent's process, in a group of its own. It ends when we end it or by itself, and everything it started ends
 * with it: by the sandbox or, where there is none, by the keeper above it, by its group, and by its mark.
 */
export class AgentProcess {
  readonly exited: Promise<Exit>;
  readonly errors: Tail;
  readonly input: Writable;
  readonly output: Readable;
  readonly #stderr: Readable;
  readonly #child: ChildProcess;
  readonly #launch: Launch;
  readonly #name: string;
  readonly #graces: Graces;
  #ending: Promise<void> | null = null;
  #killedBy: NodeJS.Signals | null = null;
  #unstarted: Error | null = null;

  constructor(name: string, launch: Launch, graces: Graces = GRACES) {
    this.#name = name;
    this.#launch = launch;
    this.#graces = graces;
    const [program = '', ...args] = launch.argv;
    const child = (this.#child = started(program, args, {
      cwd: launch.cwd,
      env: { ...launch.env, [MARK]: name },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    }));
    this.exited = new Promise<Exit>((resolve) => {
      child.once('error', (error) => {
        this.#unstarted = error;
        resolve({ code: null, signal: null, error });
      });
      child.once('exit', (code, signal) => {
        const exit = exitOf(code, signal);
        if (this.#ending === null) this.#killedBy = exit.signal;
        resolve(exit);
      });
    });
    if (child.pid !== undefined) launch.started?.(child.pid);
    // A process that could not be started has no streams where the descriptors for them were missing.
    this.#stderr = child.stderr ?? Readable.from([]);
    this.input = child.stdin ?? new PassThrough();
    this.output = child.stdout ?? Readable.from([]);
    this.errors = tailOf(this.#stderr, STDERR_CHARACTERS);
    this.input.on('error', () => undefined);
    this.output.on('error', () => undefined);
    // However it ends, what it left is ended too.
    void this.exited.then(() => this.end());
  }

  /** Undefined: it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Why it could not be started; null: it was. */
  get unstarted(): Error | null {
    return this.#unstarted;
  }

  /** The signal that ended it before anybody here asked it to end; null: none has. */
  get killedBy(): NodeJS.Signals | null {
    return this.#killedBy;
  }

  /** Why it was ended for what its run took; null: it was not. Known when it has ended. */
  get overrun(): string | null {
    return this.#launch.overrun?.() ?? null;
  }

  /** Whether a later life has to leave the killing to a keeper. */
  get kept(): boolean {
    return this.#launch.kept ?? false;
  }

  /** Ask, abort, kill. Resolves when nothing of it lives. */
  end(): Promise<void> {
    return (this.#ending ??= this.#end());
  }

  async #end(): Promise<void> {
    const { eofMs, termMs } = this.#graces;
    this.input.end();
    if (!(await this.#gone(eofMs))) {
      killGroup(this.pid, 'SIGTERM');
      await this.#gone(termMs);
    }
    await this.#kill();
    await this.exited;
    if (!this.#launch.confined) await endStrays(`${MARK}=${this.#name}`);
    await this.#drain();
    await this.#launch.dispose();
  }

  async #kill(): Promise<void> {
    const { kill } = this.#launch;
    if (kill && this.pid !== undefined && !(await this.#gone(0))) {
      kill(this.pid);
      await this.#gone(KEEPER_MS);
    }
    killGroup(this.pid, 'SIGKILL');
  }

  async #gone(ms: number): Promise<boolean> {
    const giveUp = new AbortController();
    const late = sleep(ms, false, { signal: giveUp.signal }).catch(() => false);
    const gone = await Promise.race([this.exited.then(() => true), late]);
    giveUp.abort();
    return gone;
  }

  /** Its last words are read, unless somebody who is none of ours holds the pipe. */
  async #drain(): Promise<void> {
    const streams = [this.output, this.#stderr];
    const left = streams.filter((stream) => !stream.readableEnded && !stream.destroyed);
    if (left.length === 0 || this.pid === undefined) return;
    const giveUp = new AbortController();
    const ended = left.map(
      (stream) => new Promise<void>((resolve) => void stream.once('close', () => resolve())),
    );
    await Promise.race([
      Promise.all(ended),
      sleep(DRAIN_MS, undefined, { signal: giveUp.signal }).catch(() => undefined),
    ]);
    giveUp.abort();
    for (const stream of left) stream.destroy();
  }
}
