import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Checkout, Repository } from '../checkout.ts';
import { orNull, readJson, writeWhole } from './files.ts';
import { layoutOf, ownGitDirOf, roomOf, treeOf } from './layout.ts';

/**
 * What is written about a checkout, in its room. It is written last: a room that has one is a checkout, and one that
 * has none is still being made or was left half made.
 */
export interface CheckoutRecord {
  readonly version: 1;
  readonly name: string;
  readonly kind: Checkout['kind'];
  readonly branch: string;
  readonly start: string;
  /** The id of its task. */
  readonly task: string;
  readonly createdAt: number;
  readonly environment: Readonly<Record<string, string>>;
}

const recordOf = (room: string): string => join(room, 'checkout.json');

export async function writeRecord(room: string, record: CheckoutRecord): Promise<void> {
  await writeWhole(recordOf(room), `${JSON.stringify(record, undefined, 2)}\n`);
}

export async function readRecord(room: string): Promise<CheckoutRecord | null> {
  const value = await readJson(recordOf(room));
  if (value === null) return null;
  if (typeof value !== 'object' || !('version' in value) || value.version !== 1)
    throw new ReveilleError(
      'workspace_failed',
      `${recordOf(room)} was written by another version of Reveille.`,
    );
  // Nobody but us writes there: what has our version has our shape.
  const record = value as CheckoutRecord;
  if (!isRoomName(record.name))
    throw new ReveilleError('workspace_failed', `${recordOf(room)} names no worktree of ours.`);
  return record;
}

/** One that names a folder directly in the home, and none of ours. */
export const isRoomName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && !name.startsWith('.') && !name.includes('/');

export function checkoutOf(repository: Repository, record: CheckoutRecord): Checkout {
  const { name, kind, branch, start } = record;
  const room = roomOf(repository, name);
  const path = treeOf(repository, name);
  return {
    repository,
    name,
    kind,
    branch,
    start,
    room,
    path,
    agentGitDir: agentGitDirOf(repository, kind, name),
    ownGitDir: ownGitDirOf(room),
  };
}

export const agentGitDirOf = (repository: Repository, kind: Checkout['kind'], name: string): string =>
  kind === 'clone' ? join(treeOf(repository, name), '.git') : join(repository.gitDir, 'worktrees', name);

/** A checkout with what its record says about it. */
export interface KnownCheckout extends Checkout {
  readonly task: string;
  readonly createdAt: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** The checkout of that name, made in this life or an earlier one; null if there is none. */
export async function openCheckout(repository: Repository, name: string): Promise<KnownCheckout | null> {
  if (!isRoomName(name)) return null;
  const record = await readRecord(roomOf(repository, name));
  if (!record) return null;
  const { task, createdAt, environment } = record;
  return { ...checkoutOf(repository, record), task, createdAt, environment };
}

/** All that were made and not removed, by name. */
export async function listCheckouts(repository: Repository): Promise<KnownCheckout[]> {
  const found: KnownCheckout[] = [];
  for (const name of await roomNames(repository)) {
    const known = await openCheckout(repository, name);
    if (known) found.push(known);
  }
  return found;
}

/** The checkout of a task, the newest if there are several. */
export async function findCheckout(repository: Repository, task: string): Promise<KnownCheckout | null> {
  const all = (await listCheckouts(repository)).filter((known) => known.task === task);
  return all.toSorted((a, b) => b.createdAt - a.createdAt)[0] ?? null;
}

export async function roomNames(repository: Repository): Promise<string[]> {
  const names = (await orNull(readdir(layoutOf(repository).ours))) ?? [];
  return names.filter((name) => !name.startsWith('.')).toSorted();
}
