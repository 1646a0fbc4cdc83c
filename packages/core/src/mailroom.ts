import type { Message, SessionId } from '@reveille/protocol';
import { Stepper, type Stepped } from './stepper.ts';
import type { Tx } from './tx.ts';

/** Something at a session that may take its mail: a waiting call, its worker run, an attached receiver. */
export interface Taker {
  /** Looks at the mailbox and takes what is its to take. */
  look(): Promise<void>;
  /** A message it is waiting for: nobody behind it in the line should take it. */
  wants?(message: Message): boolean;
  /** Takes its mail in the change that brings it, if it has nothing else to do. */
  takeAlong?(tx: Tx): Promise<Along | null>;
  /** The engine stops: whoever waits is told so. */
  close?(): void;
}

/** What is to be done about mail that was taken in a change, when it is known what became of that. */
export interface Along {
  readonly committed: () => void;
  readonly lost: () => void;
}

/** Of ten thousand sessions hardly one has a call waiting. */
const NONE: readonly Taker[] = [];

type Failed = (session: SessionId, error: unknown) => void;

/** A session's place: calls look first, in the order they came, then whoever holds the session. */
class Desk implements Stepped {
  calls: readonly Taker[] = NONE;
  holder: Taker | null = null;
  readonly looks = new Stepper(this);
  readonly #session: SessionId;
  readonly #failed: Failed;

  constructor(session: SessionId, failed: Failed) {
    this.#session = session;
    this.#failed = failed;
  }

  async step(): Promise<void> {
    // One that has left while another looked has nothing to take any more.
    for (const call of this.calls) if (this.calls.includes(call)) await call.look();
    await this.holder?.look();
  }

  failed(error: unknown): void {
    this.#failed(this.#session, error);
  }
}

/**
 * Who is at which mailbox, on this host. A wake asks for a look; see Stepper for why none is missed. All of it is in
 * memory: what it forgets, the sweep finds again.
 */
export class Mailroom {
  readonly #desks = new Map<SessionId, Desk>();
  readonly #orphan: (session: SessionId) => void;
  readonly #failed: Failed;
  #closed = false;

  /** `orphan` is told of a wake for a session that nobody here holds. */
  constructor(orphan: (session: SessionId) => void, failed: Failed) {
    this.#orphan = orphan;
    this.#failed = failed;
  }

  wake(session: SessionId): void {
    const desk = this.#desks.get(session);
    if (!desk?.holder) this.#orphan(session);
    desk?.looks.poke();
  }

  sit(session: SessionId, role: 'call' | 'holder', taker: Taker): void {
    const desk = this.#desks.get(session) ?? this.#open(session);
    if (role === 'call') desk.calls = [...desk.calls, taker];
    else desk.holder = taker;
    // A call that was on its way here when the engine stopped would wait for nobody.
    if (this.#closed) taker.close?.();
  }

  leave(session: SessionId, taker: Taker): void {
    const desk = this.#desks.get(session);
    if (!desk) return;
    if (desk.calls.includes(taker)) desk.calls = desk.calls.filter((call) => call !== taker);
    // Only its own place: a successor may sit there by now (B29e).
    if (desk.holder === taker) desk.holder = null;
    if (desk.calls.length === 0 && !desk.holder) this.#desks.delete(session);
  }

  #open(session: SessionId): Desk {
    const desk = new Desk(session, this.#failed);
    this.#desks.set(session, desk);
    return desk;
  }

  /**
   * Lets those who hold the sessions that a change wakes take their mail in it: it is in their hands one commit sooner.
   * Not if a call waits there, which may want it.
   */
  async takeAlong(tx: Tx): Promise<Along> {
    const taken: Along[] = [];
    const all = (what: keyof Along) => (): void => {
      for (const along of taken) along[what]();
    };
    const together: Along = { committed: all('committed'), lost: all('lost') };
    try {
      for (const session of tx.wakes) {
        const desk = this.#desks.get(session);
        const along = desk?.calls.length === 0 ? await desk.holder?.takeAlong?.(tx) : null;
        if (!along) continue;
        tx.letSleep(session);
        taken.push(along);
      }
    } catch (error) {
      together.lost();
      throw error;
    }
    return together;
  }

  holder(session: SessionId): Taker | null {
    return this.#desks.get(session)?.holder ?? null;
  }

  /** Whether a call that is waiting at this session wants the message for itself. */
  wanted(session: SessionId, message: Message): boolean {
    for (const call of this.#desks.get(session)?.calls ?? []) if (call.wants?.(message)) return true;
    return false;
  }

  close(): void {
    this.#closed = true;
    for (const desk of this.#desks.values()) for (const call of desk.calls) call.close?.();
  }
}
