import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ReveilleError } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { readJson, writeWhole } from './files.ts';
import { LOCK_FILES, type Setup } from './settings.ts';

/** Runs a command in a checkout, in a sandbox where there is one. Handed in: this room's creation starts no program but git. */
export type SetupRunner = (
  command: string,
  options: {
    readonly checkout: Checkout;
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
    readonly onOutput: (text: string) => void;
  },
) => Promise<{ readonly code: number }>;

export interface SettingUp {
  readonly setup: Setup;
  readonly run: SetupRunner;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly onOutput?: ((text: string) => void) | undefined;
}

const TAIL_CHARACTERS = 4_000;
const LARGEST_LOCK_FILE = 64 * 1024 * 1024;
const doneFile = (room: string): string => join(room, 'setup.json');

/**
 * Makes a checkout ready: runs the set-up command, unless it has passed here before with the same lock files. Answers
 * whether it ran.
 */
export async function setUpCheckout(checkout: Checkout, settingUp: SettingUp): Promise<boolean> {
  const key = await keyOf(checkout.path, settingUp.setup);
  if ((await doneKey(checkout.room)) === key) return false;
  await runSetup(checkout, settingUp);
  // The command may have changed a lock file: what it leaves is what it would be run for again.
  await rememberSetup(checkout.room, await keyOf(checkout.path, settingUp.setup));
  return true;
}

const logFile = (room: string): string => join(room, 'setup.log');
const [LOG_CHARACTERS, SHOWN_CHARACTERS] = [1_000_000, 500];

/** Sets up a checkout that is being made, keeps what was printed in its room, and answers with what its agent should know. */
export async function setUpAndTell(checkout: Checkout, settingUp: SettingUp): Promise<string[]> {
  let printed = '';
  const onOutput = (text: string): void => {
    printed = (printed + text).slice(-LOG_CHARACTERS);
    settingUp.onOutput?.(text);
  };
  if (!(await setUpCheckout(checkout, { ...settingUp, onOutput }))) return [];
  await writeFile(logFile(checkout.room), printed);
  const passed = `The set-up command ${JSON.stringify(settingUp.setup.command)} has passed.`;
  const end = stripVTControlCharacters(printed).trim().slice(-SHOWN_CHARACTERS);
  return [end === '' ? passed : `${passed} It ended with:\n${end}`];
}

/** One that fails is an error with the end of what it printed. */
export async function runSetup(checkout: Checkout, settingUp: SettingUp): Promise<void> {
  let tail = '';
  const { code } = await settingUp.run(settingUp.setup.command, {
    checkout,
    cwd: checkout.path,
    env: settingUp.environment,
    signal: settingUp.signal ?? new AbortController().signal,
    onOutput: (text) => {
      tail = (tail + text).slice(-TAIL_CHARACTERS);
      settingUp.onOutput?.(text);
    },
  });
  settingUp.signal?.throwIfAborted();
  if (code !== 0) throw failed(settingUp.setup.command, code, tail);
}

export const rememberSetup = async (room: string, key: string): Promise<void> =>
  await writeWhole(doneFile(room), JSON.stringify({ key }));

async function doneKey(room: string): Promise<string | null> {
  const value = await readJson(doneFile(room));
  return value !== null && typeof value === 'object' && 'key' in value ? String(value.key) : null;
}

/** The command and the content of every lock file. */
export async function keyOf(tree: string, setup: Setup): Promise<string> {
  const hash = createHash('sha256').update(setup.command);
  const paths = setup.lockFiles.length > 0 ? setup.lockFiles : LOCK_FILES;
  for (const path of paths) hash.update(`\0${path}\0`).update(await contentHash(join(tree, path)));
  return hash.digest('hex');
}

/** Read without following a link or waiting for a pipe: an agent may have put one there. */
async function contentHash(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  if (!handle) return 'none';
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > LARGEST_LOCK_FILE) return `${found.size} ${found.mtimeMs}`;
    return createHash('sha256')
      .update(await handle.readFile())
      .digest('hex');
  } finally {
    await handle.close();
  }
}

const failed = (command: string, code: number, tail: string): ReveilleError =>
  new ReveilleError(
    'workspace_failed',
    `The set-up command ${JSON.stringify(command)} ended with ${code}. It ended with:\n${tail.trimEnd()}`,
    { data: { reason: 'setup', command, code, output: tail } },
  );
