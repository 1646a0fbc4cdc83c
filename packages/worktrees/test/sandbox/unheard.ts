import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/**
 * A port of the loopback that nobody listens on, and nobody can while this is held: it is the near end of a connection. One
 * that was only free a moment ago may be somebody else's by now.
 */
export async function holdUnheardPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  await once(client, 'connect');
  return {
    port: client.localPort!,
    async [Symbol.asyncDispose]() {
      client.end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
