import type { ToolGrants } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { toolsFor } from '../src/index.ts';
import { DirectoryWorkspace } from './directory.ts';
import { rig, type Hands } from './rig.ts';

const grants = (
  tools: string[],
  deniedTools: string[] = [],
  delegatesTo: string[] | null = null,
): ToolGrants => ({
  tools,
  deniedTools,
  delegatesTo,
});
const names = ({ world }: Hands): string[] => toolsFor(world).map(({ name }) => name);
const NEEDED = ['a2a_check_updates', 'a2a_notify_parent', 'a2a_subtask_complete', 'read_more'];

describe('who may use what', () => {
  test('[AGT4.20] a worker has exactly what its definition allows, and what every worker needs', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await rig();
    const worker = await world.worker({ workspace, grants: grants(['read_file', 'search_text']) });
    expect(names(worker).toSorted()).toEqual([...NEEDED, 'read_file', 'search_text'].toSorted());
    const bare = world.hands(worker.caller, { workspace, grants: grants([]) });
    expect(names(bare).toSorted()).toEqual(NEEDED);
  });

  test('[AGT4.21] patterns: everything but the orchestrator’s tools, all of one kind, all but some', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await rig();
    const { caller } = await world.worker();
    const given = (allowed: ToolGrants): string[] =>
      names(world.hands(caller, { workspace, grants: allowed }));
    expect(given(grants(['*'])).some((name) => name.startsWith('orchestrator_'))).toBe(false);
    expect(given(grants(['*']))).toContain('run_command');
    expect(given(grants(['*', 'orchestrator_*']))).toContain('orchestrator_answer');
    expect(given(grants(['a2a_*'], ['a2a_spawn_*']))).not.toContain('a2a_spawn_subtask');
    expect(given(grants(['a2a_*'], ['a2a_spawn_*']))).toContain('a2a_subtask_diff');
    expect(given(grants(['*'], ['run_command']))).not.toContain('run_command');
    expect(given(grants(['*'], ['a2a_subtask_complete']))).toContain('a2a_subtask_complete');
  });

  test('[AGT4.22] what is not allowed is absent, and refused if called, with what there is', async () => {
    await using workspace = await DirectoryWorkspace.make({ 'a.txt': 'x' });
    await using world = await rig();
    const worker = await world.worker({ workspace, grants: grants(['read_file']) });
    const refused = await worker.call('delete_file', { path: 'a.txt' });
    expect(refused).toMatchObject({ isError: true, error: { code: 'not_allowed' } });
    expect(refused.text).toMatch(/You may not use delete_file[^]*read_file/);
    await worker.get('read_file', { path: 'a.txt' });
  });

  test('[AGT4.23] a definition may name the only agents it hands work to', async () => {
    await using world = await rig();
    const worker = await world.worker({ grants: grants(['a2a_*'], [], ['reviewer']) });
    const refused = await worker.call('a2a_spawn_subtask', { agentType: '@scripted:coder', prompt: 'x' });
    expect(refused.error?.code).toBe('not_allowed');
    expect(refused.text).toContain('only to reviewer');
    expect((await worker.call('a2a_spawn_subtask', { prompt: 'x' })).error?.code).toBe('not_allowed');
    const mixed = {
      subtasks: [
        { agentType: 'reviewer', prompt: 'x' },
        { agentType: 'coder', prompt: 'y' },
      ],
    };
    expect((await worker.call('a2a_spawn_parallel_subtasks', mixed)).error?.code).toBe('not_allowed');
    await worker.get('a2a_spawn_subtask', { agentType: '@scripted:reviewer', prompt: 'x', blocking: false });
    const alone = await world.worker({ grants: grants(['a2a_*'], [], []) });
    expect((await alone.call('a2a_spawn_subtask', { agentType: 'reviewer', prompt: 'x' })).text).toContain(
      'to nobody',
    );
  });

  test('[AGT4.24] a chat has no tools of a worker, whoever has no files has no file tools', async () => {
    await using workspace = await DirectoryWorkspace.make();
    await using world = await rig();
    const chat = await world.chat({ workspace });
    for (const name of ['a2a_subtask_complete', 'a2a_notify_parent', 'read_file', 'run_command']) {
      expect(names(chat)).not.toContain(name);
      expect((await chat.call(name, {})).error?.code).toBe('not_allowed');
    }
    expect(names(chat)).toContain('orchestrator_save_plan');
    const worker = await world.worker();
    expect(names(worker)).not.toContain('read_file');
    const person = world.hands({ kind: 'person', name: 'ann' });
    expect(names(person)).not.toContain('a2a_spawn_subtask');
    expect(names(person)).toContain('orchestrator_list_workers');
  });

  test('[AGT4.25] authority comes from the caller, never from an argument or a text', async () => {
    await using world = await rig();
    const one = await world.worker();
    const other = await world.worker();
    const forged = [
      ['a2a_subtask_complete', { status: 'success', output: 'x', taskId: other.task }],
      ['a2a_notify_parent', { type: 'info', message: 'x', session: other.task }],
    ] as const;
    for (const [tool, input] of forged)
      expect((await one.call(tool, input)).error?.code).toBe('invalid_input');
    for (const tool of ['orchestrator_complete_task', 'orchestrator_cancel_task', 'a2a_cancel_subtask'])
      expect((await one.call(tool, { taskId: other.task })).error?.code, tool).toBe('not_allowed');
    expect((await world.person.getTask(other.task)).task.state).toBe('running');
  });
});
