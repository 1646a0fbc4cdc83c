import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Answer, Asked } from './client.ts';

// A program for the tests: a real client of the protocol in a process of its own. It is told by messages what to call.
const [, , url = '', credential = '', era = '2025'] = process.argv;
const mode = era === '2025' ? 'legacy' : { pin: '2026-07-28' };
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
const headers = { authorization: `Bearer ${credential}` };
const answer = (message: Answer): void => void process.send?.(message);

process.on('message', ({ id, name, args, timeoutMs }: Asked) => {
  const options = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  client.callTool({ name, arguments: args }, options).then(
    (result) => answer({ id, result }),
    (error: unknown) => answer({ id, error: String(error) }),
  );
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit());

try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  answer({ id: 0, tools: tools.map(({ name }) => name) });
} catch (error) {
  answer({ id: 0, error: String(error) });
}
