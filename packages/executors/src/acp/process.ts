import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
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

const STDERR_CHARACTERS = 4_000;
/** What a process that is gone still has in its pipes comes within this time, or is held by another one. */
const DRAIN_MS = 500;

/** By which the processes of one agent can be told from all others, also those that left its group. */
export const MARK = 'REVEILLE_AGENT';

/**
 * One agent's process, in a group of its own. It ends when we end it or by itself, and everything it started ends
 * with it: by the sandbox, by its group, and where there is no sandbox by its mark.
 */
export class AgentProcess {
  readonly exited: Promise<Exit>;
  readonly errors: Tail;
  readonly #child: ChildProcess;
  readonly #launch: Launch;
  readonly #name: string;
  readonly #graces: Graces;
  #ending: Promise<void> | null = null;

  constructor(name: string, launch: Launch, graces: Graces = GRACES) {
    this.#name = name;
    this.#launch = launch;
    this.#graces = graces;
    const [program = '', ...args] = launch.argv;
    const child = (this.#child = spawn(program, args, {
      cwd: launch.cwd,
      env: { ...launch.env, [MARK]: name },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    }));
    this.errors = tailOf(child.stderr as Readable, STDERR_CHARACTERS);
    this.input.on('error', () => undefined);
    this.output.on('error', () => undefined);
    this.exited = new Promise<Exit>((resolve) => {
      child.once('error', (error) => resolve({ code: null, signal: null, error }));
      child.once('exit', (code, signal) => resolve({ code, signal, error: null }));
    });
    // However it ends, what it left is ended too.
    void this.exited.then(() => this.end());
  }

  /** Undefined: it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get input(): Writable {
    return this.#child.stdin as Writable;
  }

  get output(): Readable {
    return this.#child.stdout as Readable;
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
    killGroup(this.pid, 'SIGKILL');
    await this.exited;
    if (!this.#launch.confined) await endStrays(`${MARK}=${this.#name}`);
    await this.#drain();
    await this.#launch.dispose();
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
    const streams = [this.output, this.#child.stderr as Readable];
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
