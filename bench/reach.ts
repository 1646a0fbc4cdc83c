import { join } from 'node:path';
import { connect } from '@reveille/daemon/connect';
import type { Client } from '@reveille/protocol';
import type { Started } from './daemon.ts';
import type { Measure } from './measures.ts';
import { start, type Spoken } from './processes.ts';
import { gate, percentile, temporaryFolder } from './world.ts';

/** As many as it takes until everything that is called has been compiled. */
const WARM_UPS = 200;
const ROUNDS = 300;
const ALLOWED_MS = 20;

/** From the call of a worker that reports, by its own MCP connection, to its parent, who waits at another. */
export async function measureH(): Promise<Measure[]> {
  using folder = temporaryFolder();
  await using daemon = await start<string>('daemon.ts', [folder.path]);
  await using bare = await start<number>('bare-http.ts', []);
  const person = await connect({ env: { REVEILLE_HOME: join(folder.path, 'state') }, start: false });
  const trips = await roundTrips(`http://127.0.0.1:${bare.first}/`);
  const attached = await whileAttached(daemon, person);
  const waiting = await whileWaiting(daemon, person);
  const [base50, base99] = [percentile(trips, 50), percentile(trips, 99)];
  const line = (name: string, what: string, times: readonly number[]): Measure => {
    const [p50, p99] = [percentile(times, 50), percentile(times, 99)];
    return {
      name,
      what,
      value: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
      baseline: `${(p99 / base99).toFixed(1)} × the p99 of a bare loopback round trip (${base50.toFixed(2)} / ${base99.toFixed(2)} ms)`,
      goal: `p99 ≤ ${ALLOWED_MS} ms`,
      met: p99 <= ALLOWED_MS,
      numbers: { p50, p99, bareP50: base50, bareP99: base99, ratio: p99 / base99 },
    };
  };
  return [
    line('H attached', 'MCP report → parent attached', attached),
    line('H waiting', 'MCP report → parent’s MCP call', waiting),
  ];
}

async function roundTrips(url: string): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < WARM_UPS + ROUNDS; i++) {
    const began = performance.now();
    const answer = await fetch(url, { method: 'POST', body: '{}' });
    await answer.text();
    times.push(performance.now() - began);
  }
  return times.slice(WARM_UPS);
}

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** One call of a tool, as a client of the protocol makes it: no client of somebody else's is part of what is measured. */
type Call = (name: string, args: object) => Promise<void>;

function mcp(url: string, credential: string): Call {
  return async (name, args) => {
    const params = { name, arguments: args, _meta: META };
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${credential}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    const text = await answer.text();
    if (!answer.ok || !text.includes('"result"') || text.includes('"isError":true'))
      throw new Error(`${name} was answered with ${answer.status}: ${text}`);
  };
}

const SPAWN = { prompt: 'report', agentType: 'coder' } as const;
const report = (worker: Call): Promise<void> =>
  worker('a2a_subtask_complete', { status: 'success', output: 'done' });

/** The worker of a child that was just spawned: its own connection. */
async function workerOf({ first, child }: Spoken<string>, spawn: () => Promise<unknown>): Promise<Call> {
  const started = new Promise<Started>((resolve) => child.once('message', resolve));
  await spawn();
  const worker = mcp(first, (await started).credential);
  // As a worker that has been at work: its connection is open.
  await worker('a2a_check_updates', {});
  return worker;
}

/** The parent is a session that is attached over HTTP. */
async function whileAttached(daemon: Spoken<string>, person: Client): Promise<number[]> {
  const { session, credential } = await person.grantSession({ name: 'attached' });
  const own = person.as(credential);
  let arrived = gate();
  const detach = await own.attach(session.id, async () => arrived.open());
  const times: number[] = [];
  for (let i = 0; i < WARM_UPS + ROUNDS; i++) {
    const worker = await workerOf(daemon, () => own.spawnSubtask(SPAWN, { blocking: false }));
    arrived = gate();
    const began = performance.now();
    const reported = report(worker);
    await arrived.passed;
    times.push(performance.now() - began);
    await reported;
  }
  await detach();
  return times.slice(WARM_UPS);
}

/** The parent is a chat whose MCP call waits for the child. */
async function whileWaiting(daemon: Spoken<string>, person: Client): Promise<number[]> {
  const { credential } = await person.grantSession({ name: 'waiting' });
  const chat = mcp(daemon.first, credential);
  const times: number[] = [];
  for (let i = 0; i < WARM_UPS + ROUNDS; i++) {
    let arrived = 0;
    let waiting: Promise<unknown> = Promise.resolve();
    const worker = await workerOf(daemon, async () => {
      waiting = chat('a2a_spawn_subtask', SPAWN).then(() => {
        arrived = performance.now();
      });
    });
    const began = performance.now();
    const reported = report(worker);
    await waiting;
    times.push(arrived - began);
    await reported;
  }
  return times.slice(WARM_UPS);
}
