import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { TOOLS } from '../src/catalogue.ts';
import { asLoopTools, toolsFor, toolsJson } from '../src/index.ts';
import { DirectoryWorkspace } from './directory.ts';
import { rig } from './rig.ts';

const NAMES =
  `a2a_list_agents a2a_list_specialists a2a_spawn_subtask a2a_spawn_parallel_subtasks a2a_await_subtasks
a2a_check_updates a2a_notify_parent a2a_send_message a2a_subtask_complete a2a_subtask_status a2a_cancel_subtask a2a_retry_subtask
a2a_subtask_diff a2a_pull_subtask_changes a2a_discard_subtask orchestrator_save_plan orchestrator_add_plan_task
orchestrator_start_plan orchestrator_pause_plan orchestrator_resume_plan orchestrator_list_workers
orchestrator_deploy_task orchestrator_complete_task orchestrator_cancel_task orchestrator_retry_task
orchestrator_answer read_file create_file edit_file delete_file list_directory search_text run_command run_tests
load_skill read_more navigate_to_symbol find_usages explore_module document_outline type_of`.split(/\s+/);

describe('one catalogue', () => {
  test('[TOL1.1] the editor’s list is the whole catalogue, as plain JSON', () => {
    const list = toolsJson();
    expect(list.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted());
    expect(JSON.parse(JSON.stringify(list))).toEqual(list);
    for (const { name, title, description } of list) {
      expect(title.length, name).toBeGreaterThan(5);
      expect(description.length, name).toBeGreaterThan(10);
      expect(description.length, name).toBeLessThan(2_000);
    }
  });

  test('[TOL1.2] a schema asks for nothing that has a default, a tool takes nothing it does not name, and all of it can be read anywhere', () => {
    for (const { name, inputSchema, outputSchema } of toolsJson()) {
      expect(inputSchema, name).toMatchObject({ type: 'object' });
      const { issues = [] } =
        TOOLS.find((tool) => tool.name === name)!.input.safeParse({ other: 1 }).error ?? {};
      expect(
        issues.map(({ code }) => code),
        name,
      ).toContain('unrecognized_keys');
      expect(outputSchema, name).toMatchObject({ type: 'object' });
      const text = JSON.stringify([inputSchema, outputSchema]);
      for (const word of ['$ref', '$schema', 'propertyNames']) expect(text, name).not.toContain(word);
      const { properties, required = [] } = inputSchema as {
        properties: Record<string, object>;
        required?: string[];
      };
      for (const [key, value] of Object.entries(properties))
        if ('default' in value) expect(required, `${name}.${key}`).not.toContain(key);
      expect(() => z.fromJSONSchema(inputSchema as Parameters<typeof z.fromJSONSchema>[0])).not.toThrow();
    }
  });

  test('[TOL1.3] tools that say they only look change nothing', async () => {
    await using workspace = await DirectoryWorkspace.make({ 'a.txt': 'x' });
    await using world = await rig();
    const worker = await world.worker({ workspace });
    const before = (await world.person.events(0, 10_000)).length;
    const inputs: Record<string, object> = {
      read_file: { path: 'a.txt' },
      search_text: { pattern: 'x' },
      a2a_subtask_diff: { taskId: worker.task },
      read_more: { token: `out_${'0'.repeat(24)}` },
    };
    const looking = toolsFor(worker.world).filter(({ annotations }) => annotations.readOnly);
    expect(looking.length).toBeGreaterThan(8);
    for (const { name } of looking) await worker.call(name, inputs[name] ?? {});
    expect((await world.person.events(0, 10_000)).length).toBe(before);
  });

  test('[TOL1.4] the in-process loop has the same tools, words and behaviour, and the model’s call id is the key', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const tools = asLoopTools(chat.world);
    expect(tools.map(({ name }) => name)).toEqual(toolsFor(chat.world).map(({ name }) => name));
    const listed = new Map(toolsJson().map((tool) => [tool.name, tool]));
    for (const { name, description, inputSchema } of tools)
      expect(listed.get(name)).toMatchObject({ description, inputSchema });
    const spawn = tools.find(({ name }) => name === 'a2a_spawn_subtask')!;
    const { signal } = new AbortController();
    const input = { agentType: 'holder', prompt: 'x', blocking: false };
    const one = await world.until(spawn.execute(input, { callId: 'toolu_1', signal }));
    const same = await world.until(spawn.execute(input, { callId: 'toolu_1', signal }));
    expect(same.structured).toEqual(one.structured);
    expect(await spawn.execute({}, { callId: 'toolu_2', signal })).toMatchObject({ isError: true });
  });

  test('[TOL1.4] a loop’s call waits as long as its child takes, and is given up by its signal', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const spawn = asLoopTools(chat.world).find(({ name }) => name === 'a2a_spawn_subtask')!;
    const stop = new AbortController();
    let done = false;
    const call = spawn
      .execute({ agentType: 'holder', prompt: 'x' }, { callId: 'a', signal: stop.signal })
      .finally(() => {
        done = true;
      });
    await world.pass(600_000);
    expect(done).toBe(false);
    stop.abort();
    expect(await call).toMatchObject({ error: { code: 'aborted' } });
  });
});
