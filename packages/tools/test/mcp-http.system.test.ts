import type { Client } from '@modelcontextprotocol/client';
import type { SessionId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { toolsFor, toolsJson } from '../src/index.ts';
import { DirectoryWorkspace } from './directory.ts';
import { ERAS, Flags, McpRig } from './mcp-rig.ts';

type Result = Awaited<ReturnType<Client['callTool']>>;
const call = (client: Client, name: string, args: Record<string, unknown> = {}): Promise<Result> =>
  client.callTool({ name, arguments: args });
const textOf = ({ content }: Result): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

describe.each(ERAS)('MCP over HTTP, %s', (era) => {
  test('[MCP1] a client is told what this is, lists the tools with their schemas, and calls them', async () => {
    await using world = await McpRig.start();
    const client = await world.connect(await world.chat(), era);
    expect(client.getServerVersion()).toMatchObject({ name: 'reveille' });
    expect(client.getInstructions()).toContain('a2a_spawn_subtask');
    const { tools } = await client.listTools();
    const listed = new Map(toolsJson().map((tool) => [tool.name, tool]));
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      const own = listed.get(name)!;
      expect({ title, description, inputSchema, outputSchema }).toEqual({
        title: own.title,
        description: own.description,
        inputSchema: own.inputSchema,
        outputSchema: own.outputSchema,
      });
      expect(annotations).toMatchObject({
        readOnlyHint: own.annotations.readOnly,
        destructiveHint: own.annotations.destructive,
      });
    }
    const result = await call(client, 'a2a_spawn_subtask', { agentType: 'quick', prompt: 'x' });
    expect(result.structuredContent).toMatchObject({ state: 'ended', status: 'success' });
    expect(textOf(result)).toContain('quick work');
    expect(world.errors).toEqual([]);
  });

  test('[MCP2] a caller sees what it may use and nothing else, and what it may not use is refused', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await McpRig.start();
    const { caller, world: own } = await world.rig.worker({ workspace });
    const wide = await world.connect(world.admit(caller, { workspace }), era);
    expect((await wide.listTools()).tools.map(({ name }) => name)).toEqual(
      toolsFor(own).map(({ name }) => name),
    );
    const grants = { tools: ['read_file'], deniedTools: [], delegatesTo: null };
    const narrow = await world.connect(world.admit(caller, { workspace, grants }), era);
    const names = (await narrow.listTools()).tools.map(({ name }) => name);
    expect(names.toSorted()).toEqual([
      'a2a_check_updates',
      'a2a_notify_parent',
      'a2a_subtask_complete',
      'read_file',
      'read_more',
    ]);
    expect(narrow.getInstructions()).toContain('a2a_subtask_complete');
    const refused = await call(narrow, 'delete_file', { path: 'x' });
    expect(refused).toMatchObject({
      isError: true,
      _meta: { 'dev.reveille/error': { code: 'not_allowed' } },
    });
    await expect(call(narrow, 'reed_file', {})).rejects.toThrow(
      /There is no tool "reed_file". The nearest you have: read_file/,
    );
  });

  test('[MCP3] a wrong input is a result that teaches, not an error of the protocol', async () => {
    await using world = await McpRig.start();
    const client = await world.connect(await world.chat(), era);
    const result = await call(client, 'a2a_spawn_subtask', { agent: 'coder' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('The nearest is agentType');
  });

  test('[MCP4] without signs of life being asked for, a call answers before its client gives up; the result comes by mail, once', async () => {
    await using flags = await Flags.make();
    await using world = await McpRig.start({ patience: (_, progress) => (progress ? 60_000 : 200) });
    const client = await world.connect(await world.chat(), era);
    const flag = flags.next();
    const running = await call(client, 'a2a_spawn_subtask', { agentType: 'waits', prompt: flag.path });
    expect(running.structuredContent).toMatchObject({ state: 'running' });
    const { taskId } = running.structuredContent as { taskId: string };
    await flag.raise();
    let got: Result;
    do got = await call(client, 'a2a_await_subtasks', { taskIds: [taskId] });
    while ((got.structuredContent as { open: string[] }).open.length > 0);
    expect(textOf(got)).toContain('seen it');
    expect(textOf(await call(client, 'a2a_check_updates'))).toBe('No new messages.');
  });

  test('[MCP6] a client that cancels ends what its call started', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await McpRig.start();
    const { caller } = await world.rig.worker();
    const client = await world.connect(world.admit(caller, { workspace }), era);
    const stop = new AbortController();
    const command = { name: 'run_command', arguments: { command: 'echo $$ > pid; exec sleep 120' } };
    const calling = client.callTool(command, { signal: stop.signal }).catch((error: unknown) => error);
    const pid = await written(workspace, 'pid');
    stop.abort();
    expect(await calling).toBeInstanceOf(Error);
    await until(() => !isAlive(pid));
  });

  test('[MCP7] a client that goes away in the middle of a call finds the result when it comes back, once', async () => {
    await using flags = await Flags.make();
    await using world = await McpRig.start();
    const token = await world.chat();
    const flag = flags.next();
    const first = await world.connect(token, era);
    const calling = call(first, 'a2a_spawn_subtask', { agentType: 'waits', prompt: flag.path }).catch(
      (error: unknown) => error,
    );
    await until(async () => (await world.rig.person.listTasks({ open: true })).length === 1);
    await first.close();
    expect(await calling).toBeInstanceOf(Error);
    await until(() => world.requests.some(({ signal }) => signal.aborted));
    await flag.raise();
    await until(async () => (await world.rig.person.listTasks({ open: true })).length === 0);
    const second = await world.connect(token, era);
    const listed = await call(second, 'a2a_list_agents');
    expect(textOf(listed)).toContain('[Reveille: 1 message waits for you');
    expect(listed.structuredContent).toMatchObject({ notice: expect.stringContaining('1 message waits') });
    expect(textOf(await call(second, 'a2a_check_updates'))).toContain('seen it');
    expect(textOf(await call(second, 'a2a_check_updates'))).toBe('No new messages.');
  });

  test('[MCP8] two clients at once: each gets its own result, and nothing of the other’s', async () => {
    await using flags = await Flags.make();
    await using world = await McpRig.start();
    const flag = flags.next();
    const clients = await Promise.all([0, 1].map(async () => world.connect(await world.chat(), era)));
    const calls = clients.map((client, i) =>
      call(client, 'a2a_spawn_subtask', { agentType: 'waits', prompt: `${flag.path}\nby ${i}` }),
    );
    await until(async () => (await world.rig.person.listTasks({ open: true })).length === 2);
    await flag.raise();
    const results = await Promise.all(calls);
    expect(results.map((result) => /seen (by \d)/.exec(textOf(result))?.[1])).toEqual(['by 0', 'by 1']);
    for (const client of clients)
      expect(textOf(await call(client, 'a2a_check_updates'))).toBe('No new messages.');
  });

  test('[MCP9] the model’s own id of a call is its key, on whichever connection it comes again', async () => {
    await using world = await McpRig.start();
    const token = await world.chat();
    const spawn = {
      name: 'a2a_spawn_subtask',
      arguments: { agentType: 'holder', prompt: 'x', blocking: false },
    };
    const ids: unknown[] = [];
    for (const toolUse of ['toolu_1', 'toolu_1', 'toolu_2']) {
      const client = await world.connect(token, era);
      const result = await client.callTool({ ...spawn, _meta: { 'claudecode/toolUseId': toolUse } });
      ids.push((result.structuredContent as { taskId: string }).taskId);
    }
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test('[MCP9] another connection that counts its requests anew makes new children', async () => {
    await using world = await McpRig.start();
    const token = await world.chat();
    const ids = new Set<unknown>();
    for (let i = 0; i < 2; i++) {
      const client = await world.connect(token, era);
      const { structuredContent } = await call(client, 'a2a_spawn_subtask', {
        agentType: 'holder',
        prompt: 'x',
        blocking: false,
      });
      ids.add((structuredContent as { taskId: string }).taskId);
      await client.close();
    }
    expect(ids.size).toBe(2);
  });

  test('[MCP10] a client that listens is told when what it may use has changed', async () => {
    await using world = await McpRig.start();
    let tools = ['a2a_*'];
    const { id } = await world.rig.person.openSession('chat', 'ann');
    const caller = { kind: 'session', session: id } as const;
    const token = world.admit(caller, () =>
      world.rig.worldOf(caller, { grants: { tools, deniedTools: [], delegatesTo: null } }),
    );
    const changed = Promise.withResolvers<string[]>();
    const client = await world.connect(token, era, {
      listChanged: {
        tools: {
          debounceMs: 0,
          onChanged: (_, list) => changed.resolve((list ?? []).map(({ name }) => name)),
        },
      },
    });
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    tools = ['a2a_list_agents'];
    // Its stream may not be open yet: whoever begins to listen looks once more anyway.
    const again = setInterval(() => world.http.toolsChanged(), 20);
    const names = await changed.promise.finally(() => clearInterval(again));
    expect(names).toEqual(['a2a_list_agents', 'read_more']);
  });

  test('[MCP11] an answer that nobody heard is said to be undelivered', async () => {
    await using world = await McpRig.start();
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const lost = Promise.withResolvers<string>();
    const { id } = await world.rig.person.openSession('chat', 'ann');
    const caller = { kind: 'session', session: id } as const;
    const base = world.rig.worldOf(caller);
    const list = async () => {
      entered.resolve();
      await gate.promise;
      return base.agents.list();
    };
    const undelivered = async (): Promise<void> => lost.resolve('told');
    const token = world.admit(caller, () => ({ ...base, agents: { ...base.agents, list }, undelivered }));
    const client = await world.connect(token, era);
    const calling = call(client, 'a2a_list_agents').catch((error: unknown) => error);
    await entered.promise;
    await client.close();
    await calling;
    await until(() => world.requests.some(({ signal }) => signal.aborted));
    // The tool takes no notice and answers all the same.
    gate.resolve();
    expect(await lost.promise).toBe('told');
  });

  test('[MCP12] a caller that no longer counts is told so; what else is wrong with it is not', async () => {
    await using world = await McpRig.start();
    const fail = new Error('secret: disk 7');
    const token = world.admit({ kind: 'session', session: 'session_x' as SessionId }, () => {
      throw fail;
    });
    const client = await world.connect(token, era);
    await expect(client.listTools()).rejects.not.toThrow('secret');
    await expect(call(client, 'a2a_list_agents')).rejects.toThrow('Internal error');
    expect(world.errors).toContain(fail);
  });
});

describe('MCP over HTTP', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  };
  const spawn = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'a2a_spawn_subtask', arguments: { agentType: 'holder', prompt: 'x', blocking: false } },
  });
  const taskIn = async (response: Response): Promise<string> =>
    /"taskId":"(\w+)"/.exec(await response.text())?.[1] ?? 'none';

  test('[MCP9] within a connection the protocol’s own number of a call is its key', async () => {
    await using world = await McpRig.start();
    const token = await world.chat();
    const opened = await world.post(token, initialize);
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await opened.text();
    const ids = [];
    for (const id of [1, 1, 2]) ids.push(await taskIn(await world.post(token, spawn(id), session)));
    expect(ids[0]).toMatch(/^task_/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    await world.remount();
    expect(await taskIn(await world.post(token, spawn(2), session))).toBe(ids[2]);
  });

  test('[MCP11] a call that is given up while its answer is on the way gives its mail back', async () => {
    await using world = await McpRig.start();
    const token = await world.chat();
    const opened = await world.post(token, initialize);
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await opened.text();
    const ask = async (id: number, name: string, input: object): Promise<string> => {
      const params = { name, arguments: input };
      return (await world.post(token, { jsonrpc: '2.0', id, method: 'tools/call', params }, session)).text();
    };
    expect(await ask(1, 'a2a_spawn_subtask', { agentType: 'quick', prompt: 'x' })).toContain('quick work');
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, reason: 'time-out' },
    };
    expect((await world.post(token, cancelled, session)).status).toBe(202);
    const again = await ask(2, 'a2a_check_updates', {});
    expect(again).toContain('quick work');
    expect(again).toContain('you may have seen it before');
    expect(await ask(3, 'a2a_check_updates', {})).toContain('No new messages');
  });

  test('[MCP13] a session is its caller’s: to others it does not exist', async () => {
    await using world = await McpRig.start();
    const [token, other] = [await world.chat(), await world.chat()];
    const opened = await world.post(token, initialize);
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await opened.text();
    expect((await world.post(other, spawn(1), session)).status).toBe(404);
    expect((await world.post(token, spawn(1), session)).status).toBe(200);
  });

  test('[MCP13] a session that its client ended is over', async () => {
    await using world = await McpRig.start();
    const token = await world.chat();
    const opened = await world.post(token, initialize);
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await opened.text();
    const headers = { authorization: `Bearer ${token}`, ...session };
    expect((await fetch(world.url, { method: 'DELETE', headers })).status).toBe(200);
    expect((await world.post(token, spawn(1), session)).status).toBe(404);
  });

  test('[MCP14] a connection that the server has forgotten goes on all the same', async () => {
    await using world = await McpRig.start();
    const client = await world.connect(await world.chat(), '2025');
    await call(client, 'a2a_list_agents');
    await world.remount();
    expect((await call(client, 'a2a_list_agents')).isError).toBeFalsy();
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
  });

  test('[MCP14] only so many connections are remembered', async () => {
    await using world = await McpRig.start({ legacy: { maxSessions: 2 } });
    const token = await world.chat();
    const clients = [];
    for (let i = 0; i < 4; i++) clients.push(await world.connect(token, '2025'));
    for (const client of clients) expect((await call(client, 'a2a_list_agents')).isError).toBeFalsy();
  });

  test('[MCP14.1] a caller that opens connections without end ends no call of another', async () => {
    await using flags = await Flags.make();
    await using world = await McpRig.start({ legacy: { maxSessions: 40 } });
    const flag = flags.next();
    const client = await world.connect(await world.chat(), '2025');
    const waiting = call(client, 'a2a_spawn_subtask', { agentType: 'waits', prompt: flag.path });
    await until(async () => (await world.rig.person.listTasks({ open: true })).length === 1);
    const flooding = await world.chat();
    for (let i = 0; i < 60; i++) await (await world.post(flooding, initialize)).text();
    await flag.raise();
    expect(textOf(await waiting)).toContain('seen it');
    expect((await call(client, 'a2a_list_agents')).isError).toBeFalsy();
  });

  test('[MCP15] what is no request of the protocol is refused, and the server lives on', async () => {
    await using world = await McpRig.start({ maxBodyBytes: 1_000_000 });
    const token = await world.chat();
    const status = async (body: unknown, headers?: Record<string, string>): Promise<number> => {
      const response = await world.post(token, body, headers);
      await response.text();
      return response.status;
    };
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const inside = (value: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a2a_list_agents","arguments":{"filter":${value}}}}`;
    expect(await status('{', {})).toBe(400);
    expect(await status('"x".repeat'.padEnd(2_000_000, 'x'))).toBe(413);
    expect(await status('{}', { 'content-type': 'text/plain' })).toBe(415);
    expect(await status('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).toBe(415);
    for (const body of [deep, '[]', '7', 'null', '{"__proto__":{"x":1}}', '{"jsonrpc":"2.0"}'])
      expect(await status(body)).toBeLessThan(500);
    expect(await status(inside(deep))).toBe(400);
    expect(await status(inside(`[${'{},'.repeat(300_000)}{}]`))).toBe(400);
    expect(await status(inside('{"__proto__":{"polluted":true}}'))).toBe(200);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect((await fetch(world.url, { method: 'POST' })).status).toBe(401);
    const client = await world.connect(token, '2026');
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
  });

  test('[MCP16] the catalogue claims no tasks of the protocol: long calls answer, and their results come by mail', async () => {
    await using world = await McpRig.start();
    for (const era of ERAS) {
      const client = await world.connect(await world.chat(), era);
      expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
      expect(client.getServerCapabilities()).not.toHaveProperty('tasks');
    }
  });
});

async function written({ root }: DirectoryWorkspace, name: string): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  for (;;) {
    const text = await readFile(`${root}/${name}`, 'utf8').catch(() => '');
    if (text.endsWith('\n')) return Number(text);
    await pause();
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause();
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
