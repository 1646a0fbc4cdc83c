import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What an odd endpoint says of the tokens of a call; null: nothing. */
export type OddUsage = { readonly prompt_tokens: unknown; readonly completion_tokens: unknown } | null;

interface Oddity {
  readonly usage: OddUsage;
  /** Characters of every answer, after which it breaks off. */
  readonly cutAfter?: number;
  readonly refuses?: boolean;
  /** Nobody listens at its address. */
  readonly gone?: boolean;
}

/** An endpoint in the dialect of OpenAI that counts as it likes, and may break off in the middle of an answer. */
export class OddEndpoint {
  calls = 0;
  url = '';
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(how: Oddity): Promise<OddEndpoint> {
    const server = createServer((request, response) => {
      endpoint.calls++;
      request.resume();
      if (how.refuses) return void response.writeHead(401).end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const send = (chunk: object): void => void response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      const head = { id: 'x', object: 'chat.completion.chunk', created: 0, model: 'odd' };
      if (how.cutAfter !== undefined) {
        if (how.cutAfter > 0)
          send({
            ...head,
            choices: [{ index: 0, delta: { role: 'assistant', content: 'x'.repeat(how.cutAfter) } }],
          });
        setTimeout(() => response.destroy(), 20);
        return;
      }
      const call = { name: 'list_directory', arguments: JSON.stringify({ path: '.', n: endpoint.calls }) };
      const tool_calls = [{ index: 0, id: `c${endpoint.calls}`, type: 'function', function: call }];
      send({ ...head, choices: [{ index: 0, delta: { role: 'assistant', tool_calls } }] });
      send({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
      if (how.usage) send({ ...head, choices: [], usage: how.usage });
      response.end('data: [DONE]\n\n');
    });
    const endpoint = new OddEndpoint(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    if (how.gone) await new Promise((resolve) => server.close(resolve));
    return endpoint;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
