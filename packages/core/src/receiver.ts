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
  /** How much is being taken or handed over just now; what comes meanwhile is for the next look. */
  #busy = 0;
  /** One hand-over after another, in the order of the commits. */
  #last: Promise<void> = Promise.resolve();

  constructor(context: Context, session: SessionId, receive: Receiver) {
    this.#context = context;
    this.#session = session;
    this.#receive = receive;
  }

  disconnect(): void {
    this.#connected = false;
  }

  async takeAlong(tx: Tx): Promise<Along | null> {
    if (!this.#connected || this.#busy > 0) return null;
    const messages = await this.#take(tx);
    if (messages.length === 0) return null;
    this.#busy++;
    const done = (): void => void this.#busy--;
    return { committed: () => void this.#give(messages).finally(done), lost: done };
  }

  async look(): Promise<void> {
    if (!this.#connected) return;
    this.#busy++;
    try {
      const messages = await decide(this.#context, (tx) => this.#take(tx));
      if (messages.length > 0) await this.#give(messages);
    } finally {
      this.#busy--;
    }
  }

  async #take(tx: Tx): Promise<Message[]> {
    const id = newId(this.#context, 'call');
    return take(tx, await queuedMessages(tx, this.#session), { by: 'receiver', id, run: null, epoch: 0 });
  }

  #give(messages: readonly Message[]): Promise<void> {
    const give = async (): Promise<void> => {
      // One that has gone meanwhile has not seen them.
      await this.#record(messages, this.#connected ? await this.#hand(messages) : 'no');
    };
    return (this.#last = this.#last.then(give));
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
  for (const { id } of messages) rows.push(tx.known('message', id) ?? (await tx.need('message', id)));
  return rows;
}
