import { Agent, request as httpRequest } from 'node:http';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import {
  HTTP_OPERATIONS,
  HTTP_OPERATION_NAMES,
  HTTP_ROUTES,
  type HttpOperation,
  type RunId,
} from '@reveille/protocol';
import { Credentials } from '../src/http/credentials.ts';
import { Chance, garble, spoil, valueFor } from './chance.ts';
import { House } from './house.ts';
import { parse, request } from './wire.ts';

/** `REVEILLE_FUZZ=1000` for fewer; `REVEILLE_FUZZ_SEED` for others. */
const REQUESTS = Number(process.env['REVEILLE_FUZZ'] ?? 100_000);
const SEED = Number(process.env['REVEILLE_FUZZ_SEED'] ?? 1);
const AT_ONCE = 16;
const INSIDE = /\bat [^\n]*:\d+:\d+|node_modules|node:internal|\.ts:\d/;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}
interface Answer {
  readonly status: number;
  readonly body: string;
}

class Fuzz {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  readonly #port: number;
  readonly #person: string;
  readonly #seal: Credentials;
  /** Of sessions that are open, as long as nobody ends them. */
  chats: readonly string[] = [];
  readonly #chance: Chance;
  /** Ids that answers have named: of things that exist. */
  readonly ids: string[] = ['task_1', 'plan_1', 'session_1', 'msg_1', 'req_1', 'run_1'];
  readonly statuses = new Map<number, number>();

  constructor({ port, token }: { port: number; token: string }, secret: string, seed: number) {
    this.#port = port;
    this.#person = token;
    this.#seal = new Credentials({ secret, person: 'ada' });
    this.#chance = new Chance(seed);
  }

  close(): void {
    this.#agent.destroy();
  }

  async one(): Promise<void> {
    const chance = this.#chance;
    const sent = chance.often(0.85) ? this.#operation() : this.#other();
    const raw = chance.often(0.05);
    const answer = raw ? await this.#garbled(sent) : await this.#send(sent);
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    if (answer.status >= 500 || INSIDE.test(answer.body))
      expect.fail(
        `${sent.method} ${sent.path} ${sent.body.slice(0, 300)} → ${answer.status} ${answer.body.slice(0, 300)}`,
      );
    for (const [id] of answer.body.matchAll(/\b(?:task|plan|session|msg|req|run)_[0-9a-z]{10,}/g))
      this.#learn(id);
  }

  #learn(id: string): void {
    if (this.ids.length < 500) this.ids.push(id);
    else this.ids[this.#chance.below(500)] = id;
  }

  #operation(): Sent {
    const chance = this.#chance;
    const name = chance.one(HTTP_OPERATION_NAMES);
    const made = HTTP_OPERATIONS[name].args.map((schema) => valueFor(schema, chance, this.ids));
    const args = name === 'savePlan' && chance.often(0.7) ? [this.#plan(), made[1]] : made;
    const given: unknown = chance.often(0.3) ? spoil(args, chance) : args;
    return {
      method: 'POST',
      path: `/v1/op/${chance.often(0.02) ? chance.one(['', 'attach', '__proto__', `${name}/`, 'x']) : name}`,
      headers: this.#headers(),
      body: JSON.stringify(impatient(name, given)) ?? '',
    };
  }

  #plan(): unknown {
    const ids = ['a', 'b', 'c'].slice(0, 1 + this.#chance.below(3));
    const tasks = ids.map((id, i) => ({ id, prompt: 'Do it.', dependencies: ids.slice(0, i) }));
    return { name: 'fuzz', tasks };
  }

