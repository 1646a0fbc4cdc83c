import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createProxy, type Resolve } from './proxy.ts';
import { splice } from './splice.ts';

/** A way out of a sandbox: a unix socket of ours, which is mounted into it; or, where nothing can be mounted, a port. */
interface Door {
  readonly socket: string;
  readonly port: number | null;
}

/** A loopback port of this machine, or the hosts of a list. */
type Beyond = { readonly port: number } | { readonly hosts: readonly string[]; readonly onPort?: boolean };

interface Open {
  readonly server: Server;
  readonly clients: Set<Socket>;
}

/**
 * How many connections one sandbox has at once through a door: to a port of this machine, and to all listed hosts. More are
 * dropped, so that whoever opens them without end only takes its own places (BND7.26).
 */
const MOST = { port: 64, hosts: 256 } as const;

/**
 * The doors of all sandboxes, each for one of them, so that no sandbox can use up the door of another. They are in a
 * folder only we can enter.
 */
export class Doors {
  readonly #open = new Set<Open>();
  readonly #parent: string;
  readonly #resolve: Resolve | undefined;
  #folder: Promise<string> | undefined;
  #count = 0;

  constructor(parent: string, resolve?: Resolve) {
    this.#parent = parent;
    this.#resolve = resolve;
  }

  async take(beyond: Beyond): Promise<Door & { readonly release: () => Promise<void> }> {
    const open = this.#make(beyond);
    this.#open.add(open);
    const release = (): Promise<void> => this.#shut(open);
    try {
      return { ...(await this.#listen(open.server, 'onPort' in beyond)), release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((open) => this.#shut(open)));
    if (this.#folder) await rm(await this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  #make(beyond: Beyond): Open {
    const isPort = 'port' in beyond;
    const server = isPort ? createRelay(beyond.port) : createProxy(this.#proxyOptions(beyond.hosts));
    server.maxConnections = isPort ? MOST.port : MOST.hosts;
    const clients = new Set<Socket>();
    server.on('connection', (client: Socket) => {
      clients.add(client);
      client.once('close', () => clients.delete(client));
    });
    // Whoever uses it keeps us running; an idle door does not.
    server.unref();
    return { server, clients };
  }

  #proxyOptions(hosts: readonly string[]): Parameters<typeof createProxy>[0] {
    return this.#resolve ? { hosts, resolve: this.#resolve } : { hosts };
  }

  async #listen(server: Server, onPort: boolean): Promise<Door> {
    if (onPort) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      return { socket: '', port: typeof address === 'object' && address !== null ? address.port : null };
    }
    this.#folder ??= mkdtemp(join(this.#parent, 'reveille-doors-'));
    const socket = join(await this.#folder, `${this.#count++}.sock`);
    server.listen(socket);
    await once(server, 'listening');
    return { socket, port: null };
  }

  async #shut(open: Open): Promise<void> {
    if (!this.#open.delete(open)) return;
    for (const client of open.clients) client.destroy();
    if (open.server.listening) await new Promise((resolve) => open.server.close(resolve));
  }
}

function createRelay(port: number): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    client.on('error', () => client.destroy());
    server.on('error', () => client.destroy());
    splice(client, server);
  });
}
