import { isStoreError, type Delivery, type Message, type Receiver, type SessionId } from '@reveille/protocol';
import { deliveries } from './briefing.ts';
import { newId, type Context } from './context.ts';
import { decide } from './decide.ts';
import { giveBack, inOrder, markRead, queuedMessages, take } from './mailbox.ts';
import type { Along, Taker } from './mailroom.ts';
import type { Seen } from './ports/executor.ts';
import type { Tx } from './tx.ts';

/**
 * A connected session that is no worker: a chat, a terminal, an orchestrator's client. It is given all its mail at
 * once; that its receiver returned is the sign that it arrived, and if it throws the mail is queued again.
 */
export class AttachedReceiver implements Taker {
  readonly #context: Context;
  readonly #session: SessionId;
  readonly #receive: Receiver;
  #connected = true;
  /** Its mail has been taken up to this number; null: a look at the mailbox has to say what there is. */
  #upTo: number | null = null;
  #looking = false;
  /** Taken for good, to be handed over together. */
  #waiting: Message[] = [];
  #giving = false;
  /** It is being given something. What comes meanwhile is not taken: it would be said to be delivered before it can be. */
  #handing = false;
  /** Whether it was to look meanwhile. */
  #missed = false;

  constructor(context: Context, session: SessionId, receive: Receiver) {
    this.#context = context;
    this.#session = session;
    this.#receive = receive;
  }

  disconnect(): void {
    this.#connected = false;
  }

  async takeAlong(tx: Tx): Promise<Along | null> {
    if (!this.#connected || this.#handing) return null;
    const brought = this.#brought(tx);
    if (!brought && (this.#looking || this.#giving)) return null;
    const messages = await this.#take(tx, brought);
    if (messages.length === 0) return null;
    return { committed: () => this.#give(messages), lost: () => this.#forget() };
  }

  async look(): Promise<void> {
    this.#missed = this.#giving;
    if (!this.#connected || this.#giving) return;
    this.#looking = true;
    try {
      this.#give(await decide(this.#context, (tx) => this.#take(tx, null)));
    } catch (error) {
      this.#forget();
      throw error;
    } finally {
      this.#looking = false;
    }
  }

  /** What this very decision puts into the mailbox, if nothing else waits there: a thousand ends need no look at all. */
  #brought(tx: Tx): Message[] | null {
    const upTo = this.#upTo;
    const mail = tx.known('session', this.#session)?.mail;
    if (upTo === null || mail === undefined) return null;
    const letters = [...tx.lettersTo(this.#session)];
    const isNew = letters.every(({ number, state }) => number > upTo && state === 'queued');
    return isNew && letters.length === mail - upTo ? letters : null;
  }

  async #take(tx: Tx, brought: Message[] | null): Promise<Message[]> {
    const id = newId(this.#context, 'call');
    const queued = brought ?? (await queuedMessages(tx, this.#session));
    this.#upTo = tx.known('session', this.#session)?.mail ?? null;
    return take(tx, queued, { by: 'receiver', id, run: null, epoch: 0 });
  }

  #forget(): void {
    this.#upTo = null;
  }

  /** All that one commit brought goes together: those who wait for it hear of it one after another, in the same moment. */
  #give(messages: readonly Message[]): void {
    this.#waiting.push(...messages);
    if (this.#giving) return;
    this.#giving = true;
    void Promise.resolve().then(() => this.#giveAll());
  }

  async #giveAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const messages = inOrder(this.#waiting);
      this.#waiting = [];
      // One that has gone meanwhile has not seen them.
      const seen = this.#connected ? await this.#hand(messages) : 'no';
      await this.#record(messages, seen);
    }
    this.#giving = false;
    if (this.#missed) this.#context.wake([this.#session]);
  }

  /** What became of them is recorded however often it takes: nobody else knows that they were handed over. */
  async #record(messages: readonly Message[], seen: Seen): Promise<void> {
    try {
      const record = async (tx: Tx): Promise<void> => {
        const rows = await again(tx, messages);
        if (seen === 'yes') markRead(tx, rows);
        else giveBack(tx, rows, seen);
      };
      // Behind the ends that are on their way to it: they become one record more, not one each.
      await decide(this.#context, record, { crowd: this.#session });
    } catch (error) {
      const { retries, log } = this.#context;
      log?.(isStoreError(error) ? 'warn' : 'error', 'what a receiver got is recorded later', {
        session: this.#session,
        error: String(error),
      });
      retries.later(() => void this.#record(messages, seen));
    }
  }

  async #hand(messages: readonly Message[]): Promise<Seen> {
    this.#handing = true;
    try {
      return await this.#handNow(messages);
    } finally {
      this.#handing = false;
    }
  }

  async #handNow(messages: readonly Message[]): Promise<Seen> {
    let rendered: Delivery[];
    try {
      rendered = await deliveries(this.#context.store, messages);
    } catch {
      // The store cannot be read now; the receiver has done nothing wrong. What goes back is looked for again.
      this.#forget();
      return 'no';
    }
    try {
      await this.#receive(rendered);
      return 'yes';
    } catch (error) {
      this.#connected = false;
      this.#context.log?.('warn', 'a receiver failed and is disconnected; its mail waits', {
        session: this.#session,
        error: String(error),
      });
      return 'unknown';
    }
  }
}

async function again(tx: Tx, messages: readonly Message[]): Promise<Message[]> {
  const rows: Message[] = [];
  for (const { id } of messages) rows.push(tx.known('message', id) ?? (await tx.need('message', id)));
  return rows;
}
