import type { Seen } from '@reveille/core';
import { at, fieldsOf, textOf } from './shapes.ts';

/** Ids as they are written into what an agent is given. */
const IDS = /\b[a-z]{2,8}_[A-Za-z0-9]{6,40}\b/g;
/** Longer than an id: one may be cut by the end of a chunk. */
const OVERLAP = 64;
const MOST = 100_000;

/** Which ids a session that was loaded holds: all that is kept of its history, however long that is. */
export class History {
  readonly #ids = new Set<string>();
  #rest = '';
  #complete = false;

  /** One update of a history that is being told. */
  hear(update: unknown): void {
    if (fieldsOf(update)['sessionUpdate'] !== 'user_message_chunk') return;
    const text = this.#rest + textOf(at(update, 'content', 'text'));
    for (const [id] of text.matchAll(IDS)) if (this.#ids.size < MOST) this.#ids.add(id);
    this.#rest = text.slice(-OVERLAP);
  }

  complete(): void {
    this.#complete = true;
  }

  /**
   * What is in it was given. What is not was not, unless the agent tells no history at all, or takes words between two
   * calls, which some leave out.
   */
  seen(id: string, steers: boolean): Seen {
    if (this.#ids.has(id)) return 'yes';
    return this.#complete && this.#ids.size > 0 && !steers ? 'no' : 'unknown';
  }
}
