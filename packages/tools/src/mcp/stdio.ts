import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { answeredBy } from './answered.ts';
import type { McpCaller, McpOptions } from './caller.ts';
import { mcpServer } from './server.ts';

export interface McpStdioOptions extends McpOptions {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
}

export interface McpStdio {
  toolsChanged(): void;
  close(): Promise<void>;
}

/** Serves one caller over a pair of streams, in the era its client opens with. Ends with its input. */
export function mcpStdio(caller: McpCaller, options: McpStdioOptions): McpStdio {
  const connection = randomUUID();
  const servers = new Set<McpServer>();
  const transport = new StdioServerTransport(
    options.stdin ?? process.stdin,
    options.stdout ?? process.stdout,
  );
  const handle = serveStdio(
    () => {
      const server = mcpServer(caller, options, connection);
      servers.add(server);
      return server;
    },
    { transport, onerror: (error) => options.onError?.(error) },
  );
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    onmessage?.(message);
    for (const server of servers) answeredBy(server).hear(message);
  };
  return {
    toolsChanged() {
      for (const server of servers) if (server.isConnected()) server.sendToolListChanged();
    },
    close: () => handle.close(),
  };
}
