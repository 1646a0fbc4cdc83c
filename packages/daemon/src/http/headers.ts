import type { IncomingMessage, ServerResponse } from 'node:http';

/** On every answer. What the daemon says is data for programs: nothing in it may run, be framed, or be kept. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

export function setHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

export interface Refusal {
  readonly status: number;
  readonly why: string;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);
const ONCE: ReadonlySet<string> = new Set([
  'host',
  'origin',
  'authorization',
  'content-length',
  'content-type',
  'transfer-encoding',
  'last-event-id',
]);
/** No route of ours needs an escape, a double slash or a step up, so whoever sends one means something else. */
const PATH = /^(?:\/[A-Za-z0-9_.-]+)+\/?$|^\/$/;
const LONGEST_TARGET = 2_048;

/**
 * What is refused before anybody asks who calls. A web page that the user has open can reach loopback: it can have a
 * name of its own resolve to 127.0.0.1 (then `Host` is that name), or send a request across origins (then
 * `Origin` says so). Neither is ours.
 */
export function refusal(request: IncomingMessage, port: number): Refusal | null {
  const { headers, method = '', url = '' } = request;
  if (request.httpVersion !== '1.1') return { status: 400, why: 'Speak HTTP/1.1.' };
  const twice = repeated(request.rawHeaders);
  if (twice) return { status: 400, why: `The header ${twice} was sent more than once.` };
  if (!isOwnHost(headers.host, port)) return { status: 403, why: 'This is not the host that was asked for.' };
  if (!isOwnOrigin(headers.origin, port))
    return { status: 403, why: 'Requests of other origins are refused.' };
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return { status: 403, why: 'Requests of other sites are refused.' };
  if (!METHODS.has(method)) return { status: 405, why: 'There is no such method here.' };
  if (headers.upgrade !== undefined) return { status: 400, why: 'There is nothing to upgrade to.' };
  if (url.length > LONGEST_TARGET) return { status: 414, why: 'The address is too long.' };
  const [path = ''] = url.split('?', 1);
  if (!PATH.test(path) || path.includes('..')) return { status: 404, why: 'There is nothing here.' };
  return null;
}

/** Node keeps the first of several, another program on the way may keep the last. */
function repeated(raw: readonly string[]): string | null {
  const seen = new Set<string>();
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]?.toLowerCase() ?? '';
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return null;
}

/** Compared as a whole: `localhost.evil.com` begins with localhost, and `evil.com#127.0.0.1` holds it. */
const isOwnHost = (host: string | undefined, port: number): boolean =>
  host !== undefined && [`127.0.0.1:${port}`, `localhost:${port}`].includes(host.toLowerCase());

/** Programs send none. */
const isOwnOrigin = (origin: string | undefined, port: number): boolean =>
  origin === undefined || [`http://127.0.0.1:${port}`, `http://localhost:${port}`].includes(origin);
