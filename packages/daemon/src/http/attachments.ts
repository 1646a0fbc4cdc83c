import { randomBytes } from 'node:crypto';
import {
  ReveilleError,
  STREAM,
  type Caller,
  type Delivery,
  type Orchestrator,
  type SessionId,
} from '@reveille/protocol';
import type { Exchange } from './answer.ts';
import { SseStream, sseMessage, type SseOptions } from './sse.ts';

/** Only who opened it may speak for it. */
const keyOf = (caller: Caller): string => (caller.kind === 'person' ? 'person' : caller.session);

/**
 * Sessions attached from other processes. The mail goes out on a stream, and counts as received when the receipt for
 * it has come back; if the connection breaks before, nobody knows, and it is queued again.
 */
export class Attachments {
  readonly #options: SseOptions;
  readonly #open = new Map<string, Attachment>();

  constructor(options: SseOptions) {
    this.#options = options;
  }

  /** Resolves when the connection has ended. */
  async serve(
    exchange: Exchange,
    orchestrator: Orchestrator,
    caller: Caller,
    session: SessionId,
  ): Promise<void> {
    const attachment = new Attachment(keyOf(caller), session);
    const leave = await orchestrator.attach(session, (deliveries) => attachment.hand(deliveries));
    // The engine gives mail to the newest one. The one before may be a dead connection that nobody has noticed.
    for (const other of this.#open.values()) if (other.session === session) other.supersede();
    this.#open.set(attachment.id, attachment);
    attachment.leave = leave;
    const stream = new SseStream(exchange.response, this.#options);
    attachment.begin(stream);
    await closing(stream.closed);
    this.#open.delete(attachment.id);
    attachment.giveUp();
    await leave();
  }

  receipt(caller: Caller, id: string, { batch, received }: { batch: number; received: boolean }): void {
    this.#find(caller, id).receipt(batch, received);
  }

  /** No more mail; what is under way may still be received. */
  async detach(caller: Caller, id: string): Promise<void> {
    await this.#find(caller, id).leave();
  }

  stop(): void {
    for (const attachment of this.#open.values()) attachment.end(STREAM.stopping);
  }

  #find(caller: Caller, id: string): Attachment {
    const found = this.#open.get(id);
    if (found?.key === keyOf(caller)) return found;
    throw new ReveilleError('not_found', 'There is no such attachment, or its connection has ended.');
  }
}

class Attachment {
  readonly id = randomBytes(16).toString('hex');
  readonly key: string;
  readonly session: SessionId;
  leave: () => Promise<void> = async () => undefined;
  readonly #pending = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  readonly #begun: Promise<SseStream>;
  #begin: (stream: SseStream) => void = () => undefined;
  #stream: SseStream | null = null;
  #batches = 0;
  #over = false;

  constructor(key: string, session: SessionId) {
    this.key = key;
    this.session = session;
    this.#begun = new Promise((resolve) => (this.#begin = resolve));
  }

  begin(stream: SseStream): void {
    this.#stream = stream;
    stream.write(sseMessage({ event: STREAM.attached, data: { attachment: this.id } }));
    this.#begin(stream);
  }

  /** The receiver that the engine knows: returns when the other side has received it. */
  async hand(deliveries: readonly Delivery[]): Promise<void> {
    const stream = await this.#begun;
    if (this.#over) throw brokenOff();
    const batch = ++this.#batches;
    const received = new Promise<void>((resolve, reject) => this.#pending.set(batch, { resolve, reject }));
    stream.write(sseMessage({ id: batch, data: deliveries }));
    await received;
  }

  receipt(batch: number, received: boolean): void {
    const waiting = this.#pending.get(batch);
    if (!waiting) throw new ReveilleError('not_found', `Nothing is known of batch ${batch}.`);
    this.#pending.delete(batch);
    if (received) waiting.resolve();
    else waiting.reject(new Error('the receiver failed'));
  }

  supersede(): void {
    this.giveUp();
    this.end(STREAM.superseded);
  }

  end(event: string): void {
    this.#stream?.write(sseMessage({ event, data: null }));
    this.#stream?.end();
  }

  giveUp(): void {
    this.#over = true;
    for (const { reject } of this.#pending.values()) reject(brokenOff());
    this.#pending.clear();
  }
}

const brokenOff = (): Error => new Error('the connection broke before the receipt came');

const closing = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
