import type { Readable, Writable } from 'node:stream';
import { agentsOf } from '../agents.ts';
import { command } from '../command/spec.ts';
import { reach } from '../reach.ts';
import { repositoryIfAny } from '../repository.ts';
import { version } from '../version.ts';

export const mcp = command({
  name: 'mcp',
  group: 'Begin',
  summary: 'serves the tools to a chat over its input and output (MCP)',
  usage: '',
  about: `For Claude Code, VS Code, Codex, Gemini and any other client of the Model Context Protocol; \`reveille init --mcp\`
writes their entries. A client that comes back under the same name in the same repository finds its subtasks and its mail.`,
  options: {
    client: { type: 'string', value: 'NAME', means: 'whose chat it is, such as claude; mcp unless told' },
  },
  json: 'nothing: the output is the protocol.',
  async run(call) {
    const { io, options } = call;
    const [{ serveChat }, { holdSeat }, { markChat }, { placeOf }] = await Promise.all([
      import('../mcp/serve.ts'),
      import('../seat.ts'),
      import('../chat/mark.ts'),
      import('@reveille/daemon/connect'),
    ]);
    const found = await repositoryIfAny(call);
    const repository = found?.top ?? null;
    const { home } = placeOf(io.env);
    const client = await reach(call);
    const name = options.client ?? 'mcp';
    using seat = await holdSeat({ home, client, kind: 'chat', name, repository });
    using _mark = markChat(home, seat.session, io.env);
    using agents = await agentsOf(io, found);
    using interruption = io.interruption();
    await serveChat({
      seat,
      agents,
      repository,
      version: version(),
      in: io.in as Readable,
      out: io.out as Writable,
      warn: (words) => io.err.write(`${words}\n`),
      signal: interruption.signal,
    });
    return 0;
  },
});
