import { createServer, request as ask, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Proxy extends AsyncDisposable {
  readonly url: string;
}

/**
 * The suite has no way to send a credential, and nothing of the daemon is served without one. This puts it on, calls the
 * daemon by its own name where the suite called us by ours, and leaves everything else as it came.
 */
export async function withCredential(daemon: { port: number; token: string }): Promise<Proxy> {
  const server = createServer((incoming, outgoing) => {
    const { port: own } = server.address() as AddressInfo;
    const forwarded = ask(
      {
        host: '127.0.0.1',
        port: daemon.port,
        method: incoming.method,
        path: incoming.url,
        headers: {
          ...renamed(incoming.headers, own, daemon.port),
          authorization: `Bearer ${daemon.token}`,
        },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
      },
    );
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Only what names us exactly: a stranger's host or origin must reach the daemon as it is. */
function renamed(headers: IncomingHttpHeaders, own: number, daemon: number): IncomingHttpHeaders {
  const { host, origin } = headers;
  const ours = [`localhost:${own}`, `127.0.0.1:${own}`];
  return {
    ...headers,
    ...(host && ours.includes(host) ? { host: `127.0.0.1:${daemon}` } : {}),
    ...(origin && ours.some((name) => origin === `http://${name}`)
      ? { origin: `http://127.0.0.1:${daemon}` }
      : {}),
  };
}
