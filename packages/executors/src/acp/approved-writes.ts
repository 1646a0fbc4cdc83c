import { createHash } from 'node:crypto';
import { diffsOf } from './permission.ts';
import type { Fields } from './shapes.ts';

const MOST = 100;

/**
 * Writes that somebody has agreed to as part of an edit. Some agents then write the file through their client, and would be
 * asked again. Each counts once, and only with the path and the content that were approved.
 */
export class ApprovedWrites {
  readonly #writes = new Set<string>();

  add(call: Fields): void {
    for (const { path, newText } of diffsOf(call))
      if (this.#writes.size < MOST) this.#writes.add(keyOf(path, newText));
  }

  /** Whether it was approved. From now on it is not. */
  take(path: string, content: string): boolean {
    return this.#writes.delete(keyOf(path, content));
  }

  /** What was approved in a turn is for that turn. */
  clear(): void {
    this.#writes.clear();
  }
}

const keyOf = (path: string, content: string): string =>
  createHash('sha256')
    .update(JSON.stringify([path, content]))
    .digest('hex');
