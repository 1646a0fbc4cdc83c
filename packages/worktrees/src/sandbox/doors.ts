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
  readonly door: Promise<Door>;
  readonly server: Server;
  readonly clients: Set<Socket>;
  users: number;
}

/** How many doors stay open though nobody uses them: the next command mostly wants the same ones. */
const KEPT = 4;

/**
 * The doors of all sandboxes, each once however many use it. Those that nobody uses are shut but for the last few. They
 * are in a folder only we can enter.
 */
export class Doors {
  readonly #open = new Map<string, Open>();
  readonly #parent: string;
  readonly #resolve: Resolve | undefined;
  #folder: Promise<string> | undefined;
  #count = 0;

  constructor(parent: string, resolve?: Resolve) {
    this.#parent = parent;
    this.#resolve = resolve;
  }

  async take(beyond: Beyond): Promise<Door & { readonly release: () => Promise<void> }> {
    const key = JSON.stringify(beyond);
    const open = this.#open.get(key) ?? this.#make(beyond);
    // The one used last is the last in the map.
    this.#open.delete(key);
    this.#open.set(key, open);
    open.users++;
    let released = false;
    const release = async (): Promise<void> => {
      if (released) return;
      released = true;
      open.users--;
      await this.#shutIdle();
    };
    try {
      return { ...(await open.door), release };
    } catch (error) {
      await this.#shut(key, open);
      throw error;
    }
  }

  async #shutIdle(): Promise<void> {
    const idle = [...this.#open].filter(([, open]) => open.users === 0);
    await Promise.all(idle.slice(0, -KEPT).map(async ([key, open]) => this.#shut(key, open)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map(([key, open]) => this.#shut(key, open)));
    if (this.#folder) await rm(await this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  #make(beyond: Beyond): Open {
    const server =
      'port' in beyond ? createRelay(beyond.port) : createProxy(this.#proxyOptions(beyond.hosts));
    const clients = new Set<Socket>();
    server.on('connection', (client: Socket) => {
      clients.add(client);
      client.once('close', () => clients.delete(client));
    });
    // Whoever uses it keeps us running; an idle door does not.
    server.unref();
    return { door: this.#listen(server, 'onPort' in beyond), server, clients, users: 0 };
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

  async #shut(key: string, open: Open): Promise<void> {
    if (this.#open.get(key) === open) this.#open.delete(key);
    await open.door.catch(() => undefined);
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
