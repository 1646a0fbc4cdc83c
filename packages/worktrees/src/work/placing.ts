import { constants } from 'node:fs';
import {
  access,
  chmod,
  copyFile,
  link,
  open,
  readFile,
  readdir,
  rename,
  rm,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Repository } from '../checkout.ts';
import { codeOf } from '../creation/failures.ts';
import { orNull } from '../creation/files.ts';
import { layoutOf } from '../creation/layout.ts';
import { withLock } from '../creation/lock.ts';
import type { Scratch } from './scratch-place.ts';

export interface Quarantine {
  /** An object folder with one pack in it. */
  readonly objects: string;
  /** `pack-<hash>`. */
  readonly name: string;
}

export interface Placed {
  release(): Promise<void>;
}

const MARK = 'reveille: refs to this pack are being made\n';
/** `placing-pack-<hash>`, an empty file. */
const JOURNAL = 'placing-';
const packsOf = (repository: Repository): string => join(repository.gitDir, 'objects', 'pack');

/**
 * Puts a checked pack into the person's repository: first a `.keep`, so that no gc takes it before there are refs to it;
 * then the pack; then its index, with which it begins to count. The journal is there before the first and gone after the
 * `.keep`, so that a later life knows what to take away.
 */
export async function placePack(scratch: Scratch, { objects, name }: Quarantine): Promise<Placed> {
  const { repository, folder } = scratch;
  const to = packsOf(repository);
  const from = join(objects, 'pack');
  await alone(repository, async () => {
    await writeFile(join(folder, `${JOURNAL}${name}`), '');
    await writeFile(join(to, `${name}.keep`), MARK, { flag: 'wx' }).catch(ignoreExisting);
    if (await isThere(join(to, `${name}.idx`))) return;
    await placeFile(join(from, `${name}.pack`), join(to, `${name}.pack`));
    await placeFile(join(from, `${name}.idx`), join(to, `${name}.idx`));
  });
  return { release: async () => await settlePacks(repository, folder) };
}

/** Two checkouts may bring the same pack at the same time: what one has half placed, the other must not take away. */
const alone = async (repository: Repository, work: () => Promise<void>): Promise<void> =>
  await withLock(join(layoutOf(repository).ours, '.placing.db'), work);

const isThere = async (path: string): Promise<boolean> =>
  await access(path).then(
    () => true,
    () => false,
  );

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

const TRIES = 5;

/**
 * A `git gc --prune=now` of the person takes away every file of such a name, however new it is: then it is placed again.
 */
async function placeFile(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await placeOnce(from, to);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || tries === TRIES) throw error;
    }
  }
}

/** `tmp_…`: git takes away what has such a name and is old. By its own name it is known again by whoever settles. */
const asideOf = (to: string): string => join(dirname(to), `tmp_reveille_${basename(to)}`);

async function placeOnce(from: string, to: string): Promise<void> {
  const aside = asideOf(to);
  try {
    await rm(aside, { force: true });
    await link(from, aside).catch(async () => await copyFile(from, aside, constants.COPYFILE_FICLONE));
    await chmod(aside, 0o444);
    await syncFile(aside);
    await rename(aside, to);
    // Renaming a link over another of the same file does nothing, and leaves both.
    await rm(aside, { force: true });
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}

/** Ends what `placePack` began in this scratch, whether it got to its end or not. */
export async function settlePacks(repository: Repository, folder: string): Promise<void> {
  const names = (await orNull(readdir(folder))) ?? [];
  for (const journal of names.filter((name) => name.startsWith(JOURNAL))) {
    await alone(repository, async () => await settlePack(repository, journal.slice(JOURNAL.length)));
    await unlink(join(folder, journal));
  }
}

async function settlePack(repository: Repository, name: string): Promise<void> {
  const at = (ending: string): string => join(packsOf(repository), `${name}.${ending}`);
  for (const ending of ['pack', 'idx']) await rm(asideOf(at(ending)), { force: true });
  // A pack without an index is nothing to git. With one it counts, and may be needed.
  if (!(await isThere(at('idx')))) await rm(at('pack'), { force: true });
  const keep = await orNull(readFile(at('keep'), 'utf8'));
  // Perhaps only half of it was written.
  if (keep !== null && MARK.startsWith(keep)) await unlink(at('keep'));
}
