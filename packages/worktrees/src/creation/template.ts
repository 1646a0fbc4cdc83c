import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from '../checkout.ts';
import { succeeds } from '../git/processes.ts';
import { orNull, readJson, writeWhole } from './files.ts';
import { restatIndex } from './index-file.ts';
import { layoutOf } from './layout.ts';
import type { Stage } from './stage.ts';
import { throwAway } from './trash.ts';
import type { Filled, Filling } from './filling.ts';

/**
 * On a file system that can share blocks between files (btrfs, XFS, APFS) a tree is copied from a template,
 * `<id>/{tree,index,template.json}`, faster than git can write it. Templates are never changed, only replaced: a copy
 * of one that is thrown away meanwhile fails and another way is taken.
 */
interface Template {
  readonly commit: string;
}

// GNU and Apple; both keep times, permissions and links as they are.
const COPY_ARGS = process.platform === 'darwin' ? ['-c', '-R', '-p'] : ['-a', '--reflink=always'];

export async function copyTemplate(filling: Filling): Promise<(Filled & Template) | null> {
  const { repository, stage, indexFile, background = false, signal } = filling;
  const [id] = await templateIds(repository);
  if (id === undefined || !(await sharesBlocks(repository, stage))) return null;
  const folder = join(layoutOf(repository).template, id);
  // Written by us, whole or not at all.
  const template = (await readJson(join(folder, 'template.json'))) as Template | null;
  if (!template) return null;
  const args = [...COPY_ARGS, '--', join(folder, 'tree'), stage.tree];
  const copied = await succeeds('cp', args, { background, signal });
  signal?.throwIfAborted();
  if (copied && (await copyIndex(filling, folder))) return { ...template, setupKey: null };
  await throwAway(repository, stage.tree);
  await rm(indexFile, { force: true });
  return null;
}

async function copyIndex({ repository, stage, indexFile }: Filling, folder: string): Promise<boolean> {
  const found = await orNull(copyFile(join(folder, 'index'), indexFile).then(() => true));
  return found !== null && (await restatIndex(indexFile, stage.tree, repository.traits.objectFormat));
}

async function templateIds(repository: Repository): Promise<string[]> {
  return (await orNull(readdir(layoutOf(repository).template))) ?? [];
}

/** The commit of the template, for whoever keeps it near to what is wanted. */
export async function templateCommit(repository: Repository): Promise<string | null> {
  const [id] = await templateIds(repository);
  if (id === undefined) return null;
  const value = (await readJson(join(layoutOf(repository).template, id, 'template.json'))) as Template | null;
  return value?.commit ?? null;
}

/** Makes what is in `<stage>/warm` the template. */
export async function putTemplate(repository: Repository, stage: Stage, template: Template): Promise<void> {
  const folder = layoutOf(repository).template;
  const before = await templateIds(repository);
  await mkdir(folder, { recursive: true });
  await writeWhole(join(stage.path, 'warm', 'template.json'), JSON.stringify(template));
  await rename(join(stage.path, 'warm'), join(folder, stage.id));
  for (const id of before) await throwAway(repository, join(folder, id));
}

/** Whether files under this home can share blocks. Found out once, by trying. */
export async function sharesBlocks(repository: Repository, stage: Stage): Promise<boolean> {
  const { probes } = layoutOf(repository);
  const known = await readJson(probes);
  if (known !== null && typeof known === 'object' && 'sharesBlocks' in known)
    return known.sharesBlocks === true;
  const probe = join(stage.path, 'probe');
  await writeFile(probe, 'x');
  const sharing = await copyFile(probe, `${probe}.copy`, constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
  await writeFile(probe, JSON.stringify({ sharesBlocks: sharing }));
  await rename(probe, probes);
  return sharing;
}
