import {
  ReveilleError,
  STREAM,
  invalidInput,
  type Caller,
  type ReveilleEvent,
  type RunId,
} from '@reveille/protocol';
import type { Chunk, EventFeed } from '../events/feed.ts';
import type { Exchange } from './answer.ts';
import type { CredentialedStreams } from './credentialed-streams.ts';
import { SseStream, sseMessage, type SseOptions } from './sse.ts';

export interface EventStreamOptions {
  readonly feed: EventFeed;
  readonly limits: SseOptions;
  /** The events from one number to another that a caller may see. */
  readonly visible: (caller: Caller, first: number, last: number) => Promise<readonly ReveilleEvent[]>;
  readonly credentialed: Pick<CredentialedStreams, 'keep' | 'counts'>;
}

/** Whose the events of a long log are is found out one by one, for each stream of a run anew: it needs one, and another as it comes back. */
const STREAMS_OF_RUN = 2;

/** The open streams of events. */
export class EventStreams {
  readonly #feed: EventFeed;
  readonly #options: EventStreamOptions;
  readonly #open = new Set<SseStream>();
  readonly #ofRuns = new Map<RunId, number>();

  constructor(options: EventStreamOptions) {
    this.#feed = options.feed;
    this.#options = options;
  }

  /** Sends the events that the caller may see, from the number its client had last, for as long as it listens. */
  async serve(exchange: Exchange, caller: Caller): Promise<void> {
    const { request, response, log, id } = exchange;
    let after = await this.#from(request.headers['last-event-id'], request.url ?? '');
    using _counted = this.#count(caller);
    const stream = new SseStream(response, this.#options.limits);
    this.#open.add(stream);
    this.#options.credentialed.keep(exchange);
    const next = this.#feed.reader(stream.closed);
    try {
      for (let chunk = await next(after); chunk; chunk = await next(after)) {
        const bytes = await this.#visible(caller, chunk);
        // The events may be newer than the end of the credential.
        if (!(await this.#options.credentialed.counts(exchange))) break;
        if (bytes) stream.write(bytes);
        after = chunk.last;
        if (stream.full) await stream.drained();
      }
    } catch (error) {
      // It comes back and goes on where it was.
      log.warn('a stream of events broke off', { request: id, after, error });
    } finally {
      this.#open.delete(stream);
      if (stream.stalled) log.warn('a reader of events took nothing and was cut off', { request: id, after });
      stream.cut();
    }
  }

  /** One stream more of a run, as long as it is held. */
  #count(caller: Caller): Disposable {
    if (caller.kind !== 'worker') return { [Symbol.dispose]: () => undefined };
    const { run } = caller;
    const open = this.#ofRuns.get(run) ?? 0;
    if (open >= STREAMS_OF_RUN)
      throw new ReveilleError(
        'limit_reached',
        `This run has ${open} streams of events open, as many as it may. Read one of them.`,
        { data: { open, limit: STREAMS_OF_RUN } },
      );
    this.#ofRuns.set(run, open + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#ofRuns.get(run) ?? 1) - 1;
        if (left > 0) this.#ofRuns.set(run, left);
        else this.#ofRuns.delete(run);
      },
    };
  }

  /** Tells everybody that there is nothing more to come. */
  stop(): void {
    for (const stream of this.#open) {
      stream.write(sseMessage({ event: STREAM.stopping, data: null }));
      stream.end();
    }
  }

  /** What of a chunk the caller may see; null: nothing. A person sees all of it, as it was encoded for everybody. */
  async #visible(caller: Caller, { first, last, bytes }: Chunk): Promise<Uint8Array | null> {
    if (caller.kind === 'person') return bytes;
    const shown = await this.#options.visible(caller, first, last);
    return shown.length > 0 ? Buffer.from(sseMessage({ id: last, data: shown })) : null;
  }

  async #from(lastEventId: string | string[] | undefined, url: string): Promise<number> {
    // A browser that comes back by itself says where it was in the header; the address is still the first one.
    const text = lastEventId?.toString() ?? new URL(url, 'http://daemon').searchParams.get('after') ?? '0';
    if (!/^\d{1,15}$/.test(text))
      throw invalidInput([{ at: 'after', problem: 'expected the number of an event' }]);
    const after = Number(text);
    const last = await this.#feed.last();
    if (after <= last) return after;
    const words = `There is no event ${after} yet; the last one is ${last}. Was the database replaced?`;
    throw new ReveilleError('wrong_state', words, { data: { last } });
  }
}
