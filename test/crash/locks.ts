import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { birth } from './processes.ts';

/** One lock per task, taken by its agent at its first turn: two agents of one task at once meet here. */
export class Locks {
  readonly #folder: string;

  constructor(world: string) {
    this.#folder = join(world, 'locks');
    mkdirSync(this.#folder, { recursive: true });
  }

  path(task: string): string {
    return join(this.#folder, task);
  }

  /** Takes the lock; answers with who holds it if that process lives. What the dead left is removed. */
  take(task: string): string | null {
    for (;;) {
      try {
        const file = openSync(this.path(task), 'wx');
        writeSync(file, `${process.pid}\n`);
        closeSync(file);
        return null;
      } catch {
        const holder = this.#holder(task);
        if (holder !== '' && birth(Number(holder)) !== null) return holder;
        this.release(task);
      }
    }
  }

  release(task: string): void {
    rmSync(this.path(task), { force: true });
  }

  #holder(task: string): string {
    try {
      return readFileSync(this.path(task), 'utf8').trim();
    } catch {
      return ''; // released meanwhile
    }
  }
}
