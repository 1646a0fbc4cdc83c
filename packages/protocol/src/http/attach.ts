import { z } from 'zod';
import { ReveilleError, isReveilleError } from '../errors.ts';
import type { SessionId } from '../ids.ts';
import type { Delivery, Receiver } from '../orchestrator.ts';
import { HTTP_ROUTES, STREAM } from './contract.ts';
import { ask, type Link } from './request.ts';
import type { ServerSent } from './server-sent.ts';
import { Backoff, isBroken, listen } from './stream.ts';

const Attached = z.object({ attachment: z.string() });

interface Attachment {
  readonly session: SessionId;
  readonly receive: Receiver;
  /** It can no longer be had, after it was. */
  readonly lost: (error: unknown) => void;
}

/**
 * Mail wakes the receiver, as in process: a batch counts as read when the receiver has returned and the daemon has been
 * told so. A connection that breaks is made again; what was under way then comes once more, marked as perhaps seen.
 */
export async function attach(link: Link, attachment: Attachment): Promise<() => Promise<void>> {
  const line = new Line(link, attachment);
  await line.open();
  return () => line.close();
}

class Line {
  readonly #link: Link;
  readonly #attachment: Attachment;
  readonly #over = new AbortController();
  #id: string | null = null;
  /** The receiver is at work: what it has is recorded before the line is cut. */
  #busy = false;
  #closing = false;

  constructor(link: Link, attachment: Attachment) {
    this.#link = link;
    this.#attachment = attachment;
  }

  /** Resolves when the daemon has taken the session as attached; rejects if it refuses. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#keep(resolve).catch((error: unknown) => {
        if (this.#id === null) reject(error);
        else this.#attachment.lost(error);
      });
    });
  }

  /** Does not wait for the receiver, which may be who calls. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const path = HTTP_ROUTES.detach.path.replace(':attachment', this.#id ?? '');
    // A daemon that is gone holds nothing.
    await ask(this.#link, { method: 'POST', path, body: {}, repeatable: false }).catch(() => undefined);
    if (!this.#busy) this.#over.abort();
  }

  async #keep(attached: () => void): Promise<void> {
    const { signal } = this.#over;
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        for await (const message of this.#listen()) {
          backoff.reset();
          await this.#take(message, attached);
        }
      } catch (error) {
        if (signal.aborted) return;
        // The first time, whoever attaches wants to know.
        if (!isBroken(error) || this.#id === null) throw error;
      }
      if (this.#closing) return;
      await backoff.wait(signal);
    }
  }

  #listen(): AsyncGenerator<ServerSent, void, undefined> {
    const { method, path } = HTTP_ROUTES.attach;
    const body = { session: this.#attachment.session };
    return listen(this.#link, { method, path, body, signal: this.#over.signal, repeatable: true });
  }

  async #take({ event, id, data }: ServerSent, attached: () => void): Promise<void> {
    if (event === STREAM.superseded)
      throw new ReveilleError('wrong_state', 'Somebody else attached to this session.');
    if (event === STREAM.attached) {
      this.#id = Attached.parse(JSON.parse(data)).attachment;
      return attached();
    }
    this.#busy = true;
    try {
      // From the daemon, whose token we have: it is what the interface says.
      const received = await this.#receive(JSON.parse(data) as readonly Delivery[]);
      await this.#receipt({ batch: Number(id), received });
      // As in process: whoever throws is disconnected.
      if (!received) this.#over.abort();
    } finally {
      this.#busy = false;
      if (this.#closing) this.#over.abort();
    }
  }

  async #receive(deliveries: readonly Delivery[]): Promise<boolean> {
    try {
      await this.#attachment.receive(deliveries);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * A receipt that does not arrive is a broken connection: the mail comes again, and may have been seen. One that nobody
   * wants any more is not: the stream goes on to say why.
   */
  async #receipt(body: { batch: number; received: boolean }): Promise<void> {
    const path = HTTP_ROUTES.receipt.path.replace(':attachment', this.#id ?? '');
    await ask(this.#link, { method: 'POST', path, body, repeatable: false }).catch((cause: unknown) => {
      if (!isReveilleError(cause, 'not_found'))
        throw new ReveilleError('unreachable', 'The daemon did not take a receipt.', { cause });
    });
  }
}
