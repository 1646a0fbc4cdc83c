import type { ServerResponse } from 'node:http';
import { ReveilleError } from '@reveille/protocol';
import { sendError, sendValue, type Exchange } from './answer.ts';

export interface Patience {
  /** How often a call that waits says that it lives: clients and proxies give up on silence. */
  readonly heartbeatMs: number;
}

/**
 * Answers when `call` does. Until then a space is sent now and then, which JSON allows before a value; from the first
 * one on the status is 200, and the body says whether it went well.
 */
export async function answerLater(
  exchange: Exchange,
  call: Promise<unknown>,
  { heartbeatMs }: Patience,
): Promise<void> {
  const { response } = exchange;
  const timer = setInterval(() => beat(response), heartbeatMs);
  try {
    const value = await call;
    sendValue(exchange, value);
  } catch (error) {
    sendError(exchange, error);
  } finally {
    clearInterval(timer);
  }
}

function beat(response: ServerResponse): void {
  if (response.destroyed || response.writableEnded) return;
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.write(' ');
}

/** Gives up on a call that should have been answered long ago. */
export async function within<T>(ms: number, call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const words = 'The daemon did not answer in time; nobody knows whether the call was carried out.';
      reject(new ReveilleError('unreachable', words, { data: { carriedOut: 'unknown' } }));
    }, ms);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}
