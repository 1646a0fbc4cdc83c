import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';

export interface RunOptions {
  readonly signal?: AbortSignal;
  /** All of the output as it comes, also what is not kept. */
  readonly onOutput?: (chunk: Buffer, stream: 'stdout' | 'stderr') => void;
  readonly timeoutMs?: number;
  /** How much output is kept: half of it from the beginning, half from the end. */
  readonly maxOutputBytes?: number;
  readonly stdin?: string | Buffer;
  /** How long a process that was asked to end may take. */
  readonly graceMs?: number;
}

export interface Ran {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Both streams in the order they came. */
  readonly output: string;
  readonly truncated: boolean;
  /** Set if we ended it. `limit`: its run took more than it may. */
  readonly ended: 'timeout' | 'abort' | 'limit' | null;
}

/** What is started, and how its whole tree is reached. */
export interface Start {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The fourth descriptor is where bubblewrap says which process is the sandbox's first, and how it ended. */
  readonly status: boolean;
  readonly started?: (pid: number) => void;
  /** Kills it and everything it started; its group, unless told. */
  readonly kill?: (pid: number) => void;
}

/** Null as `status` is known only of a sandbox; false: it was never set up, and the output says why. */
export interface Finished extends Ran {
  readonly wasSetUp: boolean | null;
}

const MAX_OUTPUT = 1024 * 1024;
const GRACE_MS = 5_000;
/** How often it is looked whether more comes once the process is gone. */
const DRAIN_MS = 500;
/** How long a keeper may take to kill all that is below it. */
export const KEEPER_MS = 5_000;

/**
 * Runs a process to its end and everything it started with it. When it is given up or out of time, the command and its
 * group are asked to end (TERM); after the grace all that is left of it is killed. When the command has ended, what it
 * left running is killed at once.
 */
export async function runProcess(start: Start, options: RunOptions = {}): Promise<Finished> {
  const [program = '', ...args] = start.argv;
  const child = spawn(program, args, {
    cwd: start.cwd,
    env: start.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(start.status ? ['pipe' as const] : [])],
  });
  const kept = new KeptOutput(options.maxOutputBytes ?? MAX_OUTPUT);
  const end = endOf(child, () => kept.bytes);
  // A process that could not be started has no streams where the descriptors for them were missing.
  if (child.pid === undefined) await end;
  else start.started?.(child.pid);
  const status = start.status ? readStatus(child) : null;
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk: Buffer) => {
      kept.add(chunk);
      options.onOutput?.(chunk, name);
    });
  // It may end before it has read all of its input.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.stdin ?? '');
  const ending = endOnDemand(child, options, { first: () => status?.first(), kill: start.kill });
  try {
    const [code, signal] = await end;
    return {
      code,
      signal,
      output: kept.text(),
      truncated: kept.truncated,
      ended: ending.cause(),
      wasSetUp: status === null ? null : status.wasSetUp(),
    };
  } finally {
    ending.dispose();
  }
}

async function endOf(
  child: ChildProcess,
  arrived: () => number,
): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    let drain: NodeJS.Timeout | undefined;
    child.once('error', reject);
    child.once('exit', () => {
      if (child.stdio.length > 3) return;
      killGroup(child.pid, 'SIGKILL');
      drain = whenQuiet(arrived, () => child.stdio.forEach((stream) => stream?.destroy()));
    });
    child.once('close', (code, signal) => {
      clearInterval(drain);
      resolve([code, signal]);
    });
  });
}

/**
 * Of a sandbox nothing is left when it has ended. A bare process may have left one in a group of its own, which holds its
 * pipes: then they are given up, but not while anything still comes, nor because we ourselves were slow to look.
 */
function whenQuiet(arrived: () => number, giveUp: () => void): NodeJS.Timeout {
  let [before, quiet] = [arrived(), 0];
  return setInterval(() => {
    quiet = arrived() === before ? quiet + 1 : 0;
    before = arrived();
    if (quiet === 2) giveUp();
  }, DRAIN_MS);
}

interface Ways {
  readonly first: () => number | undefined;
  readonly kill: ((pid: number) => void) | undefined;
}

/** `first` is the first process of the sandbox, which has the command's group and is itself deaf to TERM. */
function endOnDemand(child: ChildProcess, options: RunOptions, { first, kill: killAll }: Ways) {
  let cause: 'timeout' | 'abort' | null = null;
  let grace: NodeJS.Timeout | undefined;
  const killGroups = (): void => {
    killGroup(first(), 'SIGKILL');
    killGroup(child.pid, 'SIGKILL');
  };
  const kill = (): void => {
    if (killAll === undefined || child.pid === undefined) return killGroups();
    killAll(child.pid);
    killGroup(first(), 'SIGKILL');
    // One that does not do what it is there for.
    grace = setTimeout(killGroups, KEEPER_MS);
  };
  const end = (why: 'timeout' | 'abort'): void => {
    if (cause !== null || child.exitCode !== null || child.signalCode !== null) return;
    cause = why;
    // Before the sandbox stands there is nobody to ask in it.
    const group = child.stdio.length > 3 ? first() : child.pid;
    if (group === undefined) return kill();
    killGroup(group, 'SIGTERM');
    grace = setTimeout(kill, options.graceMs ?? GRACE_MS);
  };
  const onAbort = (): void => end('abort');
  const timeout =
    options.timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), options.timeoutMs);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted) end('abort');
  return {
    cause: () => cause,
    dispose: (): void => {
      clearTimeout(timeout);
      clearTimeout(grace);
      options.signal?.removeEventListener('abort', onAbort);
    },
  };
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Gone already.
  }
}

/** Bubblewrap's own word: `{ "child-pid": n … }` when it has one, `{ "exit-code": n }` only if the command was started. */
function readStatus(child: ChildProcess): { first: () => number | undefined; wasSetUp: () => boolean } {
  let text = '';
  const stream = child.stdio[3] as Readable;
  stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  stream.on('error', () => undefined);
  return {
    first: () => {
      const digits = /"child-pid": (\d+)/.exec(text)?.[1];
      return digits === undefined ? undefined : Number(digits);
    },
    wasSetUp: () => text.includes('"exit-code"'),
  };
}

/** The beginning and the end of an output of any length, in memory that does not grow with it. */
class KeptOutput {
  readonly #half: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #left = 0;

  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }

  /** All that came, kept or not. */
  get bytes(): number {
    return this.#headBytes + this.#tailBytes + this.#left;
  }

  get truncated(): boolean {
    return this.#left > 0;
  }

  add(chunk: Buffer): void {
    const room = this.#half - this.#headBytes;
    const first = chunk.subarray(0, room);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    if (chunk.length > room) this.#addTail(chunk.subarray(room));
  }

  #addTail(chunk: Buffer): void {
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    // Joined now and then, so that neither many small chunks nor old bytes are held for long.
    if (this.#tailBytes <= 2 * this.#half && this.#tail.length < 1_024) return;
    this.#trim();
  }

  #trim(): void {
    const all = Buffer.concat(this.#tail);
    const kept = Buffer.from(all.subarray(Math.max(0, all.length - this.#half)));
    this.#left += all.length - kept.length;
    this.#tail = [kept];
    this.#tailBytes = kept.length;
  }

  text(): string {
    this.#trim();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#left === 0) return Buffer.concat([head, tail]).toString('utf8');
    return `${head.toString('utf8')}\n… ${this.#left} bytes left out …\n${tail.toString('utf8')}`;
  }
}
