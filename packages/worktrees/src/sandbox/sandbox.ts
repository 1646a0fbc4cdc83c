import { homedir, tmpdir } from 'node:os';
import { ReveilleError } from '@reveille/protocol';
import type { Confinement } from './confinement.ts';
import { Doors } from './doors.ts';
import { Groups, endRecorded, findGroups } from './cgroup.ts';
import { held, type Wrapped } from './holding.ts';
import { findKeeper, type Keeper } from './keeper.ts';
import { findSandbox, type Bubblewrap, type Found, type Probe } from './probe.ts';
import { runProcess, type Finished, type Ran, type RunOptions } from './process.ts';
import type { Resolve } from './proxy.ts';
import { RunTotals, totalsOf, type Measure } from './totals.ts';
import { leaveBare, wrapInBubblewrap, wrapInSeatbelt, type Launch, type Surroundings } from './wrap.ts';

export interface SandboxOptions {
  /** What to do where there is none: refuse to run anything, say so once and go on, or never use one. */
  readonly setting: 'require' | 'warn' | 'off';
  readonly warn: (text: string) => void;
  /** The person's home, which is hidden. */
  readonly home?: string;
  /** Reveille's own folders, which no sandbox is given anything of but what it is lent. */
  readonly own?: readonly string[];
  /** Our own environment, of which little is passed on. Its path is where bubblewrap is looked for. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where the folder of the doors' sockets is made. Short: a socket's path has at most 107 bytes. */
  readonly runtimeFolder?: string;
  /** How much the processes of a run take; without it nothing is bounded in sum but what control groups bound. */
  readonly measure?: Measure;
  /** A folder in which control groups are on record, so that a later life ends what this one leaves in them. */
  readonly groupRecords?: string;
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
  if (options.groupRecords !== undefined) await endRecorded(options.groupRecords);
  return new Sandbox(found, { ...options, env }, await holdsOf(found, options));
}

/** How what is started is held together: by the sandbox itself, a keeper, control groups. */
interface Holds {
  readonly keeper: Keeper | null;
  readonly groups: Groups | null;
}

const NOTHING_HELD: Holds = { keeper: null, groups: null };

/** A sandbox ends what is in it by itself: there a control group is of use only if it bounds something. */
async function holdsOf({ kind }: Found, { groupRecords }: SandboxOptions): Promise<Holds> {
  const keeper = kind === 'none' ? await findKeeper() : null;
  const place = findGroups();
  const isUsed = place !== null && (kind === 'none' || place.limits);
  return { keeper, groups: isUsed ? new Groups(place, groupRecords ?? null) : null };
}

const OFF: Found = { kind: 'none', version: null, why: 'The setting switches it off.', bubblewrap: null };

const missing = (why: string): ReveilleError =>
  new ReveilleError('sandbox_missing', `The setting requires a sandbox. ${why}`, { data: { why } });

async function runHeld(
  start: Wrapped & { readonly status: boolean },
  options: RunOptions,
): Promise<Finished> {
  try {
    return await runProcess(start, options);
  } finally {
    await start.dispose();
  }
}

export class Sandbox implements AsyncDisposable {
  readonly kind: Probe['kind'];
  readonly #bubblewrap: Bubblewrap | null;
  readonly #env: NodeJS.ProcessEnv;
  readonly #home: string;
  readonly #own: readonly string[];
  readonly #doors: Doors;
  readonly #keeper: Keeper | null;
  readonly #groups: Groups | null;
  readonly #runs: RunTotals | null;

  constructor(found: Found, options: SandboxOptions, { keeper, groups }: Holds = NOTHING_HELD) {
    this.#keeper = keeper;
    this.#groups = groups;
    this.#runs = options.measure ? new RunTotals(options.measure) : null;
    this.kind = found.kind;
    this.#bubblewrap = found.bubblewrap;
    this.#env = options.env ?? process.env;
    this.#home = options.home ?? homedir();
    this.#own = options.own ?? [];
    this.#doors = new Doors(options.runtimeFolder ?? tmpdir(), options.resolve);
  }

  /**
   * For a whole agent: whoever starts it speaks with it, says so with `started`, and kills it with `kill`, which kills all
   * of it.
   */
  async wrap(command: readonly string[], confinement: Confinement): Promise<Wrapped> {
    return await this.#wrap(command, confinement, false);
  }

  async #wrap(command: readonly string[], confinement: Confinement, status: boolean): Promise<Wrapped> {
    if (command.length === 0) throw new ReveilleError('invalid_input', 'There is no command to run.');
    const totals = totalsOf(confinement.totals);
    const { path } = confinement.checkout;
    const run = confinement.countsWith ?? path;
    const folders = [path, confinement.tmp, confinement.env?.['HOME']].filter(
      (folder) => folder !== undefined,
    );
    const [keeper, doors, own] = [this.#keeper, this.#doors, this.#own];
    const around = { confinement, env: this.#env, home: this.#home, own, doors, status, keeper, totals };
    const launch = await this.#launch(command, around);
    const member = this.#groups?.enter(run, totals) ?? null;
    return held(launch, { runs: this.#runs, member, totals, run, folders });
  }

  async #launch(command: readonly string[], around: Surroundings): Promise<Launch> {
    if (this.#bubblewrap !== null) return wrapInBubblewrap(command, this.#bubblewrap, around);
    return this.kind === 'seatbelt' ? wrapInSeatbelt(command, around) : leaveBare(command, around);
  }

  /** For a command: runs it to its end. A string is for the shell inside. */
  async run(
    command: string | readonly string[],
    confinement: Confinement,
    options: RunOptions = {},
  ): Promise<Ran> {
    options.signal?.throwIfAborted();
    const argv = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
    const status = this.#bubblewrap !== null;
    const wrapped = await this.#wrap(argv, confinement, status);
    const { wasSetUp, ...ran } = await runHeld({ ...wrapped, status }, options);
    if (wasSetUp === false && ran.ended === null && wrapped.overrun() === null)
      throw new ReveilleError('sandbox_missing', `The sandbox could not be set up: ${ran.output.trim()}`);
    const why = wrapped.overrun();
    if (why === null) return ran;
    const note = `\nreveille: this command was ended because ${why}.\n`;
    options.onOutput?.(Buffer.from(note), 'stderr');
    return { ...ran, output: `${ran.output}${note}`, ended: ran.ended ?? 'limit' };
  }

  /** Shuts the doors that are still open. */
  async close(): Promise<void> {
    await this.#doors.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
