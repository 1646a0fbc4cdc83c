import { randomBytes } from 'node:crypto';
import type { Caller, ToolOutputs } from '@reveille/protocol';

/** A character takes two bytes: 32 MB, of which one owner has four. */
const MOST_CHARS = 16_000_000;
const MOST_PER_OWNER = { outputs: 50, chars: 2_000_000 } as const;

interface Owner {
  /** Oldest first. */
  readonly tokens: Set<string>;
  chars: number;
}

/**
 * Keeps long outputs in memory until they are read on. One for all callers of a process: it outlives connections,
 * and what it forgets can be asked for anew. The oldest of an owner go first; of all owners, those of the one with the most.
 */
export class OutputShelf implements ToolOutputs {
  readonly #most: number;
  readonly #kept = new Map<string, { readonly owner: string; readonly text: string }>();
  readonly #owners = new Map<string, Owner>();
  #chars = 0;

  constructor(options: { readonly maxChars?: number } = {}) {
    this.#most = options.maxChars ?? MOST_CHARS;
  }

  keep(owner: string, text: string): string {
    const token = `out_${randomBytes(12).toString('hex')}`;
    const own = this.#owners.get(owner) ?? { tokens: new Set(), chars: 0 };
    this.#owners.set(owner, own);
    own.tokens.add(token);
    own.chars += text.length;
    this.#kept.set(token, { owner, text });
    this.#chars += text.length;
    const { outputs, chars } = MOST_PER_OWNER;
    while (own.tokens.size > 1 && (own.tokens.size > outputs || own.chars > chars)) this.#forgetOldest(own);
    while (this.#chars > this.#most && this.#kept.size > 1) this.#forgetOldest(this.#largest());
    return token;
  }

  read(owner: string, token: string): string | null {
    const kept = this.#kept.get(token);
    return kept?.owner === owner ? kept.text : null;
  }

  #largest(): Owner {
    return [...this.#owners.values()].reduce((most, next) => (next.chars > most.chars ? next : most));
  }

  #forgetOldest(own: Owner): void {
    const [token] = own.tokens;
    const kept = token === undefined ? undefined : this.#kept.get(token);
    if (token === undefined || !kept) return;
    this.#kept.delete(token);
    own.tokens.delete(token);
    own.chars -= kept.text.length;
    this.#chars -= kept.text.length;
    if (own.tokens.size === 0) this.#owners.delete(kept.owner);
  }
}

/** Whose an output is: a run's, a session's, a person's. It does not change with the connection. */
export function ownerOf(caller: Caller): string {
  return caller.kind === 'person' ? `person:${caller.name}` : caller.session;
}
