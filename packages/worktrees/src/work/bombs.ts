import type { Scratch } from './scratch-place.ts';

export interface NewTree {
  readonly oid: string;
}

/** Git itself does not go deeper than this from 2.43 on. */
const DEEPEST = 2_048;

interface Counted {
  readonly files: number;
  readonly depth: number;
}

/**
 * How many files the largest of these trees stands for, were it checked out; infinite if one is too deep. Each tree is
 * read once, however often it is named: ten small trees can stand for ten thousand million files. A tree that is not
 * among them is the person's own and counts as one.
 */
export async function countEntries(scratch: Scratch, trees: readonly NewTree[]): Promise<number> {
  if (trees.length === 0) return 0;
  const input = `${trees.map(({ oid }) => oid).join('\n')}\n`;
  const { stdout } = await scratch.bytes({ args: ['cat-file', '--batch', '--buffer'], input });
  const beneath = new Map(readTrees(stdout));
  const counted = new Map<string, Counted>();
  let most = 0;
  for (const { oid } of trees) {
    most = Math.max(most, count(oid, beneath, counted));
    if (most === Infinity) break;
  }
  return most;
}

interface Tree {
  readonly files: number;
  readonly folders: readonly string[];
}

/** `<oid> tree <size>\n<bytes>\n`, one after another. */
function* readTrees(bytes: Buffer): Generator<readonly [oid: string, tree: Tree]> {
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at);
    const [oid = '', type, size = ''] = bytes.toString('latin1', at, end).split(' ');
    if (end === -1 || type !== 'tree') return;
    const start = end + 1;
    at = start + Number(size) + 1;
    yield [oid, readTree(bytes.subarray(start, at - 1), oid.length / 2)];
  }
}

/** `<mode> <name>\0<oid as bytes>`, one after another. */
function readTree(bytes: Buffer, width: number): Tree {
  const folders: string[] = [];
  let files = 0;
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0, at);
    if (end === -1) break;
    const isFolder = bytes.toString('latin1', at, at + 6).startsWith('40000 ');
    at = end + 1 + width;
    if (isFolder) folders.push(bytes.toString('hex', end + 1, at));
    else files += 1;
  }
  return { files, folders };
}

/** Without recursion: how deep it goes is the agent's choice. */
function count(root: string, trees: ReadonlyMap<string, Tree>, counted: Map<string, Counted>): number {
  const open = [root];
  for (let oid = open.at(-1); oid !== undefined; oid = open.at(-1)) {
    const tree = trees.get(oid);
    const missing = tree?.folders.find((folder) => trees.has(folder) && !counted.has(folder));
    // A tree cannot hold itself, unless its name was forged.
    if (open.length > DEEPEST) return Infinity;
    if (missing !== undefined && !counted.has(oid)) {
      open.push(missing);
      continue;
    }
    open.pop();
    if (tree && !counted.has(oid)) counted.set(oid, sum(tree, counted));
  }
  const found = counted.get(root);
  return !found || found.depth > DEEPEST ? Infinity : found.files;
}

function sum(tree: Tree, counted: ReadonlyMap<string, Counted>): Counted {
  let [files, depth] = [tree.files, 0];
  for (const folder of tree.folders) {
    const beneath = counted.get(folder) ?? { files: 1, depth: 0 };
    files += beneath.files;
    depth = Math.max(depth, beneath.depth + 1);
  }
  return { files, depth };
}
