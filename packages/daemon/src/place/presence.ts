import { statSync } from 'node:fs';
import { ReveilleError } from '@reveille/protocol';

/**
 * Whether the files that this daemon holds open still lie at their paths. If somebody deletes or replaces the folder of the
 * place, the guard at the path is another file, which another daemon can take, and the database is read by nobody
 * after this process: then nothing may be acknowledged any more.
 */
export class Presence {
  readonly #home: string;
  readonly #held: { readonly path: string; readonly id: string | null }[] = [];
  #lost: ReveilleError | null = null;
  #onLost: (why: ReveilleError) => void = () => undefined;

  constructor(home: string) {
    this.#home = home;
  }

  /** The file has just been opened. */
  hold(path: string): void {
    this.#held.push({ path, id: idOf(path) });
  }

  /** Called once, by the first look that finds something gone. */
  whenLost(act: (why: ReveilleError) => void): void {
    this.#onLost = act;
  }

  /** Why no call is answered any more; null: everything is in its place. */
  look(): ReveilleError | null {
    if (this.#lost || this.#isThere()) return this.#lost;
    const words = `${this.#home} was deleted or replaced while the daemon (process ${process.pid}) ran, so that daemon ends and nothing was done. Make the call again: it goes to a new daemon.`;
    this.#lost = new ReveilleError('unreachable', words, { data: { carriedOut: 'no' } });
    this.#onLost(this.#lost);
    return this.#lost;
  }

  #isThere(): boolean {
    try {
      return this.#held.every(({ path, id }) => idOf(path) === id);
    } catch {
      // What cannot be looked at, for example because a disk fails, was neither deleted nor replaced.
      return true;
    }
  }
}

/** Null: nothing is there. */
function idOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}
