import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { processIdentity } from '@reveille/daemon/connect';
import { z } from 'zod';

/** A process, so that another one that gets its number later is not taken for it. */
export const Kin = z.object({ pid: z.number().int(), identity: z.string() });
export type Kin = z.infer<typeof Kin>;

/** More than any shell in a shell in a terminal has. */
const MOST = 64;
/** What stands between a chat and the program it starts, and ends with it. */
const WRAPPERS = new Set(['sh', 'bash', 'dash', 'ash', 'zsh', 'fish', 'ksh', 'busybox', 'env', 'npm', 'npx']);

/** This process and all it descends from, nearest first. */
export function lineage(): Kin[] {
  const kin: Kin[] = [];
  for (let pid = process.pid; pid > 1 && kin.length < MOST; pid = parentOf(pid)) {
    const identity = processIdentity(pid);
    if (identity === null) break;
    kin.push({ pid, identity });
  }
  return kin;
}

/** Who started this program: its parent, or beyond the shell or the npx that it started it by. */
export function starter(): Kin | null {
  const [, ...forebears] = lineage();
  return forebears.find(({ pid }) => !isWrapper(commandOf(pid))) ?? null;
}

export const isAlive = ({ pid, identity }: Kin): boolean => processIdentity(pid) === identity;

/** npx is a Node that calls itself `npm exec …`. */
export function isWrapper(command: string): boolean {
  const [program = ''] = command.trim().split(/\s+/, 1);
  return WRAPPERS.has(basename(program).replace(/^-/, ''));
}

function parentOf(pid: number): number {
  if (process.platform !== 'linux') return Number(ps(pid, 'ppid=')) || 0;
  const stat = read(`/proc/${pid}/stat`);
  // The name in parentheses may hold anything: what follows the last one is regular.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) || 0;
}

function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'args=');
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it has ended meanwhile
  }
}

function ps(pid: number, what: string): string {
  try {
    const args = ['-ww', '-o', what, '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}
