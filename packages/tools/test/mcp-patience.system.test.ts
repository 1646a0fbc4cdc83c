import type { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { ERAS, Flags, McpRig, connectStdio } from './mcp-rig.ts';

/** Shorter than the child takes; far longer than any pause between two signs of life on a busy machine. */
const CLIENT_TIMEOUT_MS = 6_000;

test('[MCP5] signs of life keep a blocking spawn going past the time-out of its client, on every road', async () => {
  await using flags = await Flags.make();
  await using world = await McpRig.start({ progressEveryMs: 50 });
  const clients: Client[] = [];
  for (const era of ERAS) clients.push(await world.connect(await world.chat(), era));
  const piped = await Promise.all(ERAS.map((era) => connectStdio(era)));
  clients.push(...piped.map(({ client }) => client));
  const flag = flags.next();
  const beats = clients.map(() => [] as string[]);
  const calls = clients.map((client, i) =>
    client.callTool(
      { name: 'a2a_spawn_subtask', arguments: { agentType: 'waits', prompt: flag.path } },
      {
        timeout: CLIENT_TIMEOUT_MS,
        resetTimeoutOnProgress: true,
        onprogress: ({ message }) => void beats[i]!.push(message ?? ''),
      },
    ),
  );
  const answers = Promise.all(calls);
  answers.catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, CLIENT_TIMEOUT_MS * 1.2));
  await flag.raise();
  for (const result of await answers)
    expect(result.structuredContent).toMatchObject({ state: 'ended', status: 'success' });
  for (const said of beats) {
    expect(said.length).toBeGreaterThan(2);
    expect(said[0]).toMatch(/^waits for waits \(\d+ s\)$/);
  }
  await Promise.all(piped.map(({ client }) => client.close()));
});
