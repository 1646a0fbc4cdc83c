import { linkSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Checkout } from '../checkout.ts';
import { codeOf } from '../creation/failures.ts';
import type { Directory } from '../door/directory.ts';
import { copyPlain, descend, isAbsent, namesIn, openAgentGitDir } from './agent-files.ts';
import type { Scratch } from './scratch-place.ts';

const FOLDER = /^[0-9a-f]{2}$/;
const LOOSE = /^(?:[0-9a-f]{38}|[0-9a-f]{62})$/;
const PACK = /^pack-[0-9a-f]{40,64}\.(?:pack|idx)$/;
/** More objects than this are not taken in one by one: the agent's own `git gc` makes a few packs of them. */
const MOST = 500_000;
/** A pack larger than this is none we would let in. */
const MOST_BYTES = 8 * 1024 ** 3;
/** Others get a turn after so many. */
const BATCH = 500;

/**
 * Gives a scratch the objects of an agent's repository, as hard links: loose objects and packs, nothing else. So git never
 * reads that folder itself: no alternates that lead elsewhere, no commit graph that lies, no pipe it would wait at, no
 * file that appears or goes meanwhile. What the bytes are is checked later, when they enter the person's repository.
 *
 * False if there is nothing to take or too much.
 */
export async function takeObjects(scratch: Scratch, checkout: Checkout): Promise<boolean> {
  if (checkout.kind === 'linked') return true;
  using gitDir = openAgentGitDir(checkout);
  using objects = gitDir && descend(gitDir, ['objects']);
  if (!objects) return false;
  let taken = 0;
  for (const name of namesIn(objects)) {
    const wanted = name === 'pack' ? PACK : FOLDER.test(name) ? LOOSE : null;
    using folder = wanted && descend(objects, [name]);
    if (!wanted || !folder) continue;
    const names = namesIn(folder).filter((entry) => wanted.test(entry));
    taken += names.length;
    if (taken > MOST) return false;
    await linkAll(folder, names, join(scratch.objects, name));
  }
  return true;
}

async function linkAll(from: Directory, names: readonly string[], to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  for (const [i, name] of names.entries()) {
    if (i % BATCH === BATCH - 1) await setImmediate();
    if (!linkOne(from, name, join(to, name)))
      await copyPlain(from, name, { to: join(to, name), most: MOST_BYTES });
  }
}

/** False: the file systems, or the system, allow no link. */
function linkOne(from: Directory, name: string, to: string): boolean {
  try {
    if (!lstatSync(from.at(name)).isFile()) return true;
    from.confirm();
    linkSync(from.at(name), to);
  } catch (error) {
    if (['EXDEV', 'EPERM', 'EMLINK'].includes(codeOf(error))) return false;
    // Gone again, or there already: an object of a name is the same everywhere, or not one.
    if (isAbsent(error) || codeOf(error) === 'EEXIST') return true;
    throw error;
  }
  // Swapped between the look and the link.
  if (!lstatSync(to).isFile()) unlinkSync(to);
  return true;
}
