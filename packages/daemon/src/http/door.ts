import type { IncomingMessage } from 'node:http';
import { authorize, checkCaller, type Engine } from '@reveille/core';
import {
  AUTHORITY,
  HTTP_PROTOCOL,
  PROTOCOL_HEADER,
  ReveilleError,
  type Caller,
  type HttpOperation,
  type RouteOperation,
} from '@reveille/protocol';
import type { Credentials } from './credentials.ts';

const refused = (why: string): ReveilleError => new ReveilleError('unauthorized', why);

/** Who calls. Throws `unauthorized` if nobody we know does. */
export function identify(credentials: Credentials, request: IncomingMessage): Caller {
  if (credentialIn(request) === null)
    throw refused('A credential is needed: send it as "Authorization: Bearer …".');
  const caller = callerOf(credentials, request);
  if (!caller) throw refused('The credential is not one of this daemon. It may be of an earlier one.');
  return caller;
}

/** Who calls; null: nobody we know. */
export function callerOf(credentials: Credentials, request: IncomingMessage): Caller | null {
  const credential = credentialIn(request);
  return credential === null ? null : credentials.read(credential);
}

function credentialIn({ headers }: IncomingMessage): string | null {
  const [scheme, credential, ...more] = (headers.authorization ?? '').split(' ');
  return scheme?.toLowerCase() === 'bearer' && credential && more.length === 0 ? credential : null;
}

/** Whether a browser of the person calls, not a program with the token itself. */
const isPage = ({ headers }: IncomingMessage): boolean =>
  (headers.authorization ?? '').toLowerCase().startsWith('bearer rvb_');

/** A client that would misunderstand the answer is told so instead. */
export function checkProtocol({ headers }: IncomingMessage): void {
  const theirs = headers[PROTOCOL_HEADER];
  if (theirs === undefined || theirs === String(HTTP_PROTOCOL)) return;
  const older = Number(theirs) < HTTP_PROTOCOL;
  const words = older
    ? 'The client is older than the daemon. Update it, or stop the daemon and start one of its version.'
    : 'The daemon is older than the client. Stop it (`reveille daemon stop`); the next command starts a new one.';
  throw new ReveilleError('version_mismatch', words, { data: { daemon: HTTP_PROTOCOL } });
}

/**
 * Refuses a caller whose run, epoch or session has ended (ID3). A report that comes too late is let through, because the engine
 * refuses it and records that it came (ID4).
 */
export async function checkCounts(
  { host }: Engine,
  caller: Caller,
  operation?: HttpOperation,
): Promise<void> {
  if (operation !== 'reportCompletion') await checkCaller(host.records.rows, caller);
}

/** Refuses a route that the authority table does not give to this caller (ID6), or whose credential no longer counts. */
export async function authorizeRoute(
  engine: Engine,
  caller: Caller,
  route: RouteOperation,
  request: IncomingMessage,
): Promise<void> {
  const { may } = AUTHORITY[route];
  const isPersons = may.terminal === undefined && may.chat === undefined && may.worker === undefined;
  if ((isPersons && caller.kind !== 'person') || (isPage(request) && may.page === undefined))
    throw new ReveilleError('not_allowed', 'Only the person, with the token of the lock file, may do this.');
  await checkCounts(engine, caller);
  await authorize(engine.host.records, caller, route);
}
