import type { TaskView } from '@reveille/protocol';
import { withScript } from '@reveille/executors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Chat } from './chat.ts';
import { House, until } from './house.ts';

const REPORT = withScript('Do.', { steps: [{ do: 'report', output: 'The answer is 42.' }] });
const ASK = withScript('Do.', {
  steps: [
    { do: 'ask', text: 'May I?' },
    { do: 'report', output: 'Thank you.' },
  ],
});

describe('a chat over MCP', () => {
  let house: House;
  beforeAll(() => {
    house = new House();
  });
  afterAll(() => house[Symbol.asyncDispose]());

  const chatOf = (client: string): Chat => new Chat(house.start(['mcp', '--client', client]));
  const ownerOf = async (task: unknown): Promise<string> =>
    (await house.json<TaskView>('status', String(task))).task.owner;

  test('[CLI1.50][WAK6.27] it has the tools of a chat, starts a task in this repository, and is given its result', async () => {
    await using chat = await chatOf('claude').open();
    const { result } = await chat.ask('tools/list', {});
    const names = result?.tools?.map(({ name }) => name) ?? [];
    expect(names).toContain('a2a_spawn_subtask');
    expect(names).not.toContain('a2a_subtask_complete');
    // WAK6.27: Claude Code hides tools that do not say so.
    for (const { _meta } of result?.tools ?? []) expect(_meta).toEqual({ 'anthropic/alwaysLoad': true });
    const agents = await chat.call('a2a_list_agents');
    expect(agents.data['backends']).toEqual(['scripted']);
    const spawned = await chat.call('a2a_spawn_subtask', { agentType: 'scripted:coder', prompt: REPORT });
    expect(spawned.text).toContain('The answer is 42.');
    const task = String(spawned.data['taskId']);
    expect((await house.json<TaskView>('status', task)).task.repository).toBe(house.repository);
    expect(chat.err).toBe('');
  });

  test('[CLI1.51] a chat that comes back finds what ended meanwhile, once', async () => {
    const spawn = { agentType: 'scripted:coder', prompt: ASK, blocking: false };
    let task = '';
    {
      await using chat = await chatOf('editor').open();
      task = String((await chat.call('a2a_spawn_subtask', spawn)).data['taskId']);
    }
    // Its question went to the chat, which is gone, and waits for it.
    const owner = await ownerOf(task);
    await until(async () => (await house.json<TaskView>('status', task)).task.state === 'waiting');
    {
      await using chat = await chatOf('editor').open();
      const listed = await chat.call('a2a_list_agents');
      expect(listed.text).toContain('[Reveille: 1 message waits for you');
      const updates = await chat.call('a2a_check_updates');
      expect(updates.text).toContain('May I?');
      const request = /req_\w+/.exec(updates.text)?.[0] ?? '';
      await chat.call('orchestrator_answer', { requestId: request, answer: 'yes' });
      await chat.call('a2a_await_subtasks', { taskIds: [task] });
    }
    await using chat = await chatOf('editor').open();
    expect((await chat.call('a2a_check_updates')).text).not.toContain('Thank you.');
    const next = await chat.call('a2a_spawn_subtask', { agentType: 'scripted:coder', prompt: REPORT });
    expect(await ownerOf(next.data['taskId'])).toBe(owner);
  });

  test('[CLI1.51] what was handed to a chat that was killed before it said more comes again', async () => {
    const chat = await chatOf('killed').open();
    await chat.call('a2a_spawn_subtask', { agentType: 'scripted:coder', prompt: REPORT });
    await chat.kill();
    await using back = await chatOf('killed').open();
    const { text } = await back.call('a2a_check_updates');
    expect(text).toContain('The answer is 42.');
  });

  test('[CLI1.52] two chats of one name at the same time are two, and each finds its own again', async () => {
    const spawn = { agentType: 'scripted:coder', prompt: REPORT };
    const owners: string[] = [];
    {
      await using one = await chatOf('twin').open();
      await using two = await chatOf('twin').open();
      for (const chat of [one, two])
        owners.push(await ownerOf((await chat.call('a2a_spawn_subtask', spawn)).data['taskId']));
    }
    expect(new Set(owners).size).toBe(2);
    await using again = await chatOf('twin').open();
    expect(owners).toContain(await ownerOf((await again.call('a2a_spawn_subtask', spawn)).data['taskId']));
  });
});
