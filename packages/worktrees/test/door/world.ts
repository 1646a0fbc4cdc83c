import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isReveilleError, type ErrorCode } from '@reveille/protocol';
import { openDoor, type DoorOptions, type FileDoor } from '../../src/door/door.ts';

export const SECRET = 'the secret of somebody else';

export interface World extends Disposable {
  /** Holds everything below. */
  readonly base: string;
  /** The worktree, at `<base>/wt`. */
  readonly root: string;
  /** `<base>/outside`, and beside it `<base>/wt-evil`, whose name begins like the worktree's. */
  readonly outside: string;
  readonly door: FileDoor;
  /** All of `base` but the worktree, as it is now: names, kinds, modes, times, content. */
  canary(): string[];
  /** What is in the worktree, by path; links as `-> text`. */
  tree(): Record<string, string>;
}

/** Where files live in memory, if anywhere: on a busy disk a world costs 80 ms, there 3. */
const FAST = isWritable('/dev/shm') ? '/dev/shm' : tmpdir();

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A worktree with every kind of trap in it, and something to lose around it. */
export function makeWorld(options: Partial<DoorOptions> = {}, parent: string = FAST): World {
  const base = realpathSync(mkdtempSync(join(parent, 'reveille-door-')));
  const [root, outside, evil] = ['wt', 'outside', 'wt-evil'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [outside, evil]) {
    mkdirSync(join(folder, 'sub'), { recursive: true });
    for (const file of ['secret.txt', 'a.txt', 'sub/b.txt', 'shared.txt'])
      writeFileSync(join(folder, file), SECRET);
  }
  writeTree(root);
  writeLinks(root, outside);
  const door = openDoor(root, { access: 'write', ...options });
  return {
    base,
    root,
    outside,
    door,
    canary: () => [...describe(outside), ...describe(evil), ...readdirSync(base).sort()],
    tree: () => contents(root),
    [Symbol.dispose]: () => {
      door.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** A program of every Unix; Node has no call for it. */
const PIPE_MAKER = 'mkfifo';

export function makePipe(path: string): void {
  execFileSync(PIPE_MAKER, [path]);
}

const FILES: Record<string, string> = {
  'src/a.txt': 'a',
  'src/deep/b.txt': 'b',
  'src/deep/er/c.txt': 'c',
  'README.md': 'read me',
  '.gitignore': 'node_modules',
  '.git/config': '[core]',
  '.git/hooks/pre-commit': '#!/bin/sh',
  'nested/.git/config': '[core]',
  'nested/code.txt': 'nested',
  'module/.git': 'gitdir: ../.git/modules/module',
  'node_modules/pkg/index.js': 'module.exports = 1',
  '.vscode/settings.json': '{}',
};

function writeTree(root: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function writeLinks(root: string, outside: string): void {
  const links: Record<string, string> = {
    'in-dir': 'src',
    'in-file': 'src/a.txt',
    'in-abs': join(root, 'src'),
    'in-up': 'src/deep/../a.txt',
    'in-round': 'src/round/../a.txt',
    'src/round': 'deep/er',
    'src/to-root': '..',
    'in-new': 'src/new.txt',
    'out-dir': '../outside',
    'out-file': '../outside/secret.txt',
    'out-abs': outside,
    'out-evil': '../wt-evil',
    'out-new': '../outside/new.txt',
    'out-chain': 'chain/one',
    'chain/one': 'two',
    'chain/two': '../out-dir',
    'out-proc': '/proc/self/cwd',
    'out-round': '../wt/src',
    'to-git': '.git',
    'to-config': '.git/config',
    'to-modules': 'node_modules',
    'to-settings': '.vscode/settings.json',
    'loop-a': 'loop-b',
    'loop-b': 'loop-a',
  };
  mkdirSync(join(root, 'chain'));
  for (const [path, text] of Object.entries(links)) symlinkSync(text, join(root, path));
  linkSync(join(outside, 'shared.txt'), join(root, 'hard.txt'));
}

/** Paths beneath a folder. Node's own recursive listing follows links. */
function namesBeneath(folder: string, above = ''): string[] {
  return readdirSync(join(folder, above), { withFileTypes: true })
    .map((entry) => ({ path: join(above, entry.name), inside: entry.isDirectory() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap(({ path, inside }) => (inside ? [path, ...namesBeneath(folder, path)] : [path]));
}

function describe(folder: string): string[] {
  return namesBeneath(folder).map((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path, { bigint: true });
    const content = stats.isFile() ? readFileSync(path, 'utf8') : '';
    return [path, stats.mode, stats.ino, stats.mtimeNs, content].join(' ');
  });
}

function contents(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of namesBeneath(root)) {
    const stats = lstatSync(join(root, name));
    if (stats.isSymbolicLink()) found[name] = `-> ${readlinkSync(join(root, name))}`;
    else if (stats.isFile()) found[name] = readFileSync(join(root, name), 'utf8');
    else found[name] = stats.isDirectory() ? '/' : '?';
  }
  return found;
}

/** How a call ended: `ok`, or its error code with the rule that refused. Any other error fails the test. */
export async function outcome(call: Promise<unknown>): Promise<'ok' | ErrorCode | `not_allowed ${string}`> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (!isReveilleError(error)) throw error;
    return error.code === 'not_allowed' && typeof error.data['rule'] === 'string'
      ? `not_allowed ${error.data['rule']}`
      : error.code;
  }
}

/** Everything a door can be asked about one path. */
export const EVERY_CALL: Record<string, (door: FileDoor, path: string) => Promise<unknown>> = {
  read: (door, path) => door.readFile(path),
  stat: (door, path) => door.stat(path),
  list: (door, path) => door.listDirectory(path),
  walk: (door, path) => Array.fromAsync(door.walk(path)),
  write: (door, path) => door.writeFile(path, 'written'),
  create: (door, path) => door.writeFile(path, 'written', { exclusive: true }),
  makeDirectory: (door, path) => door.makeDirectory(path),
  moveTo: (door, path) => door.move('README.md', path),
  moveFrom: (door, path) => door.move(path, 'moved.txt'),
  delete: (door, path) => door.deleteFile(path),
};

export async function outcomes(door: FileDoor, path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, call] of Object.entries(EVERY_CALL)) found[name] = await outcome(call(door, path));
  return found;
}

/** That every call ended in the same way, as an answer of `outcomes`. */
export const all = (end: string): Record<string, string> =>
  Object.fromEntries(Object.keys(EVERY_CALL).map((name) => [name, end]));
