import { isAbsolute, join, relative, sep } from 'node:path';
import type { Problem } from './definition.ts';
import { isInside, problem, readText, realPath } from './folder.ts';

/** Words of a repository to whoever works in it. */
export interface InstructionFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

export interface Instructions {
  /** The root's first, then those of nearer folders: the nearest has the last word. */
  readonly files: readonly InstructionFile[];
  readonly problems: readonly Problem[];
}

const NAMES = ['AGENTS.md', 'CLAUDE.md'] as const;
const MOST = { bytes: 64 * 1024, total: 256 * 1024, folders: 200 } as const;

/** `AGENTS.md` and `CLAUDE.md` of the root and of every folder on the way to the given files. */
export function findInstructions(repository: string | undefined, near: readonly string[]): Instructions {
  const files: InstructionFile[] = [];
  const problems: Problem[] = [];
  const root = repository === undefined ? null : realPath(repository);
  if (repository === undefined || root === null) return { files, problems };
  const seen = new Set<string>();
  let room: number = MOST.total;
  for (const folder of foldersOf(repository, near)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      const found = read(join(repository, path), root);
      if (found === null) continue;
      if (typeof found !== 'string') {
        problems.push(found);
        continue;
      }
      const text = found.trim();
      // One of the two is often a link to the other, a copy of it, or the one line that refers to it.
      if (text === '' || text === '@AGENTS.md' || seen.has(text)) continue;
      if (text.length > room) {
        problems.push(
          problem(join(repository, path), `the instructions together are larger than ${MOST.total} bytes`),
        );
        continue;
      }
      seen.add(text);
      room -= text.length;
      files.push({ path, text });
    }
  }
  return { files, problems };
}

function read(path: string, root: string): string | Problem | null {
  const real = realPath(path);
  if (real === null) return null;
  if (!isInside(real, root)) return problem(path, 'the link leads out of the repository');
  return readText({ path, real }, MOST.bytes);
}

/** The root, and each folder between it and the files, the outer ones first. What is not in the repository is nowhere. */
function foldersOf(repository: string, near: readonly string[]): string[] {
  const folders = new Set<string>(['']);
  for (const file of near) {
    const inside = isAbsolute(file) ? relative(repository, file) : join(file);
    const steps = inside.split(sep).slice(0, -1);
    if (isAbsolute(inside) || steps.includes('..')) continue;
    for (let i = 1; i <= steps.length && folders.size < MOST.folders; i++)
      folders.add(steps.slice(0, i).join(sep));
  }
  const depth = (folder: string): number => (folder === '' ? 0 : folder.split(sep).length);
  return [...folders].toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
}
