import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReveilleError } from '@reveille/protocol';
import { EXIT } from '../exit-codes.ts';
import { openPlace, type Place } from '../place/folder.ts';
import { jsonOf } from '../place/private-file.ts';
import { PROGRAM } from '../program.ts';
import { settingArguments } from '../start-arguments.ts';
import { StartFailure } from '../start-failure.ts';
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

/**
 * The daemon that runs, or a new one. Several may do this at once: of the processes they start one gets the guard, the
 * others end, and everybody finds the one. One that was just ending may still hold it, so losing is no
 * reason to give up.
 */
export async function findOrStart(options: StartOptions): Promise<Found> {
  openPlace(options.place);
  let pause: number = AGAIN.firstMs;
  for (;;) {
    const found = await findDaemon(options.place, options.deadline);
    if (found) return found;
    const started = await start(options);
    if (started) return started;
    if (performance.now() >= options.deadline) throw held(options.place);
    await sleep(pause);
    pause = Math.min(AGAIN.longestMs, pause * 2);
  }
}

/** Starts a process and waits until some daemon answers. Null: it was not needed, or came too early. */
async function start(options: StartOptions): Promise<Found | null> {
  const { place, deadline } = options;
  const child = launch(options);
  try {
    for (;;) {
      const found = await findDaemon(place, deadline);
      if (found) return found;
      const ended = child.ended();
      if (ended?.how === EXIT.held) return null;
      if (ended)
        throw unreachable(place, `The daemon cannot start. ${ended.why ?? unsaid(place, ended.how)}`);
      if (performance.now() >= deadline)
        throw unreachable(place, `The daemon did not answer in time. ${place.log} says what it does.`);
      await sleep(LOOK_MS);
    }
  } finally {
    child.letGo();
  }
}

interface Ended {
  /** The exit code, the signal, or the error of the start. */
  readonly how: number | string;
  /** What the process said about it; null: nothing. */
  readonly why: string | null;
}

interface Launched {
  /** Null while it lives. */
  ended(): Ended | null;
  /** Whoever waits for it may end before it. */
  letGo(): void;
}

/** The descriptor on which a start that fails says why. */
const FAILURES = 3;

/** In a session of its own: it outlives the terminal, and a Ctrl-C there is not meant for it. */
function launch({ place, env, flags }: StartOptions): Launched {
  const output = startLog(place);
  try {
    const failures = ['--failures-to', String(FAILURES)];
    const child = spawn(
      process.execPath,
      [...PROGRAM, ...failures, ...settingArguments({ settings: flags })],
      {
        cwd: place.home,
        env: ownEnvironment(env),
        detached: true,
        stdio: ['ignore', output, output, 'pipe'],
      },
    );
    let ended: Ended | null = null;
    let said = '';
    child.once('error', ({ message }) => (ended = { how: message, why: null }));
    child.once('close', (code, signal) => (ended ??= { how: signal ?? code ?? 0, why: wordsOf(said) }));
    const pipe = child.stdio[FAILURES];
    pipe?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    pipe?.on('error', () => undefined);
    return {
      ended: () => ended,
      letGo() {
        child.unref();
        pipe?.destroy();
      },
    };
  } finally {
    if (typeof output === 'number') closeSync(output);
  }
}

/** A disk without room for it is told by the daemon itself. */
function startLog({ startLog }: Place): number | 'ignore' {
  try {
    return openSync(startLog, 'a', 0o600);
  } catch {
    return 'ignore';
  }
}

/** What is meant for the process that starts it would change what it does. */
function ownEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_CHANNEL_FD: _channel, ...rest } = env;
  return rest;
}

function wordsOf(said: string): string | null {
  const parsed = StartFailure.safeParse(jsonOf(said));
  return parsed.success ? parsed.data.words : null;
}

/** It ended before it could say anything: killed, or because Node itself could not go on. */
const unsaid = ({ startLog }: Place, how: number | string): string =>
  `Its process ended at once (${typeof how === 'number' ? `exit code ${how}` : how}); ${startLog} has what it printed. \`reveille doctor\` looks for the cause.`;

const held = (place: Place): ReveilleError =>
  unreachable(
    place,
    `Another daemon holds ${place.home} but does not answer. End it: \`reveille daemon stop\`.`,
  );

const unreachable = ({ log }: Place, words: string): ReveilleError =>
  new ReveilleError('unreachable', words, { data: { log, carriedOut: 'no' } });
