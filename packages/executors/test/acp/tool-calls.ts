import type { McpServer } from '@agentclientprotocol/sdk';
import type { Client } from '@modelcontextprotocol/client';

/** The tools of the server that the client named, over whichever transport it named it with. */
export class ToolCalls implements AsyncDisposable {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open([server]: readonly McpServer[]): Promise<ToolCalls> {
    if (!server) throw new Error('there is no MCP server');
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const client = new Client({ name: 'scripted', version: '1' });
    if ('url' in server) {
      const headers = Object.fromEntries(server.headers.map((header) => [header.name, header.value]));
      await client.connect(
        new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }),
      );
    } else {
      const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
      const env = Object.fromEntries(server.env.map((variable) => [variable.name, variable.value]));
      await client.connect(new StdioClientTransport({ command: server.command, args: server.args, env }));
    }
    return new ToolCalls(client);
  }

  async list(): Promise<{ readonly name: string; readonly inputSchema: unknown }[]> {
    return (await this.#client.listTools()).tools;
  }

  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const result = await this.#client.callTool({ name, arguments: args }, { signal, timeout: 600_000 });
    return (result.content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}
