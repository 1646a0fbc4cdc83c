import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scratch } from './scratch-place.ts';

/** The `.gitattributes` files of one tree, at least none. Trees with the same have the same key. */
export interface TreeAttributes {
  readonly key: string;
  /** As `git update-index --index-info` reads them. Paths have one character for each byte. */
  readonly entries: readonly string[];
}

/** The `.gitattributes` files of commits or trees, in the order in which they are named. */
export async function attributesOf(scratch: Scratch, names: readonly string[]): Promise<TreeAttributes[]> {
  const empty = (await scratch.git({ args: ['mktree'] })).stdout.trim();
  const asked = names.map((name) => `${name}^{tree}\n`).join('');
  const found = await scratch.git({ args: ['cat-file', '--batch-check=%(objectname)'], input: asked });
  const trees = found.stdout.trimEnd().split('\n');
  // A commit that is not there has none; whoever merges it finds out.
  const known = [...new Set(trees)].filter((tree) => !tree.includes(' '));
  const { stdout } = await scratch.bytes({
    args: ['diff-tree', '--stdin', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', '--', FILES],
    input: known.map((tree) => `${empty} ${tree}\n`).join(''),
  });
  const byTree = readAll(stdout.toString('latin1'));
  return trees.map((tree) => {
    const entries = byTree.get(tree) ?? [];
    return { key: entries.join('\0'), entries };
  });
}

const FILES = ':(top,glob)**/.gitattributes';
const RECORD = /^:000000 (\d{6}) 0+ ([0-9a-f]+) A$/;

/** For each tree `<empty> <tree>\n`, then `:<old mode> <mode> <old oid> <oid> A` and a path for each file. */
function readAll(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let entries: string[] = [];
  const parts = text.split('\0');
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [record = '', tree] = (parts[i] ?? '').split('\n').toReversed();
    if (tree !== undefined) found.set(tree.split(' ')[1] ?? '', (entries = []));
    const [, mode = '', oid = ''] = RECORD.exec(record) ?? [];
    // A link is not followed by git either.
    if (mode.startsWith('100')) entries.push(`${mode} ${oid}\t${parts[i + 1] ?? ''}`);
  }
  return found;
}

/**
 * Lays these files into a folder of the scratch and answers with it. Git looks for attributes in the tree it works in,
 * and a merge without a checkout has none.
 */
export async function layAttributes(
  scratch: Scratch,
  { entries }: TreeAttributes,
  name: string,
): Promise<string> {
  const workTree = join(scratch.folder, name);
  await mkdir(workTree, { recursive: true });
  if (entries.length === 0) return workTree;
  const place = { workTree, indexFile: join(scratch.folder, `${name}-index`) };
  const input = Buffer.from(entries.map((entry) => `${entry}\0`).join(''), 'latin1');
  await scratch.git({ ...place, args: ['update-index', '-z', '--index-info'], input });
  await scratch.git({ ...place, args: ['checkout-index', '-a', '-f', '-q'] });
  return workTree;
}
