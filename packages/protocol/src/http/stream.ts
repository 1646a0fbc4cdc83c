import { ReveilleError, isReveilleError } from '../errors.ts';
import { STREAM } from './contract.ts';
import { send, type Call, type Link } from './request.ts';
import { serverSent, type ServerSent } from './server-sent.ts';

/** The daemon says something every 15 s; a connection that is silent for three times as long is dead. */
const SILENCE_MS = 45_000;
const BACKOFF = { firstMs: 100, longestMs: 2_000 } as const;

/** The messages of one connection. Ends when the connection does, throws if the daemon says that it stops. */
export async function* listen(
  link: Link,
  call: Call & { readonly signal: AbortSignal; readonly opened?: () => void },
): AsyncGenerator<ServerSent, void, undefined> {
  const silence = new AbortController();
  const signal = AbortSignal.any([call.signal, silence.signal]);
  const response = await send(link, { ...call, signal });
  if (!response.body) return;
  call.opened?.();
  const giveUp = (): void => silence.abort();
  let timer = setTimeout(giveUp, SILENCE_MS);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, SILENCE_MS);
  };
  try {
    for await (const message of serverSent(response.body, heard)) {
      if (message.event === STREAM.stopping)
        throw new ReveilleError('stopping', 'The daemon was stopped. Start it again, or call it, to go on.');
      yield message;
    }
  } catch (error) {
    // That the connection broke is an end like any other: whoever listens goes on from where it was.
    if (isReveilleError(error)) throw error;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** Whether it is worth trying again: a broken connection is, a refusal is not. */
export const isBroken = (error: unknown): boolean => isReveilleError(error, 'unreachable');

/** Longer after every failure, a little at random so that not everybody comes back at once. */
export class Backoff {
  #ms: number = BACKOFF.firstMs;

  reset(): void {
    this.#ms = BACKOFF.firstMs;
  }

  async wait(signal: AbortSignal): Promise<void> {
    const ms = this.#ms * (0.5 + Math.random() / 2);
    this.#ms = Math.min(BACKOFF.longestMs, this.#ms * 2);
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
