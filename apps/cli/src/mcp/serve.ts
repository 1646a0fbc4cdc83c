import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Catalogue } from '@reveille/agents';
import type { Client } from '@reveille/protocol';
import { OutputShelf, mcpStdio } from '@reveille/tools';
import type { Seat } from '../seat.ts';
import { chatWorld, takeBack } from './world.ts';

export interface ServeOptions {
  readonly seat: Seat;
  readonly agents: Catalogue;
  readonly repository: string | null;
  readonly version: string;
  readonly in: Readable;
  readonly out: Writable;
  readonly warn: (words: string) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * Serves a chat until it is gone. What was written to it counts as received, as over HTTP; what was under way when it
 * left, or could not be written, waits for it when it comes back.
 */
export async function serveChat(options: ServeOptions): Promise<void> {
  const { seat, agents, repository, version, out, warn, signal } = options;
  const { session } = seat;
  const { client, busy } = counted(seat.client);
  // What the last one of this name was given and nobody knows whether it could hand it on.
  await takeBack(client, session);
  let broken = false;
  const breaks = (): void => void (broken = true);
  out.on('error', breaks);
  const world = chatWorld({ session, client, agents, outputs: new OutputShelf(), repository });
  const served = mcpStdio(
    { key: session, kind: 'session', world: () => world },
    { version, stdin: options.in, stdout: out, onError: (error) => warn(error.message) },
  );
  const forget = agents.onChange(() => served.toolsChanged());
  try {
    await over(options.in, signal);
    const received = !broken && busy() === 0 && out.writableLength === 0;
    await served.close();
    // Any call of the session says that it has what it was given before; this one takes nothing.
    if (received) await client.checkUpdates({ taskIds: [] });
  } finally {
    forget();
    out.off('error', breaks);
  }
}

/** The chat is gone, or whoever started this wants it to end. */
async function over(input: Readable, signal: AbortSignal): Promise<void> {
  if (input.destroyed || input.readableEnded || signal.aborted) return;
  const ended = new AbortController();
  const gone = ['end', 'close', 'error'].map((event) => once(input, event, { signal: ended.signal }));
  const stopped = once(signal, 'abort', { signal: ended.signal });
  await Promise.race([...gone, stopped]).catch(() => undefined);
  for (const waiting of [...gone, stopped]) waiting.catch(() => undefined);
  ended.abort();
}

/** The same client, which knows how many of its calls are under way. */
function counted(client: Client): { client: Client; busy: () => number } {
  let calls = 0;
  const proxy = new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        if (!(result instanceof Promise)) return result;
        calls++;
        return result.finally(() => calls--);
      };
    },
  });
  return { client: proxy, busy: () => calls };
}
