import { lstatSync, type Dirent, type Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { ReveilleError } from '@reveille/protocol';
import type { Directory } from './directory.ts';
import { isGitName } from './names.ts';
import type { AskedPath } from './path.ts';
import { show, translate } from './refusal.ts';
import { enter, type Place } from './resolve.ts';

export type EntryKind = 'file' | 'directory' | 'link' | 'other';

export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
  /** In bytes; null for anything but a file. */
  readonly size: number | null;
}

export interface Listing {
  /** The folder's true path from the root; empty for the root. */
  readonly path: string;
  /** By name. */
  readonly entries: readonly Entry[];
  /** There are more than were asked for. */
  readonly truncated: boolean;
}

export interface ListOptions {
  /** Most entries to give; 1,000 unless told. */
  readonly limit?: number;
}

export interface WalkTreeOptions {
  /** Entries that are left out, folders with all beneath them. Links and `.git` always are. */
  readonly skip?: (entry: {
    readonly path: string;
    readonly name: string;
    readonly kind: EntryKind;
  }) => boolean;
  /** Most entries to look at, 200,000 unless told; more is `limit_reached`, after what was found so far. */
  readonly limit?: number;
  /** Told of each folder that could not be read. One that has just vanished is no news. */
  readonly onUnread?: (path: string, error: ReveilleError) => void;
}

/** No folder is read further than this: what its names may cost in memory. */
const MOST_READ = 200_000;
const LIST_LIMIT = 1_000;
const WALK_LIMIT = 200_000;

export function kindOf(entry: Dirent | Stats): EntryKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

/** `.git` is left out: nothing of it can be opened. */
export async function list(place: Place, asked: AskedPath, options: ListOptions = {}): Promise<Listing> {
  using entered = enter(place, asked);
  const { entries, more } = await readFolder(entered.folder, MOST_READ);
  const limit = options.limit ?? LIST_LIMIT;
  return {
    path: entered.names.join('/'),
    entries: entries
      .slice(0, limit)
      .map(({ name, kind }) => ({ name, kind, size: sizeOf(entered.folder, name, kind) })),
    truncated: more || entries.length > limit,
  };
}

/**
 * The path of every plain file beneath a folder; in each folder first its files, then its folders, by name. No
 * descriptor is held while the caller is at work: each folder is walked to again, and one that has become a link
 * meanwhile is left out.
 */
export async function* walkFiles(
  place: Place,
  asked: AskedPath,
  options: WalkTreeOptions = {},
): AsyncGenerator<string, void, undefined> {
  const limit = options.limit ?? WALK_LIMIT;
  const start = trueNames(place, asked);
  const waiting = [start];
  let seen = 0;
  for (let names = waiting.pop(); names; names = waiting.pop()) {
    const folder = await readBeneath(place, names, names === start ? undefined : options);
    const beneath: string[][] = [];
    for (const { name, kind } of folder.entries) {
      seen += 1;
      if (seen > limit) throw tooMany(asked.given, limit);
      const here = [...names, name];
      const path = here.join('/');
      if (kind === 'link' || kind === 'other' || options.skip?.({ path, name, kind })) continue;
      if (kind === 'file') yield path;
      else beneath.push(here);
    }
    if (folder.more) throw tooMany(asked.given, MOST_READ);
    waiting.push(...beneath.reverse());
  }
}

interface FolderRead {
  readonly entries: readonly Pick<Entry, 'name' | 'kind'>[];
  readonly more: boolean;
}

function trueNames(place: Place, asked: AskedPath): readonly string[] {
  using entered = enter(place, asked);
  return entered.names;
}

/** With `options` a folder that cannot be read is told of and is empty; without, it is an error. */
async function readBeneath(
  place: Place,
  names: readonly string[],
  options: WalkTreeOptions | undefined,
): Promise<FolderRead> {
  const path = names.join('/');
  try {
    using entered = enter(place, { given: path, names, folder: true }, { noLinks: true });
    return await readFolder(entered.folder, MOST_READ);
  } catch (error) {
    const known = translate(error, path);
    if (!options) throw known;
    if (known.code !== 'not_found' && known.code !== 'wrong_state') options.onUnread?.(path, known);
    return { entries: [], more: false };
  }
}

async function readFolder(folder: Directory, most: number): Promise<FolderRead> {
  const entries: Pick<Entry, 'name' | 'kind'>[] = [];
  let more = false;
  // Closes itself at the end of the loop, however it ends.
  for await (const entry of await opendir(folder.at('.'), { bufferSize: 1_024 })) {
    if (isGitName(entry.name)) continue;
    more = entries.length >= most;
    if (more) break;
    entries.push({ name: entry.name, kind: kindOf(entry) });
  }
  folder.confirm();
  return { entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)), more };
}

/** Null also for a file that has just gone, or whose name is no text. */
function sizeOf(folder: Directory, name: string, kind: EntryKind): number | null {
  if (kind !== 'file') return null;
  return lstatSync(folder.at(name), { throwIfNoEntry: false })?.size ?? null;
}

const tooMany = (given: string, limit: number): ReveilleError =>
  new ReveilleError(
    'limit_reached',
    `${show(given)} has more than ${limit} entries; what came before this is not everything. Look at a folder beneath.`,
    { data: { path: given, limit: 'entries', value: limit } },
  );
