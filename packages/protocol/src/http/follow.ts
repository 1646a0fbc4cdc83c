import { z } from 'zod';
import { ReveilleEvent } from '../event.ts';
import { HTTP_ROUTES } from './contract.ts';
import type { Link } from './request.ts';
import { Backoff, isBroken, listen } from './stream.ts';

export interface FollowOptions {
  /** The number of the last event that is known; 0 for all of them. */
  readonly after?: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Told when the connection has broken, and when there is one again. */
  readonly connected?: (isConnected: boolean) => void;
}

const Batch = z.array(ReveilleEvent);

/**
 * The events as they are committed, in batches. A connection that breaks is made again from the last number seen, so
 * none is missed and none comes twice. Ends when its signal says so; throws when the daemon refuses or is stopped.
 */
export async function* follow(
  link: Link,
  { after = 0, signal = new AbortController().signal, connected = () => undefined }: FollowOptions,
): AsyncGenerator<readonly ReveilleEvent[], void, undefined> {
  const backoff = new Backoff();
  let last = after;
  while (!signal.aborted) {
    const path = `${HTTP_ROUTES.events.path}?after=${last}`;
    try {
      const opened = (): void => connected(true);
      for await (const { data } of listen(link, { method: 'GET', path, signal, repeatable: true, opened })) {
        const events = Batch.parse(JSON.parse(data)).filter(({ number }) => number > last);
        // Never seen; but a gap would be a loss that nobody notices, and asking again cannot harm.
        if (events[0] && events[0].number !== last + 1) break;
        last = events.at(-1)?.number ?? last;
        backoff.reset();
        if (events.length > 0) yield events;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isBroken(error)) throw error;
    }
    if (!signal.aborted) connected(false);
    await backoff.wait(signal);
  }
}
