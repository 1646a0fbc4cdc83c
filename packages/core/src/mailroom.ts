import type { Message, SessionId } from '@reveille/protocol';

/** Something at a session that may take its mail: a waiting call, its worker run, an attached receiver. */
export interface Taker {
  /** Looks at the mailbox and takes what is its to take. Must not throw for a store that fails: it is woken again. */
  look(): Promise<void>;
  /** A message it is waiting for: nobody behind it in the line should take it. */
  wants?(message: Message): boolean;
  /** The engine stops: whoever waits is told so. */
  close?(): void;
}

/**
 * Per session a small machine: nobody looks, somebody looks, somebody looks and will once more. A wake only ever
 * asks for a look; several become one; one that comes during a look makes another follow, so none is missed.
 * Calls look first, in the order they came, then whoever holds the session.
 */
class Desk {
  readonly calls = new Set<Taker>();
  holder: Taker | null = null;
  #looking = false;
  #again = false;

  async look(): Promise<void> {
    this.#again = true;
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (this.#again) {
        this.#again = false;
        for (const taker of [...this.calls]) await taker.look();
        await this.holder?.look();
      }
    } finally {
      this.#looking = false;
    }
  }

  get empty(): boolean {
    return this.calls.size === 0 && this.holder === null;
  }
}

/** Who is at which mailbox, on this host. All of it is in memory: what it forgets, the sweep finds again. */
export class Mailroom {
  readonly #desks = new Map<SessionId, Desk>();
  readonly #orphan: (session: SessionId) => void;
  readonly #failed: (session: SessionId, error: unknown) => void;

  /** `orphan` is told of a wake for a session nobody here looks after. */
  constructor(orphan: (session: SessionId) => void, failed: (session: SessionId, error: unknown) => void) {
    this.#orphan = orphan;
    this.#failed = failed;
  }

  wake(session: SessionId): void {
    const desk = this.#desks.get(session);
    if (!desk?.holder) this.#orphan(session);
    desk?.look().catch((error: unknown) => this.#failed(session, error));
  }

  sit(session: SessionId, role: 'call' | 'holder', taker: Taker): () => void {
    let desk = this.#desks.get(session);
    if (!desk) this.#desks.set(session, (desk = new Desk()));
    const own = desk;
    if (role === 'call') own.calls.add(taker);
    else own.holder = taker;
    return () => {
      own.calls.delete(taker);
      // Only its own place: a successor may sit there by now (B29e).
      if (own.holder === taker) own.holder = null;
      if (own.empty && this.#desks.get(session) === own) this.#desks.delete(session);
    };
  }

  holder(session: SessionId): Taker | null {
    return this.#desks.get(session)?.holder ?? null;
  }

  close(): void {
    for (const desk of this.#desks.values()) for (const call of desk.calls) call.close?.();
  }

  /** Whether a call that is waiting at this session wants the message for itself. */
  wanted(session: SessionId, message: Message): boolean {
    const calls = this.#desks.get(session)?.calls ?? [];
    for (const call of calls) if (call.wants?.(message)) return true;
    return false;
  }
}
