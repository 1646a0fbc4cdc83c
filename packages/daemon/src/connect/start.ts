import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReveilleError } from '@reveille/protocol';
import { EXIT } from '../exit-codes.ts';
import { openPlace, type Place } from '../place/folder.ts';
import { PROGRAM } from '../program.ts';
import { findDaemon, type Found } from './find.ts';

export interface StartOptions {
  readonly place: Place;
  readonly env: NodeJS.ProcessEnv;
  /** Given to the daemon, if one has to be started: `{ 'engine.concurrency': '4' }`. */
  readonly flags: Readonly<Record<string, string>>;
  readonly deadline: number;
}

const LOOK_MS = 20;
const AGAIN = { firstMs: 100, longestMs: 1_000 } as const;
const SHOWN_LINES = 15;

/**
 * The daemon that runs, or a new one. Several may do this at once: of the processes they start one gets the guard, the
 * others end, and everybody finds the one. One that was just ending may still hold it, so losing is no
 * reason to give up.
 */
export async function findOrStart(options: StartOptions): Promise<Found> {
  openPlace(options.place);
  const said = new Said(options.place);
  let pause: number = AGAIN.firstMs;
  for (;;) {
    const found = await findDaemon(options.place, options.deadline);
    if (found) return found;
    const started = await start(options, said);
    if (started) return started;
    if (performance.now() >= options.deadline) throw said.unreachable(HELD);
    await sleep(pause);
    pause = Math.min(AGAIN.longestMs, pause * 2);
  }
}

const HELD = 'Another daemon holds the place but does not answer.';

/** Starts a process and waits until some daemon answers. Null: it was not needed, or came too early. */
async function start(options: StartOptions, said: Said): Promise<Found | null> {
  const { place, deadline } = options;
  const child = launch(options);
  try {
    for (;;) {
      const found = await findDaemon(place, deadline);
      if (found) return found;
      const ended = child.ended();
      if (ended === EXIT.held) return null;
      if (ended !== null) throw said.unreachable(`The daemon ended at once (${ended}).`);
      if (performance.now() >= deadline) throw said.unreachable('The daemon did not answer in time.');
      await sleep(LOOK_MS);
    }
  } finally {
    child.letGo();
  }
}

interface Launched {
  /** The exit code or the signal; null while it lives. */
  ended(): number | string | null;
  /** Whoever waits for it may end before it. */
  letGo(): void;
}

/** In a session of its own: it outlives the terminal, and a Ctrl-C there is not meant for it. */
function launch({ place, env, flags }: StartOptions): Launched {
  const output = openSync(place.startLog, 'a', 0o600);
  try {
    const settings = Object.entries(flags).flatMap(([path, value]) => ['--set', `${path}=${value}`]);
    const child = spawn(process.execPath, [...PROGRAM, ...settings], {
      cwd: place.home,
      env: ownEnvironment(env),
      detached: true,
      stdio: ['ignore', output, output],
    });
    let failure: string | null = null;
    child.once('error', (error) => (failure = error.message));
    return {
      ended: () => failure ?? child.signalCode ?? child.exitCode,
      letGo: () => child.unref(),
    };
  } finally {
    closeSync(output);
  }
}

/** What is meant for the process that starts it would change what it does. */
function ownEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_CHANNEL_FD: _channel, ...rest } = env;
  return rest;
}

/** What the daemon said since a moment, for whoever waits for it in vain. */
class Said {
  readonly #files: readonly { path: string; from: number }[];
  readonly #log: string;

  constructor({ startLog, log }: Place) {
    this.#log = log;
    this.#files = [startLog, log].map((path) => ({ path, from: sizeOf(path) }));
  }

  unreachable(why: string): ReveilleError {
    const lines = this.#files.flatMap(({ path, from }) => linesSince(path, from)).slice(-SHOWN_LINES);
    const shown = lines.length > 0 ? `\nThe last it said (${this.#log}):\n${lines.join('\n')}` : '';
    return new ReveilleError('unreachable', `${why}${shown}`, {
      data: { log: this.#log, carriedOut: 'no' },
    });
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function linesSince(path: string, from: number): string[] {
  try {
    const bytes = readFileSync(path);
    // A file that became shorter was begun anew.
    const text = bytes.subarray(bytes.length < from ? 0 : from).toString();
    return text.split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
