import { AUTHORITY, HTTP_ROUTES, PAGE_ROUTES, type Operation, type Role } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OverHttp } from './inside.ts';
import { request, wire } from './wire.ts';

/** Every route by a credential of every kind, generated from the authority table. */

const KINDS = [
  'person',
  'page',
  'terminal',
  'chat',
  'client',
  'orchestrator',
  'worker',
] as const satisfies Role[];
type Kind = (typeof KINDS)[number];

/** The operation route is authorised by the row of its operation. */
const NAMES = (Object.keys(HTTP_ROUTES) as (keyof typeof HTTP_ROUTES)[]).filter(
  (name) => name !== 'operation',
);

describe('a route', () => {
  let door: OverHttp;
  let credentials: Readonly<Record<Kind, string>>;

  beforeAll(async () => {
    door = await OverHttp.open({
      parts: { agents: () => ({ names: () => ['agent', 'orchestrator'] }) },
    });
    const session = async (kind: 'chat' | 'terminal' | 'orchestrator') =>
      door.person.grantSession({ kind, name: kind });
    const [chat, terminal, client] = await Promise.all([
      session('chat'),
      session('terminal'),
      session('orchestrator'),
    ]);
    const run = async (agentType?: string): Promise<string> => {
      const input = { prompt: `go ${agentType}`, ...(agentType === undefined ? {} : { agentType }) };
      const spawned = await door.person.as(terminal.credential).spawnSubtask(input, { blocking: false });
      return door.credentialOf(await door.stage.at(spawned.task));
    };
    const { ticket } = (await post(door.token, HTTP_ROUTES.ticket.path)).value as { ticket: string };
    const login = await post(door.token, PAGE_ROUTES.login, { ticket });
    credentials = {
      person: door.token,
      page: (login.value as { credential: string }).credential,
      chat: chat.credential,
      terminal: terminal.credential,
      client: client.credential,
      orchestrator: await run('orchestrator'),
      worker: await run(),
    };
  });
  afterAll(() => door[Symbol.asyncDispose]());

  async function post(credential: string, path: string, body: object = {}): Promise<{ value: unknown }> {
    const { body: text } = await wire(
      door.port,
      request(door.port, credential, { path, body: JSON.stringify(body) }),
    );
    return JSON.parse(text) as { value: unknown };
  }

  /** Null: it was let in. A body that no route takes keeps those that are from changing anything. */
  async function refusal(credential: string, name: keyof typeof HTTP_ROUTES): Promise<number | null> {
    const { method, path } = HTTP_ROUTES[name];
    const filled = path.replace(':attachment', 'x').replace(':view', 'x');
    const response = await fetch(`${door.url}${filled}`, {
      method,
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: '{"no":"such input"}' } : {}),
    });
    await response.body?.cancel();
    return response.status === 401 || response.status === 403 ? response.status : null;
  }

  test.for(NAMES)('[ID6.20] %s serves those whom its row names, and nobody else', async (name) => {
    const { may } = AUTHORITY[`http.${name}` as Operation];
    const expected = KINDS.map((kind) => [kind, may[kind] === undefined ? 403 : null]);
    const found = await Promise.all(
      KINDS.map(async (kind) => [kind, await refusal(credentials[kind], name)]),
    );
    expect(found).toEqual(expected);
  });

  test.for(['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'TRACE', 'QUERY', 'POST'])(
    '[ID6.20] no other method reaches what a GET or a POST would be refused: %s',
    async (method) => {
      for (const [name, { path, method: own }] of Object.entries(HTTP_ROUTES)) {
        if (method === own || name === 'operation') continue;
        const filled = path.replace(':attachment', 'x').replace(':view', 'x');
        const bytes = request(door.port, credentials.worker, { method, path: filled, body: '{}' });
        const { status, body } = await wire(door.port, bytes);
        expect([name, status >= 400, body.includes('value')]).toEqual([name, true, false]);
      }
    },
  );
});
