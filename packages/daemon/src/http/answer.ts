import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERRORS, ReveilleError, isReveilleError, isScarce, type Health } from '@reveille/protocol';
import type { Log } from '../log/log.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Names the request in the log. */
  readonly id: string;
  readonly log: Log;
  /** Why nothing is acknowledged any more; see place/presence.ts. */
  readonly lost: () => ReveilleError | null;
}

/** Sends a value, as every client expects it. It is true only as long as the database that it is in can be read again. */
export function sendValue(exchange: Exchange, value: unknown): void {
  const lost = exchange.lost();
  if (lost) return sendError(exchange, lost);
  finish(exchange.response, 200, { value: value ?? null });
}

/** Says how the daemon is, whatever has happened to its place. */
export function sendHealth({ response }: Pick<Exchange, 'response'>, health: Health): void {
  finish(response, 200, { value: health });
}

/** Sends what went wrong. A defect is told in the log, with its stack; outside only that there is one. */
export function sendError(exchange: Exchange, error: unknown, status?: number): void {
  const told = asTold(exchange, error);
  finish(exchange.response, status ?? ERRORS[told.code].http, { error: errorBody(told) });
}

/** Without the error's own words, which name files of the daemon. */
const NO_ROOM =
  'The machine that the daemon runs on has no room on its disk, or for another file, process or page of memory. Make room and try again.';

export function asTold({ log, id, request }: Exchange, error: unknown): ReveilleError {
  if (isReveilleError(error) && error.code !== 'internal') return error;
  if (isScarce(error)) {
    log.warn('a request failed because the machine lacks something', { request: id, error });
    return new ReveilleError('store_failed', NO_ROOM);
  }
  log.error('a request met a defect', { request: id, path: pathOf(request), error });
  return new ReveilleError('internal', `This is a defect of Reveille; the log has it under ${id}.`, {
    data: { request: id },
  });
}

export const errorBody = ({ code, message, data }: ReveilleError) => ({ code, message, data });

/** Without the query: somebody may put a token there. */
export const pathOf = ({ url = '' }: IncomingMessage): string => (url.split('?', 1)[0] ?? '').slice(0, 200);

function finish(response: ServerResponse, status: number, body: unknown): void {
  if (response.writableEnded || response.destroyed) return;
  const text = JSON.stringify(body);
  if (!response.headersSent) {
    response.statusCode = status;
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.setHeader('content-length', Buffer.byteLength(text));
    if (status === 401) response.setHeader('www-authenticate', 'Bearer');
    // What is left of a request that was not read must not be taken for the next one.
    if (!response.req.complete) response.setHeader('connection', 'close');
  }
  response.end(text);
}