  /** What is no operation. Streams are only asked for in ways that are refused, and nobody asks it to stop with the right to. */
  #other(): Sent {
    const chance = this.#chance;
    const { method, path } = chance.one(Object.values(HTTP_ROUTES));
    const bodies = [
      '',
      '{}',
      '[]',
      '{"session":"session_1"}',
      '{"name":"x"}',
      '{"batch":1,"received":true}',
      '{"kind":"worker"}',
    ];
    const query =
      path === HTTP_ROUTES.events.path ? `?after=${chance.one(['-1', 'x', '1e9', '99999999999999'])}` : '';
    const headers = this.#headers();
    const mayStop =
      path === HTTP_ROUTES.stop.path || path === HTTP_ROUTES.rotate.path || path === HTTP_ROUTES.attach.path;
    if (mayStop) headers['authorization'] = 'Bearer rvs_session_1.x';
    return {
      method: chance.often(0.9) ? method : chance.one(['PUT', 'DELETE', 'OPTIONS', 'HEAD']),
      path: `${path.replace(':attachment', 'abc').replace(':operation', 'x')}${query}`,
      headers,
      body: method === 'GET' ? '' : chance.one(bodies),
    };
  }

  #headers(): Record<string, string> {
    const chance = this.#chance;
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      authorization: `Bearer ${this.#credential()}`,
    };
    if (chance.often(0.03)) headers['origin'] = chance.one(['https://evil.com', 'null']);
    if (chance.often(0.03))
      headers['content-type'] = chance.one(['text/plain', 'application/x-www-form-urlencoded']);
    if (chance.often(0.03)) headers['reveille-protocol'] = chance.one(['0', '2', 'x']);
    if (chance.often(0.03)) headers['content-encoding'] = 'gzip';
    return headers;
  }

  #credential(): string {
    const chance = this.#chance;
    const kind = chance.next();
    if (kind < 0.4) return this.#person;
    if (kind < 0.8) return chance.one(this.chats);
    if (kind < 0.95) return chance.one(['x', 'rvp_x', 'rvs_session_1.a', '', `${this.#person}x`]);
    const run = this.ids.find((id) => id.startsWith('run_')) as RunId;
    return this.#seal.ofRun({ run, session: 'session_1', epoch: 1 });
  }

  #send({ method, path, headers, body }: Sent): Promise<Answer> {
    const options = { host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers };
    return new Promise((resolve, reject) => {
      const sent = httpRequest(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
        response.on('error', reject);
      });
      // A connection that it has closed after a refusal is no answer, and no failure.
      sent.on('error', () => resolve({ status: 0, body: '' }));
      sent.end(body);
    });
  }

  #garbled({ method, path, headers, body }: Sent): Promise<Answer> {
    const text = request(this.#port, 'x', { method, path, headers: { ...headers }, body });
    return new Promise((resolve) => {
      const socket = connect(this.#port, '127.0.0.1');
      const chunks: Buffer[] = [];
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('close', () => resolve(parse(Buffer.concat(chunks).toString())));
      // What it does not understand as a whole it waits for; nothing more comes.
      socket.end(garble(text, this.#chance));
    });
  }
}

/** Nobody here has the time to wait: what may wait is told not to. */
function impatient(name: HttpOperation, args: unknown): unknown {
  if (name !== 'awaitSubtasks' || !Array.isArray(args)) return args;
  const [input, ...rest] = args as unknown[];
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return args;
  return [{ ...input, timeoutMs: 1 }, ...rest];
}

test(
  `[DMN1.27] ${REQUESTS} requests made from the schemas, many of them wrong: no 5xx, no word of its inside, no crash`,
  { timeout: 120_000 + REQUESTS * 20 },
  async () => {
    await using house = new House({
      REVEILLE_ENGINE_PATIENCE_MS: '1',
      // A line for each refusal would be a good part of the work; a defect is told.
      REVEILLE_LOGS_LEVEL: 'error',
      REVEILLE_ENGINE_CHILDREN_TOTAL: '1000000',
    });
    const client = await house.connect();
    const { pid } = house.lock;
    const { secret } = JSON.parse(readFileSync(house.place.identity, 'utf8')) as { secret: string };
    const fuzz = new Fuzz(house.lock, secret, SEED);
    const openChats = async (): Promise<void> => {
      const granted = await Promise.all(['a', 'b', 'c'].map((name) => client.grantSession({ name })));
      fuzz.chats = granted.map(({ credential }) => credential);
    };
    await openChats();
    let left = REQUESTS;
    const worker = async (): Promise<void> => {
      for (let n = left--; n > 0; n = left--) {
        // Some of the requests end them.
        if (n % 50 === 0) await openChats();
        await fuzz.one();
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    } finally {
      fuzz.close();
    }
    expect(await client.health()).toMatchObject({ pid, state: 'running' });
    // It was a conversation: much was refused, and much was done.
    const statuses = Object.fromEntries(fuzz.statuses);
    for (const status of [200, 400, 401, 403, 404, 409])
      expect(statuses[status] ?? 0, String(status)).toBeGreaterThan(REQUESTS / 1_000);
    expect(readFileSync(house.place.log, 'utf8')).toBe('');
    expect(({} as Record<string, unknown>)['extra']).toBeUndefined();
  },
);
