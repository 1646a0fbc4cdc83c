import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Load, Spent } from './event-server.ts';
import type { Measure } from './measures.ts';
import { start } from './processes.ts';
import { median, percentile, temporaryFolder } from './world.ts';

const LOAD: Load = { perSecond: 10_000, ms: 8_000 };
const WARM_UP: Load = { perSecond: 10_000, ms: 2_000 };
const LIVE = 9;
const ROUNDS = 3;
/** What may wait for those who are slow, and what the engine of JavaScript takes for sending at all. */
const MEMORY_MB = 100;

/** Reads a stream and counts: whether it got all of them is seen from their numbers. */
class Reader {
  /** When which event came, as the first of its message. */
  readonly came: { readonly first: number; readonly at: number }[] = [];
  events = 0;
  last = 0;
  missed = 0;
  readonly #response: IncomingMessage;
  #rest = '';

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
  }

  static open(port: number): Promise<Reader> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path: '/?after=0', agent: false }, (response) =>
        resolve(new Reader(response)),
      );
      sent.on('error', reject).end();
    });
  }

  close(): void {
    this.#response.destroy();
  }

  #read(text: string): void {
    const messages = (this.#rest + text).split('\n\n');
    this.#rest = messages.pop() ?? '';
    for (const message of messages) this.#take(message);
  }

  #take(message: string): void {
    const id = Number(/^id: (\d+)/m.exec(message)?.[1]);
    if (Number.isNaN(id)) return;
    const count = message.split('"number":').length - 1;
    this.came.push({ first: id - count + 1, at: Date.now() });
    this.missed += id - this.last - count;
    this.events += count;
    this.last = id;
  }
}

/** Asks for everything and takes nothing. */
function stalled(port: number): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write('GET /?after=0 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  return socket;
}

interface Round extends Spent {
  readonly lags: readonly number[];
  readonly missed: number;
}

async function measure(kind: 'product' | 'bare', readers: number): Promise<Round> {
  using folder = temporaryFolder();
  await using server = await start<number>('event-server.ts', [kind, join(folder.path, 'db')]);
  const live = await Promise.all(Array.from({ length: readers }, () => Reader.open(server.first)));
  const dead = readers > 0 ? stalled(server.first) : null;
  const warm = await server.ask<Spent>(WARM_UP);
  const spent = await server.ask<Spent>(LOAD);
  const all = warm.events + spent.events;
  for (let waited = 0; waited < 5_000 && live.some(({ events }) => events < all); waited += 50)
    await sleep(50);
  for (const reader of live) reader.close();
  dead?.destroy();
  return {
    ...spent,
    lags: live.flatMap((reader) => lagsOf(reader, spent)),
    missed: live.reduce((sum, reader) => sum + reader.missed + (all - reader.events), 0),
  };
}

/** The first event of a message has waited longest. What came before this load is left out. */
function lagsOf({ came }: Reader, { there, events }: Spent): number[] {
  const before = (there.at(-1)?.[0] ?? 0) - events;
  let next = 0;
  return came.flatMap(({ first, at }) => {
    if (first <= before) return [];
    while (first > (there[next]?.[0] ?? Infinity)) next++;
    return [at - (there[next]?.[1] ?? at)];
  });
}

const cpuOf = (rounds: readonly Round[]): number =>
  median(rounds.map(({ cpuMs, wallMs }) => (cpuMs / wallMs) * 100));
const percent = (value: number): string => `${value.toFixed(1)} %`;

/** E: ten thousand events in a second to ten readers, one of which takes nothing, against a bare server in the same run. */
export async function measureE(): Promise<Measure[]> {
  const rounds: Record<'quiet' | 'heard' | 'bareQuiet' | 'bareHeard', Round[]> = {
    quiet: [],
    heard: [],
    bareQuiet: [],
    bareHeard: [],
  };
  for (let i = 0; i < ROUNDS; i++) {
    rounds.bareQuiet.push(await measure('bare', 0));
    rounds.bareHeard.push(await measure('bare', LIVE));
    rounds.quiet.push(await measure('product', 0));
    rounds.heard.push(await measure('product', LIVE));
  }
  // What sending costs: with readers, less without. Of a bare server that is little, and noise may make it nothing.
  const cpu = cpuOf(rounds.heard) - cpuOf(rounds.quiet);
  const bareCpu = cpuOf(rounds.bareHeard) - cpuOf(rounds.bareQuiet);
  const lags = rounds.heard.flatMap((round) => round.lags);
  const bareLags = rounds.bareHeard.flatMap((round) => round.lags);
  const [p50, p99, bareP99] = [percentile(lags, 50), percentile(lags, 99), percentile(bareLags, 99)];
  const missed = rounds.heard.reduce((sum, round) => sum + round.missed, 0);
  const perSecond = median(rounds.heard.map(({ events, wallMs }) => (events / wallMs) * 1_000));
  const more = (of: readonly Round[]): number => median(of.map(({ peakMb }) => peakMb));
  const memory = more(rounds.heard) - more(rounds.quiet);
  return [
    {
      name: 'E cpu',
      what: '10,000 events/s to 10 readers',
      value: `${percent(cpu)} of a core (${Math.round(perSecond)} events/s)`,
      baseline: `the same of a bare batched server: ${percent(Math.max(0, bareCpu))}`,
      goal: '≤ 20 % of a core or ≤ 1.5 ×',
      met: perSecond > LOAD.perSecond * 0.95 && (cpu <= 20 || cpu <= bareCpu * 1.5),
      numbers: { cpu, bareCpu, perSecond, whole: cpuOf(rounds.heard), unread: cpuOf(rounds.quiet) },
    },
    {
      name: 'E lag',
      what: 'commit → reader, one is stalled',
      value: `p50 ${p50} ms, p99 ${p99} ms, ${missed} missed`,
      baseline: `bare: p99 ${bareP99} ms`,
      goal: 'p99 ≤ 250 ms or ≤ 1.5 ×, none missed',
      met: missed === 0 && (p99 <= 250 || p99 <= bareP99 * 1.5),
      numbers: { p50, p99, bareP99, missed },
    },
    {
      name: 'E memory',
      what: 'more than without readers',
      value: `${Math.round(memory)} MB`,
      baseline: `${Math.round(more(rounds.quiet))} MB without; the stalled one was sent ${Math.round((LOAD.perSecond * LOAD.ms * 180) / 1e9)} MB`,
      goal: `≤ ${MEMORY_MB} MB`,
      met: memory <= MEMORY_MB,
      numbers: { memory, unread: more(rounds.quiet), heard: more(rounds.heard) },
    },
  ];
}
