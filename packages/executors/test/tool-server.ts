import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { StartSpec } from '@reveille/core';
import { mcpHttp } from '@reveille/tools';
import type { Stand } from './stand.ts';

export interface ToolServer extends AsyncDisposable {
  readonly url: string;
  /** By which the agent of a run is known there. */
  tokenOf(spec: StartSpec): string;
}

/** The catalogue over MCP, as the daemon mounts it: the token names the caller. */
export async function startToolServer(stand: Stand): Promise<ToolServer> {
  const callers = new Map<string, StartSpec>();
  const mcp = mcpHttp({ version: '0.0.0' });
  const serve = async (request: Request): Promise<Response> => {
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    const spec = callers.get(token);
    if (!spec) return new Response(null, { status: 401 });
    const { run, session, epoch } = spec;
    const world = () => stand.worldOf({ kind: 'worker', run, session, epoch });
    return mcp.fetch(request, { key: token, kind: 'worker', world });
  };
  // Other tests share this process: its own Request and Response stay what they are.
  const listener = getRequestListener(serve, { overrideGlobalObjects: false });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // It listens on TCP, so its address is one.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    tokenOf(spec) {
      const token = `${spec.run}-${spec.epoch}`;
      callers.set(token, spec);
      return token;
    },
    async [Symbol.asyncDispose]() {
      await mcp.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
