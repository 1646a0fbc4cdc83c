import { ReveilleError, STREAM, invalidInput } from '@reveille/protocol';
import type { EventFeed } from '../events/feed.ts';
import type { Exchange } from './answer.ts';
import { SseStream, sseMessage, type SseOptions } from './sse.ts';

/** The open streams of events. */
export class EventStreams {
  readonly #feed: EventFeed;
  readonly #options: SseOptions;
  readonly #open = new Set<SseStream>();

  constructor(feed: EventFeed, options: SseOptions) {
    this.#feed = feed;
    this.#options = options;
  }

  /** Sends every event after the number that the client had last, for as long as it listens. */
  async serve({ request, response, log, id }: Exchange): Promise<void> {
    let after = await this.#from(request.headers['last-event-id'], request.url ?? '');
    const stream = new SseStream(response, this.#options);
    this.#open.add(stream);
    const next = this.#feed.reader(stream.closed);
    try {
      for (let chunk = await next(after); chunk; chunk = await next(after)) {
        stream.write(chunk.bytes);
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

  /** Tells everybody that there is nothing more to come. */
  stop(): void {
    for (const stream of this.#open) {
      stream.write(sseMessage({ event: STREAM.stopping, data: null }));
      stream.end();
    }
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
