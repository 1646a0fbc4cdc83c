import type { Message, Receiver, SessionId } from '@reveille/protocol';
import { deliveries } from './briefing.ts';
import { newId, type Context } from './context.ts';
import { decide } from './decide.ts';
import { giveBack, markRead, queuedMessages, take } from './mailbox.ts';
import type { Taker } from './mailroom.ts';
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

  constructor(context: Context, session: SessionId, receive: Receiver) {
    this.#context = context;
    this.#session = session;
    this.#receive = receive;
  }

  disconnect(): void {
    this.#connected = false;
  }

  async look(): Promise<void> {
    if (!this.#connected) return;
    const id = newId(this.#context, 'call');
    const messages = await decide(this.#context, async (tx) =>
      take(tx, await queuedMessages(tx, this.#session), { by: 'receiver', id, run: null, epoch: 0 }),
    );
    if (messages.length === 0) return;
    const arrived = await this.#hand(messages);
    await decide(this.#context, async (tx) => {
      const rows = await again(tx, messages);
      if (arrived) markRead(tx, rows);
      else giveBack(tx, rows, 'unknown');
    });
  }

  async #hand(messages: readonly Message[]): Promise<boolean> {
    try {
      await this.#receive(await deliveries(this.#context.store, messages));
      return true;
    } catch (error) {
      this.#connected = false;
      this.#context.log?.('warn', 'a receiver failed and is disconnected; its mail waits', {
        session: this.#session,
        error: String(error),
      });
      return false;
    }
  }
}

async function again(tx: Tx, messages: readonly Message[]): Promise<Message[]> {
  const rows: Message[] = [];
  for (const { id } of messages) rows.push(await tx.need('message', id));
  return rows;
}
