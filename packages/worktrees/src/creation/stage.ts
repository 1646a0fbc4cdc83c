import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from '../checkout.ts';
import { makeFolder } from './files.ts';
import { layoutOf } from './layout.ts';
import { tryLock, type Held } from './lock.ts';

/**
 * A folder in which something is made before it is moved to its place. Its maker holds a lock in it for as long as it
 * lives; a stage that nobody holds was left by a process that died, and is swept.
 */
export interface Stage extends Disposable {
  readonly id: string;
  readonly path: string;
  /** Where the tree is built. */
  readonly tree: string;
}

const lifeOf = (stage: string): string => join(stage, 'life.db');

export const newId = (): string => randomBytes(8).toString('hex');

export async function openStage(repository: Repository): Promise<Stage> {
  const { stages } = layoutOf(repository);
  await makeFolder(stages);
  for (;;) {
    const id = newId();
    const path = join(stages, id);
    await mkdir(path);
    const held = lockStage(path);
    if (held) return { id, path, tree: join(path, 'tree'), [Symbol.dispose]: () => held.release() };
    // A sweep came between the two steps and took it for a dead one.
  }
}

/** The lock of a stage that nobody holds; null for one that somebody works in. */
export function lockStage(path: string): Held | null {
  const held = lockIfThere(lifeOf(path));
  if (!held) return null;
  if (existsSync(lifeOf(path))) return held;
  held.release();
  return null;
}

function lockIfThere(path: string): Held | null {
  try {
    return tryLock(path);
  } catch (error) {
    // The folder is gone: somebody else swept it.
    if (!existsSync(join(path, '..'))) return null;
    throw error;
  }
}
