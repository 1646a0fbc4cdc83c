import { isStoreError, type Delivery, type Message, type Receiver, type SessionId } from '@reveille/protocol';
import { deliveries } from './briefing.ts';
import { newId, type Context } from './context.ts';
import { decide } from './decide.ts';
import { giveBack, markRead, queuedMessages, take } from './mailbox.ts';
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
  /** It takes or is given mail just now; what comes meanwhile is for the next look. */
  #busy = false;
  /** Taken in the change that brought them, and not yet handed over. */
  #taken: Message[] = [];

  constructor(context: Context, session: SessionId, receive: Receiver) {
    this.#context = context;
    this.#session = session;
    this.#receive = receive;
  }

  disconnect(): void {
    this.#connected = false;
    this.#giveBackTaken();
  }

  async takeAlong(tx: Tx): Promise<Along | null> {
    if (!this.#connected || this.#busy) return null;
    this.#busy = true;
    try {
      const messages = await this.#take(tx);
      const settled = (committed: boolean): void => {
        this.#busy = false;
        if (committed) this.#taken.push(...messages);
        if (!this.#connected) this.#giveBackTaken();
      };
      return { committed: () => settled(true), lost: () => settled(false) };
    } catch (error) {
      this.#busy = false;
      throw error;
    }
  }

  async look(): Promise<void> {
    if (!this.#connected) return;
    this.#busy = true;
    try {
      const found = this.#taken.length > 0 ? [] : await decide(this.#context, (tx) => this.#take(tx));
      const messages = [...this.#taken.splice(0), ...found];
      if (messages.length > 0) await this.#record(messages, await this.#hand(messages));
    } finally {
      this.#busy = false;
    }
  }

  async #take(tx: Tx): Promise<Message[]> {
    const id = newId(this.#context, 'call');
    return take(tx, await queuedMessages(tx, this.#session), { by: 'receiver', id, run: null, epoch: 0 });
  }

  /** It has gone before they were handed over: nobody has seen them. */
  #giveBackTaken(): void {
    const messages = this.#taken.splice(0);
    if (messages.length > 0) void this.#record(messages, 'no');
  }

  /** What became of them is recorded however often it takes: nobody else knows that they were handed over. */
  async #record(messages: readonly Message[], seen: Seen): Promise<void> {
    try {
      await decide(this.#context, async (tx) => {
        const rows = await again(tx, messages);
        if (seen === 'yes') markRead(tx, rows);
        else giveBack(tx, rows, seen);
      });
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
    let rendered: Delivery[];
    try {
      rendered = await deliveries(this.#context.store, messages);
    } catch {
      // The store cannot be read now; the receiver has done nothing wrong.
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
  for (const { id } of messages) rows.push(await tx.need('message', id));
  return rows;
}
