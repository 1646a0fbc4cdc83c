import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../creation/failures.ts';
import type { HomeRepository } from './home.ts';

/** Larger ones are told apart by their stats. */
const HASHED_BYTES = 1024 * 1024;
const DEEPEST = 6;

/**
 * Everything in a git directory that decides what git runs, ignores, or takes for an object; path → what it holds. Of
 * linked worktrees only what says where they belong, and of submodules what could run something.
 */
export function readSettings(repository: HomeRepository): Record<string, string> {
  const { gitDir, headDir = gitDir } = repository;
  const found: Record<string, string> = {};
  for (const name of [
    'config',
    'config.worktree',
    'hooks',
    // Not all of it: `info/refs` is written by gc.
    'info/attributes',
    'info/exclude',
    'info/grafts',
    'info/sparse-checkout',
    'objects/info/alternates',
    'shallow',
    'commondir',
  ])
    collect(join(gitDir, name), `.git/${name}`, found);
  for (const name of ['HEAD', 'config.worktree', 'commondir', 'gitdir'])
    collect(join(headDir, name), `HEAD:${name}`, found);
  for (const name of namesIn(join(gitDir, 'modules')))
    for (const file of ['config', 'hooks', 'info'])
      collect(join(gitDir, 'modules', name, file), `.git/modules/${name}/${file}`, found);
  return found;
}

function collect(path: string, name: string, found: Record<string, string>, depth = 0): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return;
  if (stats.isDirectory()) {
    if (depth > DEEPEST) return;
    for (const entry of namesIn(path)) collect(join(path, entry), `${name}/${entry}`, found, depth + 1);
    return;
  }
  found[name] = printOf(path, stats);
}

function printOf(
  path: string,
  stats: { isSymbolicLink(): boolean; isFile(): boolean; size: number; mode: number },
): string {
  if (stats.isSymbolicLink()) return `link ${readlinkSync(path)}`;
  if (!stats.isFile()) return `special ${stats.mode}`;
  if (stats.size > HASHED_BYTES) {
    const { mtimeNs, ctimeNs, ino } = lstatSync(path, { bigint: true });
    return `large ${stats.size} ${ino} ${mtimeNs} ${ctimeNs}`;
  }
  // Whether it may be run decides whether a hook counts.
  return `${stats.mode & 0o111} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}
