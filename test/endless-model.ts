import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The ways in which an answer of this model has no end. */
export const ENDLESS = ['arguments', 'calls', 'text', 'line', 'error'] as const;
export type Endless = (typeof ENDLESS)[number];

const KB = 'x'.repeat(1_000);
/** Stops by itself where nobody stops it: the test is to fail, not the machine. */
const MOST = 300 * 2 ** 20;

/**
 * A model, in the dialect of OpenAI, whose first `times` answers have no end, each in another of these ways. Then it reports. It sends as fast as it is read.
 */
export async function endlessModel(kinds: Endless | readonly Endless[], times: number) {
  const all = [kinds].flat();
  const asked: { messages: { role: string; content: unknown }[] }[] = [];
  const sent: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const n = asked.push(JSON.parse(Buffer.concat(chunks).toString()) as (typeof asked)[number]);
      const answer = n > times ? report(response) : flood(response, all[n % all.length] ?? 'text');
      answer.then((bytes) => (sent[n - 1] = bytes)).catch(() => undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const event = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted-1', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const call = (index: number, part: object): string =>
  event({ tool_calls: [{ index, type: 'function', ...part }] });

const PIECES: Readonly<Record<Endless, (i: number) => string>> = {
  arguments: (i) =>
    i === 0
      ? call(0, { id: 'a', function: { name: 'list_directory', arguments: '{"path":"' } })
      : call(0, { function: { arguments: KB } }),
  calls: (i) => call(i, { id: `a${i}`, function: { name: 'list_directory', arguments: '{"path":"."}' } }),
  text: () => event({ content: KB }),
  line: (i) => (i === 0 ? 'data: {"x":"' : KB),
  error: () => KB,
};

async function flood(response: ServerResponse, kind: Endless): Promise<number> {
  response.writeHead(kind === 'error' ? 400 : 200, { 'content-type': 'text/event-stream' });
  let [bytes, open] = [0, true];
  let go: () => void = () => undefined;
  const room = (): Promise<void> => new Promise((resolve) => (go = resolve));
  response.on('drain', () => go());
  response.once('close', () => {
    open = false;
    go();
  });
  for (let i = 0; open && bytes < MOST; i++) {
    const piece = PIECES[kind](i);
    bytes += piece.length;
    if (!response.write(piece)) await room();
  }
  response.end();
  return bytes;
}

async function report(response: ServerResponse): Promise<number> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const input = JSON.stringify({ status: 'success', output: 'in the end' });
  response.write(call(0, { id: 'r', function: { name: 'a2a_subtask_complete', arguments: input } }));
  response.end(`${event({}, 'tool_calls')}data: [DONE]\n\n`);
  return 0;
}
