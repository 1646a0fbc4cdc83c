import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallerWorld, ToolPermit, WantedAction } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { DirectoryWorkspace } from './directory.ts';
import { rig } from './rig.ts';

/** Notes what leave is asked for, and gives it or not. */
function asked(answer: (wanted: WantedAction) => ToolPermit = () => ({ allowed: true })) {
  const all: WantedAction[] = [];
  const permit: NonNullable<CallerWorld['permit']> = async (wanted) => {
    all.push(wanted);
    return answer(wanted);
  };
  return { all, permit };
}

test('[INB2.20] leave is asked for what a call does, with the command, the file and what becomes of it', async () => {
  await using workspace = await DirectoryWorkspace.make();
  const { all, permit } = asked();
  await using world = await rig();
  const worker = await world.worker({ workspace, permit });
  await worker.get('create_file', { path: 'a.txt', content: 'one\ntwo\n' });
  await worker.get('edit_file', { path: 'a.txt', oldText: 'two', newText: 'three\nfour' });
  await worker.get('read_file', { path: 'a.txt' });
  await worker.get('run_command', { command: 'echo hi && true' });
  expect(all).toMatchObject([
    { tool: 'create_file', kind: 'write', paths: ['a.txt'], command: null },
    { tool: 'edit_file', kind: 'write', paths: ['a.txt'] },
    { tool: 'read_file', kind: 'read', paths: ['a.txt'], detail: '' },
    { tool: 'run_command', kind: 'command', command: 'echo hi && true', paths: [] },
  ]);
  expect(all[0]?.detail).toBe('2 lines, 8 characters (a new file)\n+ one\n+ two');
  expect(all[1]?.detail).toBe('−1 +2 lines\n- two\n+ three\n+ four');
  expect(all[1]?.input).toMatchObject({ oldText: 'two', newText: 'three\nfour' });
});

test('[INB2.20] of a long text all is shown that anybody reads; the rest is counted, with a hash of all', async () => {
  await using workspace = await DirectoryWorkspace.make();
  const { all, permit } = asked();
  await using world = await rig();
  const worker = await world.worker({ workspace, permit });
  const content = `${'a line\n'.repeat(2_500)}the end\n`;
  await worker.get('create_file', { path: 'a.txt', content });
  expect(all[0]?.detail).toContain('+ the end');
  const longer = `${'a line\n'.repeat(20_000)}the end\n`;
  await worker.get('create_file', { path: 'b.txt', content: longer });
  const sha256 = createHash('sha256').update(longer).digest('hex');
  expect(all[1]?.detail).toMatch(
    new RegExp(`^20001 lines, 140008 characters .*not shown, sha256 of all ${sha256}`),
  );
  expect(all[1]?.detail.length).toBeLessThan(30_000);
});

test('[INB2.20] what is refused is not done, and the words say why', async () => {
  await using workspace = await DirectoryWorkspace.make();
  await using world = await rig();
  const { permit } = asked(() => ({ allowed: false, why: 'It is not allowed here.' }));
  const worker = await world.worker({ workspace, permit });
  await expect(worker.call('create_file', { path: 'b.txt', content: 'x' })).resolves.toMatchObject({
    isError: true,
    error: { code: 'not_allowed' },
    text: expect.stringContaining('It is not allowed here.'),
  });
  expect(() => readFileSync(join(workspace.root, 'b.txt'))).toThrow('ENOENT');
});

test('[INB2.20] of what every worker needs nobody is asked; of every other tool somebody can be', async () => {
  await using workspace = await DirectoryWorkspace.make();
  await using world = await rig();
  const { all, permit } = asked(() => ({ allowed: false, why: 'no' }));
  const worker = await world.worker({ workspace, permit });
  await worker.call('a2a_check_updates', {});
  await worker.call('a2a_notify_parent', { type: 'info', message: 'x' });
  expect(all).toEqual([]);
  await worker.call('a2a_spawn_subtask', { agentType: 'coder', prompt: 'x' });
  expect(all).toMatchObject([{ tool: 'a2a_spawn_subtask', kind: 'delegate' }]);
});
