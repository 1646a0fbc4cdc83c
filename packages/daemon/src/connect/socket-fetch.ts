import { Agent, request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

type Fetch = typeof globalThis.fetch;

/** Nobody listens at the socket, or none can be at such a path: nothing was sent. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED', 'EACCES', 'ENOTSOCK', 'EINVAL', 'ENAMETOOLONG']);
/** One for all clients of this process: the daemon has only so many connections. */
const agent = new Agent({ keepAlive: true });
const NO_BODY = new Set([204, 304]);

/**
 * `fetch` for the daemon's socket, which Node's own cannot reach: as much of it as the client of the protocol uses. Where nobody
 * listens at the socket (the path is too long for one, somebody removed it, the daemon is an older one) the port is tried.
 */
export function socketFetch(path: string): Fetch {
  return async (input, init = {}) => {
    // The client passes a URL.
    const url = new URL(input instanceof Request ? input.url : input);
    try {
      return responseOf(await send(url, init, path), init);
    } catch (error) {
      if (NOBODY.has(codeOf(error))) return globalThis.fetch(input, init);
      throw new TypeError('fetch failed', { cause: error });
    }
  };
}

function send(
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit,
  path: string,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const text = typeof body === 'string' ? body : '';
    const length = text === '' ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    const sent = request(
      {
        socketPath: path,
        agent,
        method,
        path: `${url.pathname}${url.search}`,
        headers: { host: url.host, ...Object.fromEntries(new Headers(headers)), ...length },
        ...(signal ? { signal } : {}),
      },
      resolve,
    );
    sent.once('error', reject);
    sent.end(text);
  });
}

function responseOf(incoming: IncomingMessage, { redirect }: RequestInit): Response {
  const { statusCode: status = 0, headersDistinct } = incoming;
  if (redirect === 'error' && status >= 300 && status < 400) {
    incoming.destroy();
    throw new Error('a redirect was not expected');
  }
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  if (NO_BODY.has(status)) return new Response(incoming.resume() && null, { status, headers });
  return new Response(Readable.toWeb(incoming) as ReadableStream<Uint8Array>, { status, headers });
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';
