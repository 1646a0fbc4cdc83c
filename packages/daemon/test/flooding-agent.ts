/**
 * An agent that speaks the Agent Client Protocol and floods whoever runs it, in every way that its prompt names:
 * "flood: updates, output". It has nothing but what every agent is given: its output and the address and token of its tools.
 */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

interface Tools {
  readonly origin: string;
  readonly authorization: string;
}

let tools: Tools = { origin: '', authorization: '' };

/** As fast as the other side reads. */
async function send(message: object): Promise<void> {
  const line = `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
  if (!process.stdout.write(line)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}

const update = (fields: object): Promise<void> =>
  send({ method: 'session/update', params: { sessionId: 's', update: fields } });

async function post(path: string, body: string): Promise<number> {
  const headers = {
    authorization: tools.authorization,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  try {
    const response = await fetch(`${tools.origin}${path}`, { method: 'POST', headers, body });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

const call = (operation: string, args: unknown): Promise<number> =>
  post(`/v1/op/${operation}`, typeof args === 'string' ? args : JSON.stringify(args));

/** Several loops at once, for ever. */
const loops = (count: number, step: (i: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(
    Array.from({ length: count }, async (_, loop) => {
      for (let i = loop; ; i += count) await step(i);
    }),
  );

const text = (size: number): string => 'x'.repeat(size);
const child = (resultSchema: object, structured: unknown): object => ({
  agentType: 'scripted:coder',
  resultSchema,
  prompt: `do it\n\n\`\`\`reveille-script\n${JSON.stringify({ steps: [{ do: 'report', output: 'o', structured }] })}\n\`\`\``,
});
/** Each definition asks for the next one twice: 2^30 visits. */
const doubling = {
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => {
      const next = i === 29 ? { type: 'string' } : { $ref: `#/$defs/a${i + 1}` };
      return [`a${i}`, { anyOf: [next, next] }];
    }),
  ),
};
const backtracking = { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } };

/** JSON of so many bytes that takes twenty times its length in memory when it is parsed. */
const values = (bytes: number): string => `[${'{},'.repeat(bytes / 3)}{}]`;
/** The first message of a client of the protocol's 2025 era. */
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
});

const FLOODS: Readonly<Record<string, () => Promise<unknown>>> = {
  updates: () =>
    loops(1, (i) =>
      update({
        sessionUpdate: 'tool_call',
        toolCallId: `c${i}`,
        kind: 'edit',
        status: 'completed',
        title: `edit ${i}`,
        locations: [{ path: `${i}/${text(3_000)}` }],
      }),
    ),
  output: () =>
    loops(2, (i) =>
      update({
        sessionUpdate: i % 2 ? 'agent_message_chunk' : 'agent_thought_chunk',
        content: { type: 'text', text: text(i % 100 === 0 ? 5_000_000 : 20_000) },
      }),
    ),
  open: () =>
    loops(1, (i) =>
      update({
        sessionUpdate: 'tool_call',
        toolCallId: `o${i}`,
        status: 'pending',
        rawInput: text(2_000_000),
      }),
    ),
  requests: () => loops(48, (i) => call(i % 2 ? 'checkUpdates' : 'listTasks', i % 2 ? [] : [{}])),
  bodies: () => {
    const bodies = [9_000_000, 4_000_000, 1_000_000].map((size) =>
      JSON.stringify([{ name: 'p', tasks: [{ id: 'a', prompt: text(size) }] }]),
    );
    return loops(16, (i) => call('savePlan', bodies[i % bodies.length]));
  },
  // Each announces as much as may be sent, and sends a byte of it now and then.
  held: () =>
    loops(8, () => {
      const { hostname, port } = new URL(tools.origin);
      const head = `POST /v1/op/savePlan HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: ${tools.authorization}\r\ncontent-type: application/json\r\ncontent-length: ${10 * 2 ** 20}\r\n\r\n`;
      const socket = connect(Number(port), hostname, () => socket.write(head));
      const drip = setInterval(() => socket.write(' '), 500);
      socket.on('error', () => undefined).resume();
      return new Promise((resolve) => socket.once('close', resolve))
        .then(() => clearInterval(drip))
        .then(() => sleep(1));
    }),
  values: () =>
    Promise.all([
      // Too many bytes, too many values, and as many as may be.
      loops(6, (i) => call('savePlan', values([9_000_000, 4_000_000, 270_000][i % 3]!))),
      loops(4, (i) => post('/mcp', values([4_000_000, 270_000][i % 2]!))),
      loops(1, () =>
        update({
          sessionUpdate: 'tool_call',
          toolCallId: 'v',
          rawInput: JSON.parse(values(6_000_000)) as unknown,
        }),
      ),
    ]),
  sessions: () => loops(32, () => post('/mcp', initialize)),
  mail: () => loops(4, (i) => call('notifyParent', [{ type: 'info', message: `${i} ${text(900_000)}` }])),
  log: () => loops(8, () => call('events', [0, 1])),
  connections: () =>
    loops(1_100, () => {
      const { hostname, port } = new URL(tools.origin);
      const socket = connect(Number(port), hostname, () => socket.write('POST /v1/op/x HTTP/1.1\r\nx: '));
      socket.on('error', () => undefined);
      return new Promise((resolve) => socket.once('close', resolve)).then(() => sleep(1));
    }),
  schema: () =>
    loops(2, async (i) => {
      const bad = i % 2 ? backtracking : doubling;
      await call('spawnSubtask', [
        child(bad, { x: `${text(60)}!`.replaceAll('x', 'a') }),
        { blocking: false },
      ]);
      await sleep(50);
    }),
};

function toolsIn(params: Record<string, unknown>): Tools {
  const [server] = params['mcpServers'] as { url: string; headers: { value: string }[] }[];
  return { origin: new URL(server!.url).origin, authorization: server!.headers[0]!.value };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as {
    id?: number;
    method?: string;
    params: Record<string, unknown>;
  };
  if (method === 'initialize')
    void send({ id, result: { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } } });
  if (method === 'session/new') {
    tools = toolsIn(params);
    void send({ id, result: { sessionId: 's' } });
  }
  if (method !== 'session/prompt') return;
  const kinds = /flood: ([a-z, ]+)/.exec(JSON.stringify(params))?.[1]?.split(', ') ?? [];
  for (const kind of kinds) void FLOODS[kind]?.();
});
