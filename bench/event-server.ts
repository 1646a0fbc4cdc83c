import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventFeed, EventStreams, sseMessage } from '@reveille/daemon';
import { openSqlite } from '@reveille/stores';
import { clock } from './world.ts';

/** What the other side sends to have events made, and what it is answered with. */
export interface Load {
  readonly perSecond: number;
  readonly ms: number;
}
export interface Spent {
  /** Milliseconds of processor time while the events were made and sent. */
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly events: number;
  /** The most memory, and how much there was before. */
  readonly peakMb: number;
  readonly beforeMb: number;
  /** When which event, and all before it, was there to be sent. */
  readonly there: readonly (readonly [last: number, at: number])[];
}

/** As often as a busy engine commits. */
const EVERY_MS = 10;
const BATCH_MS = 50;
const BUFFER_BYTES = 2 ** 20;
const WHY = 'a sentence of the usual length that says why the task is in the state that it is in now';

/** Takes events and sends them to whoever listens. */
interface Streams {
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** The number of the last of them, when all of them can be sent. */
  make(count: number): Promise<number>;
}

/** The product's own: committed to SQLite, read back, encoded once, sent to each as it can take them. */
async function product(path: string): Promise<Streams> {
  const { store } = await openSqlite({ path, clock });
  const feed = new EventFeed({
    store,
    batchMs: BATCH_MS,
    encode: (events) => Buffer.from(sseMessage({ id: events.at(-1)?.number ?? 0, data: events })),
    failed: (error) => console.error(error),
  });
  const streams = new EventStreams({
    feed,
    limits: { heartbeatMs: 15_000, stallMs: 30_000, bufferBytes: BUFFER_BYTES },
    visible: async () => [],
    credentialed: { keep: () => undefined, counts: async () => true },
  });
  const person = { kind: 'person', name: 'bench' } as const;
  const silent = () => undefined;
  const log = { debug: silent, info: silent, warn: silent, error: console.error };
  return {
    serve: (request, response) =>
      void streams.serve({ request, response, log, lost: () => null, id: 'bench' }, person),
    async make(count) {
      const fact = { type: 'task.changed', data: { state: 'running', why: WHY } } as const;
      const facts = Array.from({ length: count }, () => fact);
      const rest = { writes: [], guards: [], drops: [], offers: [], wakes: [] };
      const outcome = await store.commit({ ...rest, facts, at: Date.now() });
      if (!outcome.committed) throw new Error('nothing else is written here');
      feed.committed(outcome.lastEvent);
      return outcome.lastEvent;
    },
  };
}

/** The least that could be called the job: kept in memory, written to all at intervals; who cannot follow misses some. */
function bare(): Streams {
  const open = new Set<ServerResponse>();
  let number = 0;
  let waiting: object[] = [];
  setInterval(() => {
    if (waiting.length === 0) return;
    const bytes = Buffer.from(sseMessage({ id: number, data: waiting }));
    waiting = [];
    for (const response of open) if (response.writableLength < BUFFER_BYTES) response.write(bytes);
  }, BATCH_MS);
  return {
    serve(_, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      open.add(response);
      response.on('close', () => open.delete(response));
    },
    async make(count) {
      const at = Date.now();
      for (let i = 0; i < count; i++) {
        const data = { state: 'running', why: WHY };
        waiting.push({ number: ++number, at, type: 'task.changed', data });
      }
      return number;
    },
  };
}

async function spend(sink: Streams, { perSecond, ms }: Load): Promise<Spent> {
  const beforeMb = process.memoryUsage.rss() / 1e6;
  let peakMb = beforeMb;
  let events = 0;
  const there: [number, number][] = [];
  const before = process.cpuUsage();
  const began = performance.now();
  for (let now = 0; now < ms; now = performance.now() - began) {
    const due = Math.floor((now / 1_000) * perSecond) - events;
    events += due;
    if (due > 0) there.push([await sink.make(due), Date.now()]);
    peakMb = Math.max(peakMb, process.memoryUsage.rss() / 1e6);
    await sleep(EVERY_MS);
  }
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - began;
  return { cpuMs: (user + system) / 1_000, wallMs, events, peakMb, beforeMb, there };
}

const [, , kind = 'bare', path = ''] = process.argv;
const streams = kind === 'bare' ? bare() : await product(path);
const server: Server = createServer((request, response) => streams.serve(request, response));
process.on('message', (load: Load) => {
  void spend(streams, load).then((spent) => process.send?.(spent));
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
