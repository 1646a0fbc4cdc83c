import { randomBytes } from 'node:crypto';
import type { Caller, ToolOutputs } from '@reveille/protocol';

/** Enough for what a few hundred agents have not read yet; the oldest go first. */
const MOST_CHARS = 64_000_000;
const MOST_PER_OWNER = 50;

/**
 * Keeps long outputs in memory until they are read on. One for all callers of a process: it outlives connections,
 * and what it forgets can be asked for anew.
 */
export class OutputShelf implements ToolOutputs {
  readonly #most: number;
  readonly #kept = new Map<string, { readonly owner: string; readonly text: string }>();
  readonly #owners = new Map<string, Set<string>>();
  #chars = 0;

  constructor(options: { readonly maxChars?: number } = {}) {
    this.#most = options.maxChars ?? MOST_CHARS;
  }

  keep(owner: string, text: string): string {
    const token = `out_${randomBytes(12).toString('hex')}`;
    const own = this.#owners.get(owner) ?? new Set();
    this.#owners.set(owner, own.add(token));
    this.#kept.set(token, { owner, text });
    this.#chars += text.length;
    const [oldest] = own;
    if (own.size > MOST_PER_OWNER && oldest !== undefined) this.#forget(oldest);
    for (const old of this.#kept.keys()) {
      if (this.#chars <= this.#most || old === token) break;
      this.#forget(old);
    }
    return token;
  }

  read(owner: string, token: string): string | null {
    const kept = this.#kept.get(token);
    return kept?.owner === owner ? kept.text : null;
  }

  #forget(token: string): void {
    const kept = this.#kept.get(token);
    if (!kept) return;
    this.#kept.delete(token);
    this.#chars -= kept.text.length;
    const own = this.#owners.get(kept.owner);
    own?.delete(token);
    if (own?.size === 0) this.#owners.delete(kept.owner);
  }
}

/** Whose an output is: a run's, a session's, a person's. It does not change with the connection. */
export function ownerOf(caller: Caller): string {
  return caller.kind === 'person' ? `person:${caller.name}` : caller.session;
}
