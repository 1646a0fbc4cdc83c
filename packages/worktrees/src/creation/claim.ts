import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Checkout, Repository } from '../checkout.ts';
import { git } from '../git/git.ts';
import { createRefs, dropRef, letGoOfFiles, settleRef } from '../git/refs.ts';
import type { FoundRepository } from '../repository.ts';
import type { Claim } from './claimed.ts';
import { moveFolder, orNull, readJson, writeWhole } from './files.ts';
import { layoutOf, pinOf, roomOf, treeOf } from './layout.ts';
import { withLock } from './lock.ts';
import { dropEntry, entryIsForgotten, hideEntry } from './linked.ts';
import { branchIsFree, folded, namesFor, type CheckoutName, type NameParts } from './names.ts';
import { isRoomName, readRecord } from './record.ts';
import { freePorts } from './ports.ts';
import type { Stage } from './stage.ts';

interface ClaimSpec {
  readonly parts: NameParts;
  readonly prefix: string;
  readonly kind: Checkout['kind'];
  readonly start: string;
  readonly signal?: AbortSignal | undefined;
}

const claimFile = (stage: string): string => join(stage, 'claim.json');
const ownerFile = (room: string): string => join(room, 'owner');

/**
 * The administrative step. Under the lock a name is chosen that nobody has; the stage says what is going to be made;
 * the room is moved to its place with the stage's id in it, which makes the name ours; then the refs are made. A
 * process that dies anywhere after the first leaves a stage whose claim says what to take back.
 */
export async function claimName(repository: FoundRepository, stage: Stage, spec: ClaimSpec): Promise<Claim> {
  const fresh = join(stage.path, 'room');
  await mkdir(fresh);
  await writeFile(ownerFile(fresh), stage.id);
  return await withLock(
    layoutOf(repository).lock,
    async () => {
      const claim = { ...(await freeName(repository, spec)), kind: spec.kind, start: spec.start };
      await writeWhole(claimFile(stage.path), JSON.stringify(claim));
      await rename(fresh, roomOf(repository, claim.name));
      const refs = refsOfClaim(claim).map((ref) => [ref, claim.start]);
      await createRefs(repository.gitDir, Object.fromEntries(refs));
      return claim;
    },
    spec.signal,
  );
}

async function freeName(repository: Repository, spec: ClaimSpec): Promise<CheckoutName> {
  const { branches, pins } = await refsOf(repository, spec.prefix);
  const blocking = branches.find((branch) => folded(`${spec.prefix}/`).startsWith(folded(`${branch}/`)));
  if (blocking !== undefined) throw inTheWay(blocking, spec.prefix);
  const folders = [
    ...((await orNull(readdir(repository.home))) ?? []),
    ...((await orNull(readdir(layoutOf(repository).ours))) ?? []),
    ...((await orNull(readdir(join(repository.gitDir, 'worktrees')))) ?? []),
  ];
  const taken = new Set([...folders, ...pins].map(folded));
  for (const candidate of namesFor(spec.parts, spec.prefix)) {
    if (!taken.has(folded(candidate.name)) && branchIsFree(candidate.branch, branches)) return candidate;
  }
  throw new Error('There is always another name.');
}

const inTheWay = (branch: string, prefix: string): ReveilleError =>
  new ReveilleError(
    'workspace_failed',
    `The branch ${branch} is in the way: git cannot have it beside ${prefix}/… Rename it, or choose another branch prefix in the settings.`,
    { data: { reason: 'branch_in_the_way', branch } },
  );

async function refsOf(
  repository: Repository,
  prefix: string,
): Promise<{ branches: string[]; pins: string[] }> {
  const roots = prefix.split('/').map((_, i, pieces) => `refs/heads/${pieces.slice(0, i + 1).join('/')}`);
  const { stdout } = await git({
    gitDir: repository.gitDir,
    args: ['for-each-ref', '--format=%(refname)', ...roots, 'refs/reveille/base'],
  });
  const refs = stdout.split('\n').filter((ref) => ref !== '');
  const under = (root: string): string[] =>
    refs.filter((ref) => ref.startsWith(root)).map((ref) => ref.slice(root.length));
  return { branches: under('refs/heads/'), pins: under(pinOf('')) };
}

/** Takes back whatever a claim has led to, if it has not led to a checkout. What others made since is left alone. */
export async function undoClaim(repository: Repository, stage: { id: string; path: string }): Promise<void> {
  const claim = await readClaim(stage.path);
  if (!claim) return;
  const { lock } = layoutOf(repository);
  const [ours, seen] = await withLock(lock, async () => {
    if (!(await isOurs(repository, claim, stage.id))) return [false, false];
    return [true, claim.kind === 'linked' && (await hideEntry(repository, claim.name))];
  });
  if (!ours) return;
  await Promise.all([seen ? entryIsForgotten() : null, letGoOfFiles(repository.gitDir, refsOfClaim(claim))]);
  await withLock(lock, async () => {
    if (await isOurs(repository, claim, stage.id)) await undo(repository, claim, stage);
  });
}

const refsOfClaim = ({ branch, name }: Claim): string[] => [`refs/heads/${branch}`, pinOf(name)];

async function isOurs(repository: Repository, { name }: Claim, stage: string): Promise<boolean> {
  const room = roomOf(repository, name);
  const owner = await orNull(readFile(ownerFile(room), 'utf8'));
  return owner === stage && !(await readRecord(room));
}

async function undo(
  repository: Repository,
  claim: Claim,
  stage: { id: string; path: string },
): Promise<void> {
  const { name, kind, start } = claim;
  await moveFolder(treeOf(repository, name), join(stage.path, 'undone-tree'));
  if (kind === 'linked') await dropEntry(repository, name, stage.id);
  for (const ref of refsOfClaim(claim)) {
    await settleRef(repository.gitDir, ref);
    await dropRef(repository.gitDir, ref, start);
  }
  await freePorts(repository, name);
  // Last: as long as the room is there, the name is ours, and another try finds what is left to do.
  await moveFolder(roomOf(repository, name), join(stage.path, 'undone-room'));
}

async function readClaim(stage: string): Promise<Claim | null> {
  // Written by us, whole or not at all.
  const claim = (await readJson(claimFile(stage))) as Claim | null;
  return claim && isRoomName(claim.name) ? claim : null;
}
