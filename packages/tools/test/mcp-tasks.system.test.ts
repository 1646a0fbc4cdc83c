import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import type { z } from 'zod';
import { Flags, McpRig } from './mcp-rig.ts';

const VERSION = '2026-07-28';
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
type Json = Record<string, unknown>;

/** A client of the extension, as bare as its specification: what comes back is read by the schemas of its authors. */
class TaskClient {
  readonly #world: McpRig;
  readonly #token: string;
  readonly #capabilities: Json;

  constructor(world: McpRig, token: string, capabilities: Json = TASKS) {
    this.#world = world;
    this.#token = token;
    this.#capabilities = capabilities;
  }

  async ask(method: string, params: Json): Promise<Json> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': this.#capabilities,
    };
    const name = params['name'] ?? params['taskId'];
    const answer = await this.#world.post(
      this.#token,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
      { 'mcp-protocol-version': VERSION, 'mcp-method': method, 'mcp-name': String(name) },
    );
    const text = await answer.text();
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    return JSON.parse(data) as Json;
  }

  async spawn(agentType: string, prompt: string): Promise<Json> {
    const { result } = await this.ask('tools/call', {
      name: 'a2a_spawn_subtask',
      arguments: { agentType, prompt },
    });
    return result as Json;
  }

  async get(taskId: string): Promise<z.infer<typeof GetTaskResultV2Schema>> {
    return GetTaskResultV2Schema.parse((await this.ask('tasks/get', { taskId }))['result']);
  }

  async until(taskId: string, status: string): Promise<z.infer<typeof GetTaskResultV2Schema>> {
    for (;;) {
      const task = await this.get(taskId);
      if (task.status === status) return task;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

describe('tasks of the protocol', () => {
  let flags: Flags;
  let world: McpRig;
  let token: string;
  let client: TaskClient;
  beforeAll(async () => {
    flags = await Flags.make();
    world = await McpRig.start();
    token = await world.chat();
    client = new TaskClient(world, token);
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await flags[Symbol.asyncDispose]();
  });

  test('[MCP50] a spawn that would wait is answered with a task, which is the child; its result comes with the poll, and no second time as mail', async () => {
    const flag = flags.next();
    const made = CreateTaskResultV2Schema.parse(await client.spawn('waits', flag.path));
    expect(made).toMatchObject({ status: 'working', ttlMs: null });
    expect(await client.get(made.taskId)).toMatchObject({ status: 'working' });
    await flag.raise();
    const ended = await client.until(made.taskId, 'completed');
    const structured = { state: 'ended', taskId: made.taskId, status: 'success' };
    expect(ended).toMatchObject({
      result: { structuredContent: { ...structured, updates: [{ kind: 'end' }] } },
    });
    const again = await client.get(made.taskId);
    expect(again).toMatchObject({ status: 'completed', result: { structuredContent: structured } });
    const mail = await client.ask('tools/call', { name: 'a2a_check_updates', arguments: {} });
    expect(mail).toMatchObject({ result: { structuredContent: { updates: [] } } });
  });

  test('[MCP50] what is not taken by a poll comes by mail; after a restart of the server too', async () => {
    const flag = flags.next();
    const { taskId } = CreateTaskResultV2Schema.parse(await client.spawn('waits', flag.path));
    await world.remount();
    await flag.raise();
    const waited = await client.ask('tools/call', {
      name: 'a2a_await_subtasks',
      arguments: { taskIds: [taskId], timeout: 60_000 },
    });
    expect(waited).toMatchObject({ result: { structuredContent: { done: true } } });
    expect(await client.get(taskId)).toMatchObject({
      status: 'completed',
      result: { structuredContent: { state: 'ended', status: 'success', updates: [] } },
    });
  });

  test('[MCP51] a task that is cancelled is its child, cancelled; another caller has no such task', async () => {
    const flag = flags.next();
    const { taskId } = CreateTaskResultV2Schema.parse(await client.spawn('waits', flag.path));
    const stranger = new TaskClient(world, await world.chat());
    for (const method of ['tasks/get', 'tasks/cancel'])
      expect(await stranger.ask(method, { taskId })).toMatchObject({
        error: { code: -32_602, message: 'You have no such task.' },
      });
    expect(await client.ask('tasks/get', { taskId: 'task_nobody' })).toMatchObject({
      error: { code: -32_602 },
    });
    CancelTaskResultV2Schema.parse((await client.ask('tasks/cancel', { taskId }))['result']);
    await client.until(taskId, 'cancelled');
    CancelTaskResultV2Schema.parse((await client.ask('tasks/cancel', { taskId }))['result']);
  });

  test('[MCP52] whoever does not say that it takes tasks, or does not want to wait, gets none', async () => {
    const flag = flags.next();
    await flag.raise();
    const plain = new TaskClient(world, token, {});
    expect(await plain.spawn('waits', flag.path)).toMatchObject({ structuredContent: { state: 'ended' } });
    const { result } = await client.ask('tools/call', {
      name: 'a2a_spawn_subtask',
      arguments: { agentType: 'waits', prompt: flag.path, blocking: false },
    });
    expect(result).toMatchObject({ structuredContent: { state: 'running' } });
    const wrong = await client.spawn('nobody', 'x');
    expect(wrong).toMatchObject({ isError: true });
  });
});
