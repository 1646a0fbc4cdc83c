import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What happens to the next request that contains a word. */
type Fault =
  /** It reaches the server; the connection breaks before the answer is through. */
  | 'lose-answer'
  /** It never reaches the server. */
  | 'lose-request'
  /** The connection breaks at once, and the request reaches the server when `deliver` is called. */
  | 'delay-request';

/** Stands between a store and a Postgres server, and breaks connections when told to. */
export class PostgresProxy {
  readonly url: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'rvpx-'));
  readonly #target: string;
  readonly #server = createServer((client) => this.#relay(client));
  readonly #sockets = new Set<Socket>();
  #fault: { kind: Fault; word: string } | undefined;
  #held: (() => void) | undefined;
  /** No new connections get through while this is set. */
  down = false;

  constructor(url: string) {
    const parsed = new URL(url);
    this.#target = join(parsed.searchParams.get('host') ?? '', '.s.PGSQL.5432');
    parsed.searchParams.set('host', this.#folder);
    this.url = parsed.toString();
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(join(this.#folder, '.s.PGSQL.5432'), resolve));
    return this;
  }

  /** Only for servers reached by a socket in a folder, as the throwaway one is. */
  static fits(url: string): boolean {
    return new URL(url).searchParams.get('host')?.startsWith('/') ?? false;
  }

  inject(kind: Fault, word: string): void {
    this.#fault = { kind, word };
  }

  deliver(): void {
    this.#held?.();
  }

  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.breakAll();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }

  #relay(client: Socket): void {
    if (this.down) {
      client.destroy();
      return;
    }
    const server = createConnection(this.#target);
    let silent = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    }
    client.on('data', (data) => {
      const fault = this.#fault;
      if (!fault || !data.includes(fault.word)) {
        server.write(data);
        return;
      }
      this.#fault = undefined;
      silent = true;
      if (fault.kind === 'lose-answer') server.write(data);
      if (fault.kind === 'delay-request') this.#held = () => server.write(data);
      if (fault.kind !== 'lose-answer') client.destroy();
    });
    server.on('data', (data) => {
      if (silent) client.destroy();
      else client.write(data);
    });
    client.on('close', () => silent || server.destroy());
    server.on('close', () => client.destroy());
  }
}
