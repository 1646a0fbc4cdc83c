import { connect, type Socket } from 'node:net';

export interface Wired {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Everything that came, as it came. */
  readonly text: string;
}

/** Sends bytes as they are, which no HTTP client would, and reads until the other side is done. */
export async function wire(port: number, bytes: string | Buffer): Promise<Wired> {
  const socket = connect(port, '127.0.0.1');
  // Whoever is refused gets no status.
  socket.on('error', () => undefined);
  socket.write(bytes);
  return parse(await readAll(socket));
}

export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString('latin1');
}

export function parse(text: string): Wired {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  return { status: Number(first.split(' ')[1] ?? 0), headers, body: rest.join('\r\n\r\n'), text };
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** A whole request, closed after its answer; what is given as undefined is left out. */
export function request(
  port: number,
  token: string,
  { method = 'POST', path = '/v1/op/listPlans', headers = {}, body = '[]' }: Sent = {},
): string {
  const all: Record<string, string | undefined> = {
    host: `127.0.0.1:${port}`,
    authorization: `Bearer ${token}`,
    connection: 'close',
    ...(method === 'POST'
      ? { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
      : {}),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return [`${method} ${path} HTTP/1.1`, ...lines, '', method === 'POST' ? body : ''].join('\r\n');
}
