import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import type { Scratch } from './scratch-place.ts';

export interface Nested {
  readonly files: readonly string[];
  readonly notices: readonly string[];
}

interface NestedSpec {
  readonly checkout: Checkout;
  /** Folders with a repository of their own, each ending in `/`. */
  readonly folders: readonly string[];
  readonly patienceMs: number;
}

const DEEPEST = 10;

/**
 * The files of repositories that an agent made inside its checkout. Git would take such a folder as a link to a commit
 * that nobody else has. Each is looked at as a tree of its own, through our git directory as ever, and its files are
 * taken like any others. Its history is not.
 */
export async function nestedFiles(scratch: Scratch, spec: NestedSpec): Promise<Nested> {
  if (spec.folders.length === 0) return { files: [], notices: [] };
  const [files, notices]: [string[], string[]] = [[], []];
  const open = spec.folders.map((folder) => ({ folder, depth: 1 }));
  for (let next = open.pop(); next; next = open.pop()) {
    const { folder, depth } = next;
    const shown = Buffer.from(folder, 'latin1').toString('utf8');
    notices.push(
      `${shown} is a repository of its own: its files were taken as plain files, without its history.`,
    );
    if (depth > DEEPEST) continue;
    for (const path of await filesIn(scratch, join(spec.checkout.path, shown), spec.patienceMs)) {
      if (path.endsWith('/')) open.push({ folder: `${folder}${path}`, depth: depth + 1 });
      else files.push(`${folder}${path}`);
    }
  }
  return { files: await notIgnored(scratch, spec, files), notices };
}

async function filesIn(scratch: Scratch, workTree: string, patienceMs: number): Promise<string[]> {
  const { stdout } = await scratch.bytes({
    args: ['ls-files', '-z', '-o', '--exclude-standard'],
    workTree,
    indexFile: join(scratch.folder, 'no-index'),
    patienceMs,
  });
  return stdout
    .toString('latin1')
    .split('\0')
    .filter((path) => path !== '');
}

/** What the .gitignore files above say about them. */
async function notIgnored(scratch: Scratch, spec: NestedSpec, files: string[]): Promise<string[]> {
  if (files.length === 0) return files;
  const { stdout } = await scratch.bytes({
    args: ['check-ignore', '-z', '--no-index', '--stdin'],
    input: Buffer.from(files.map((path) => `${path}\0`).join(''), 'latin1'),
    workTree: spec.checkout.path,
    indexFile: join(scratch.folder, 'no-index'),
    patienceMs: spec.patienceMs,
    accept: [1],
  });
  const ignored = new Set(stdout.toString('latin1').split('\0'));
  return files.filter((path) => !ignored.has(path));
}
