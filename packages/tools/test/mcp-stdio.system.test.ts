import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { ERAS, Flags, connectStdio, type Era } from './mcp-rig.ts';

type Result = Awaited<ReturnType<Client['callTool']>>;
const textOf = ({ content }: Result): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

/** A client of a process of its own, which is gone afterwards. */
async function withClient(
  era: Era,
  use: (client: Client, pid: number) => Promise<void>,
  options = {},
): Promise<void> {
  const { client, transport } = await connectStdio(era, options);
  const pid = transport.pid ?? 0;
  try {
    await use(client, pid);
  } finally {
    await client.close();
  }
  await until(() => !isAlive(pid));
}

describe.each(ERAS)('MCP over stdio, %s', (era) => {
  test('[MCP17] tools are listed and called; the server ends with its input', () =>
    withClient(era, async (client) => {
      expect(client.getServerVersion()).toMatchObject({ name: 'reveille' });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('a2a_spawn_subtask');
      const result = await client.callTool({
        name: 'a2a_spawn_subtask',
        arguments: { agentType: 'quick', prompt: 'x' },
      });
      expect(textOf(result)).toContain('quick work');
      const wrong = await client.callTool({ name: 'a2a_cancel_subtask', arguments: { task: 1 } });
      expect(wrong.isError).toBe(true);
      await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('There is no tool');
    }));

  test('[MCP18] a client that cancels gets the result by mail instead, once', async () => {
    await using flags = await Flags.make();
    await withClient(era, async (client) => {
      const flag = flags.next();
      const stop = new AbortController();
      const spawn = { name: 'a2a_spawn_subtask', arguments: { agentType: 'waits', prompt: flag.path } };
      const calling = client.callTool(spawn, { signal: stop.signal }).catch((error: unknown) => error);
      await until(
        async () =>
          !textOf(await client.callTool({ name: 'a2a_subtask_status', arguments: {} })).includes(
            'no subtasks',
          ),
      );
      stop.abort();
      expect(await calling).toBeInstanceOf(Error);
      await flag.raise();
      await until(async () =>
        textOf(await client.callTool({ name: 'a2a_list_agents', arguments: {} })).includes('1 message waits'),
      );
      expect(textOf(await client.callTool({ name: 'a2a_check_updates', arguments: {} }))).toContain(
        'seen it',
      );
      expect(textOf(await client.callTool({ name: 'a2a_check_updates', arguments: {} }))).toBe(
        'No new messages.',
      );
    });
  });

  test('[MCP19] a client that listens is told when what it may use has changed', () => {
    const changed = Promise.withResolvers<string[]>();
    const onChanged = (_: unknown, list: { name: string }[] | null): void =>
      changed.resolve((list ?? []).map(({ name }) => name));
    return withClient(
      era,
      async (client, pid) => {
        await client.listTools();
        // Its subscription may not be open yet.
        const again = setInterval(() => process.kill(pid, 'SIGUSR2'), 50);
        const names = await changed.promise.finally(() => clearInterval(again));
        expect(names).toEqual(['a2a_list_agents', 'read_more']);
      },
      { listChanged: { tools: { debounceMs: 0, onChanged } } },
    );
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
