// Counts what a process does to its disk, and kills it at the nth of these acts. For processes of tests only: importing it
// replaces functions of Node.
import child from 'node:child_process';
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

type Call = (...args: unknown[]) => unknown;

/** What changes a disk, also below a name with `Sync` at its end. */
const CHANGES = [
  'appendFile',
  'chmod',
  'copyFile',
  'cp',
  'link',
  'mkdir',
  'mkdtemp',
  'rename',
  'rm',
  'rmdir',
  'symlink',
  'truncate',
  'unlink',
  'utimes',
  'writeFile',
];
/** The same of an open file. */
const CHANGES_OF_FILES = ['appendFile', 'chmod', 'truncate', 'utimes', 'write', 'writeFile', 'writev'];
/** How long a git that is killed with us has had at most. */
const LONGEST_MS = 12;

/** `self`: what it started lives on for a moment, as after a kill of the daemon. `group`: all of it ends. */
export type Victims = 'self' | 'group';

export interface KillWish {
  /** Which of the acts is not made any more, from 1; 0: none. */
  readonly at: number;
  readonly victims: Victims;
  /** Only acts of such a name count. */
  readonly named: RegExp;
  /** Told of each act that counts, before it is made. */
  readonly note: (name: string, isLast: boolean) => void;
}

let wish: KillWish | null = null;
let made = 0;

/** From now on; what came before counts as the way to the operation. */
export function beginCounting(given: KillWish): void {
  wish = given;
}

export function endCounting(): void {
  wish = null;
}

function reach(name: string): void {
  if (!wish?.named.test(name)) return;
  made += 1;
  wish.note(name, made === wish.at);
  if (made !== wish.at) return;
  // A git that was just started is to die in the middle of its work, wherever that is.
  if (wish.victims === 'group') pause(made % LONGEST_MS);
  process.kill(wish.victims === 'group' ? 0 : process.pid, 'SIGKILL');
  pause(60_000);
}

const pause = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Replaces a function by one that reports first, and if wanted afterwards, what it is called for. */
function replace(
  target: object,
  name: string,
  say: (args: readonly unknown[]) => readonly [string, string?] | null,
): void {
  const found: unknown = Reflect.get(target, name);
  if (typeof found !== 'function') return;
  const original = found as Call;
  Reflect.set(target, name, function act(this: unknown, ...args: unknown[]): unknown {
    const said = say(args);
    if (said) reach(said[0]);
    const answer = original.apply(this, args);
    if (said?.[1] !== undefined) reach(said[1]);
    return answer;
  });
}

const lastOf = (path: unknown): string => String(path).split('/').slice(-2).join('/');

/** Reading alone changes nothing. */
function opening(args: readonly unknown[]): readonly [string] | null {
  const flags = args[1] ?? 'r';
  const isWrite =
    typeof flags === 'number'
      ? (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0
      : flags !== 'r';
  return isWrite ? [`open ${lastOf(args[0])}`] : null;
}

for (const name of CHANGES) {
  replace(promises, name, (args) => [`${name} ${lastOf(args[0])}`]);
  replace(fs, name, (args) => [`${name} ${lastOf(args[0])}`]);
  replace(fs, `${name}Sync`, (args) => [`${name}Sync ${lastOf(args[0])}`]);
}
replace(fs, 'openSync', opening);
replace(promises, 'open', opening);
replace(fs, 'ftruncateSync', () => ['ftruncateSync']);
replace(fs, 'writeSync', (args) => (Number(args[0]) > 2 ? ['writeSync'] : null));
const some = await promises.open('/dev/null');
const files: unknown = Object.getPrototypeOf(some);
await some.close();
if (typeof files === 'object' && files)
  for (const name of CHANGES_OF_FILES) replace(files, name, () => [`${name} to a file`]);

/** A program may change more than we see: it is killed before it begins, and while it is at work. */
const starting = (args: readonly unknown[]): readonly [string, string] => {
  const words = Array.isArray(args[1]) ? args[1].map(String) : [];
  const verb = words.find((word, i) => !word.startsWith('-') && words[i - 1] !== '-c') ?? '';
  return [`start ${lastOf(args[0])} ${verb}`, `during ${lastOf(args[0])} ${verb}`];
};
for (const name of ['spawn', 'spawnSync', 'execFileSync']) replace(child, name, starting);
const sql = (text: unknown): readonly [string] | null =>
  /^\s*(?:select|pragma)/i.test(String(text)) ? null : [`sql ${String(text).trim().slice(0, 30)}`];
replace(DatabaseSync.prototype, 'exec', (args) => sql(args[0]));
syncBuiltinESMExports();
