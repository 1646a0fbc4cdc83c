import type { Inspection } from '@reveille/core';
import type { DirtyPolicy } from '@reveille/protocol';
import { findUncommitted, resolveStart, shownFiles, snapshot } from './creation/start.ts';
import type { FoundRepository } from './repository.ts';
import { addNumbered, atHome, updateRefs } from './work/refs.ts';

/** Refs that keep the snapshots which work starts from, also while none of it has a worktree yet. */
const STARTS = 'refs/reveille/starts/';

/** What work starts from that is about to be made, under a policy (WKT3). Only objects and a ref of ours are written. */
export async function inspectCheckout(repository: FoundRepository, policy: DirtyPolicy): Promise<Inspection> {
  const { files } = await findUncommitted(repository, policy);
  const found = { files: shownFiles(files), count: files.length };
  if (policy !== 'snapshot' || files.length === 0) return { start: { snapshot: null }, ...found };
  const { commit } = await resolveStart(repository, { dirty: 'head' });
  return { start: { snapshot: await keepStart(repository, await snapshot(repository, commit)) }, ...found };
}

/** The same state again is the same commit. */
async function keepStart(repository: FoundRepository, commit: string): Promise<string> {
  const { stdout } = await atHome(repository, { args: ['show', '-s', '--format=%T %P', commit] });
  const [tree, parent] = stdout.trim().split(' ');
  const same = (await readStarts(repository)).find((kept) => kept.tree === tree && kept.parent === parent);
  if (same) return same.commit;
  await addNumbered(repository, STARTS, commit, 'start');
  return commit;
}

/** Drops the snapshots that are older and that no task in `needed` starts from. */
export async function dropStarts(
  repository: FoundRepository,
  { olderThan, needed }: { readonly olderThan: number; readonly needed: ReadonlySet<string> },
): Promise<void> {
  const old = (await readStarts(repository)).filter(
    ({ at, commit }) => at < olderThan && !needed.has(commit),
  );
  const updates = old.map(({ ref, commit }) => ({ ref, to: null, from: commit }));
  if (updates.length > 0) await updateRefs(repository, updates, 'retention');
}

async function readStarts(repository: FoundRepository) {
  const format = '--format=%(refname) %(objectname) %(committerdate:unix) %(tree) %(parent)';
  const { stdout } = await atHome(repository, { args: ['for-each-ref', format, STARTS] });
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [ref = '', commit = '', seconds = '0', tree = '', parent = ''] = line.split(' ');
    return { ref, commit, at: Number(seconds) * 1000, tree, parent };
  });
}
