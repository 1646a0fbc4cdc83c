import { ERRORS, ReveilleError, isReveilleError, type ErrorCode } from '../errors.ts';
import { Answer, HTTP_PROTOCOL, PROTOCOL_HEADER } from './contract.ts';

/** Where the daemon is, and who calls. */
export interface Endpoint {
  readonly url: string;
  readonly token: string;
}

export interface Link {
  readonly fetch: typeof globalThis.fetch;
  /** The daemon may be another one by now, at another address. Null: there is only this one. */
  readonly renew: (() => Promise<Endpoint>) | null;
  /** Whether the daemon at the endpoint is known to be gone. */
  readonly isGone: () => boolean;
  /** Lets so many calls through at once; the daemon takes only so many connections. */
  readonly turnstile: Turnstile;
  endpoint: Endpoint;
  renewing: Promise<void> | null;
}

/** As many as there are places; the others wait in line. */
export class Turnstile {
  readonly #line: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#line.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#line.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** It may be made again although nobody knows whether it was done. */
  readonly repeatable: boolean;
  /** It may be answered much later. */
  readonly waits?: boolean;
}

/** Makes a call, and once more at the address of a new daemon if that can do no harm. */
export async function send(link: Link, call: Call): Promise<Response> {
  // Sent into a connection that is just breaking, a call that may not be made twice could not be made again.
  if (link.renew && !call.repeatable && link.isGone()) await renewed(link, link.renew);
  const { endpoint } = link;
  try {
    return await sendOnce(link, call);
  } catch (error) {
    if (!link.renew || !mayRepeat(error, call)) throw error;
    // Another call may have found the new daemon meanwhile.
    if (link.endpoint === endpoint) await renewed(link, link.renew);
    return sendOnce(link, call);
  }
}

/** One search for all that miss the daemon at the same time. */
function renewed(link: Link, renew: () => Promise<Endpoint>): Promise<void> {
  const search = async (): Promise<void> => {
    try {
      link.endpoint = await renew();
    } finally {
      link.renewing = null;
    }
  };
  return (link.renewing ??= search());
}

/** A call that is answered with one value. */
export async function ask(link: Link, call: Call): Promise<unknown> {
  const made = async (): Promise<unknown> => readAnswer(await send(link, call), call);
  // Whoever waits for something stands in nobody's way.
  const value = await (call.waits ? made() : link.turnstile.pass(made));
  // JSON has no undefined, and no operation answers with null.
  return value ?? undefined;
}

async function sendOnce(link: Link, call: Call): Promise<Response> {
  const { url, token } = link.endpoint;
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    [PROTOCOL_HEADER]: String(HTTP_PROTOCOL),
  };
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  const response = await link
    .fetch(new URL(call.path, url), {
      method: call.method,
      headers,
      redirect: 'error',
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      ...(call.signal ? { signal: call.signal } : {}),
    })
    .catch((error: unknown) => {
      throw broken(error, call);
    });
  if (!response.ok) await readAnswer(response, call);
  return response;
}

async function readAnswer(response: Response, call: Call): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    throw broken(error, call);
  });
  const answer = Answer.safeParse(json(text));
  if (answer.success && 'error' in answer.data) throw asError(answer.data.error);
  if (answer.success && 'value' in answer.data && response.ok) return answer.data.value;
  const words = `What answered (${response.status}) is not a Reveille daemon that this client understands.`;
  throw new ReveilleError('version_mismatch', words, { data: { status: response.status } });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asError({ code, message, data }: { code: string; message: string; data: unknown }): ReveilleError {
  const known: Record<string, unknown> = typeof data === 'object' && data !== null ? { ...data } : {};
  if (Object.hasOwn(ERRORS, code)) return new ReveilleError(code as ErrorCode, message, { data: known });
  return new ReveilleError('internal', message, { data: { ...known, code } });
}

/** The connection did not come about, or broke. */
function broken(error: unknown, call: Call): ReveilleError {
  if (call.signal?.aborted) return new ReveilleError('aborted', 'The call was given up.', { cause: error });
  const refused = causeCode(error) === 'ECONNREFUSED';
  const words = refused
    ? 'The daemon cannot be reached.'
    : 'The connection to the daemon broke; nobody knows whether the call was carried out.';
  return new ReveilleError('unreachable', words, {
    data: { carriedOut: refused ? 'no' : 'unknown' },
    cause: error,
  });
}

/** Node says why a fetch failed; a browser does not. */
function causeCode(error: unknown): unknown {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
}

/** What was refused for its credential, or never arrived, was not done. */
function mayRepeat(error: unknown, call: Call): boolean {
  if (isReveilleError(error, 'unauthorized')) return true;
  if (!isReveilleError(error, 'unreachable')) return false;
  return call.repeatable || error.data['carriedOut'] === 'no';
}
