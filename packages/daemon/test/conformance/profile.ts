import { randomBytes } from 'node:crypto';
import {
  InMemoryServerEventBus,
  McpServer,
  createRequestStateCodec,
  type EventStore,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import { mcpHttp, type McpHttp } from '@reveille/tools';
import { addAsking, addAsking2025 } from './asking.ts';
import { addContent } from './content.ts';

/**
 * The conformance suite calls tools, resources and prompts by names of its own. This is our server with those in the
 * place of the catalogue: handler, transports and sessions are the product's.
 */
export function conformanceProfile(): McpHttp {
  const bus = new InMemoryServerEventBus();
  const state = createRequestStateCodec<Record<string, unknown>>({ key: randomBytes(32) });
  const serverFor = (): McpServer => {
    const mcp = new McpServer(
      { name: 'reveille-conformance', version: '0.0.0' },
      {
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          prompts: { listChanged: true },
          logging: {},
          completions: {},
        },
        requestState: { verify: (sealed, context) => state.verify(sealed, context) },
      },
    );
    addContent(mcp);
    addAsking(mcp, state);
    addAsking2025(mcp);
    addTriggers(mcp, bus);
    for (const method of ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel'] as const)
      mcp.server.setRequestHandler(method, async () => ({}));
    mcp.server.setRequestHandler('completion/complete', async () => ({
      completion: { values: [], total: 0, hasMore: false },
    }));
    return mcp;
  };
  return mcpHttp({
    version: '0.0.0',
    serverFor,
    bus,
    legacy: { eventStore: keepAll(), retryIntervalMs: 500 },
  });
}

/** Tools that make a change known to whoever listens. */
function addTriggers(mcp: McpServer, bus: InMemoryServerEventBus): void {
  for (const kind of ['tools', 'prompts'] as const)
    mcp.registerTool(
      `test_trigger_${kind.slice(0, -1)}_change`,
      { description: 'makes a change known' },
      async () => {
        bus.publish({ kind: `${kind}_list_changed` });
        return { content: [{ type: 'text', text: 'told' }] };
      },
    );
}

/** For clients that take up a stream that broke. */
function keepAll(): EventStore {
  const kept: { stream: string; message: JSONRPCMessage }[] = [];
  const isEmpty = (message: JSONRPCMessage): boolean => Object.keys(message).length === 0;
  return {
    storeEvent: async (stream, message) => String(kept.push({ stream, message }) - 1),
    async replayEventsAfter(lastEventId, { send }) {
      const { stream = '' } = kept[Number(lastEventId)] ?? {};
      for (let i = Number(lastEventId) + 1; i < kept.length; i++) {
        const event = kept[i];
        if (event?.stream === stream && !isEmpty(event.message)) await send(String(i), event.message);
      }
      return stream;
    },
  };
}
