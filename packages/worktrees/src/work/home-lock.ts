import { link, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { codeOf } from '../creation/failures.ts';
import { orNull, readJson, writeWhole } from '../creation/files.ts';
import { git } from '../git/git.ts';
import { copyIndex, replaceIndex } from './index-file.ts';
import { commitAt } from './refs.ts';

/** The person's checkout is being moved from one commit to another. */
export interface HomeMove {
  readonly root: string;
  /** The git directory of that checkout, with its HEAD and index. */
  readonly headDir: string;
  /** The branch it is on. */
  readonly ref: string;
  readonly from: string;
  readonly to: string;
}

interface HomeJournal extends HomeMove {
  /** What is written in the lock, so that it is known again as ours. */
  readonly token: string;
}

const journalIn = (folder: string): string => join(folder, 'home.json');
const lockOf = ({ headDir }: HomeMove): string => join(headDir, 'index.lock');
const indexAside = ({ headDir }: HomeMove): string => join(headDir, 'reveille-index');
const asideOf = ({ headDir }: HomeMove): string => join(headDir, 'reveille-lock');

/** Takes the lock that git itself takes: as long as it is ours, no git of the person changes index or files. */
export async function lockHome(folder: string, move: HomeMove): Promise<void> {
  const token = `reveille ${folder}\n`;
  const journal: HomeJournal = { ...move, token };
  await writeWhole(journalIn(folder), JSON.stringify(journal));
  // Written aside and linked: whoever looks at the lock sees whose it is.
  await writeFile(asideOf(move), token);
  await link(asideOf(move), lockOf(move)).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new ReveilleError(
      'wrong_state',
      `Git is at work in ${move.root} (${lockOf(move)} is there). Try again when it is done; if none is running, delete that file.`,
      { data: { lock: lockOf(move) } },
    );
  });
}

/**
 * Gives the lock back. If the branch has moved, the index follows first; before that, nothing has happened to it. For a
 * scratch whose process died, this is done by the next one. A lock that is not ours any more was taken away by the
 * person, who has then taken over.
 */
export async function settleHome(repository: Repository, folder: string): Promise<void> {
  // Ours, written whole or not at all.
  const journal = (await readJson(journalIn(folder))) as HomeJournal | null;
  if (!journal) return;
  const held = await orNull(readFile(lockOf(journal), 'utf8'));
  if (held === journal.token) {
    if ((await commitAt(repository, journal.ref)) === journal.to) await moveIndex(folder, journal);
    await unlink(lockOf(journal));
  }
  for (const path of [asideOf(journal), indexAside(journal), journalIn(folder)])
    await rm(path, { force: true });
}

/** Built aside and put in its place at once. Files that did not change keep what is known about them. */
async function moveIndex(folder: string, move: HomeMove): Promise<void> {
  const { root, headDir, from, to } = move;
  const indexFile = join(folder, 'home-index');
  await copyIndex(join(headDir, 'index'), indexFile);
  const place = { gitDir: headDir, workTree: root, indexFile };
  // Done already, by a life that died before it could give the lock back: then it is at the new commit.
  const done = await git({ ...place, args: ['diff-index', '--cached', '--quiet', to], accept: [1] });
  if (done.code === 0) return;
  await git({ ...place, args: ['read-tree', '-i', '-m', from, to] });
  await git({ ...place, args: ['update-index', '-q', '--refresh'], accept: [1] });
  await replaceIndex(indexFile, join(headDir, 'index'), indexAside(move));
}
