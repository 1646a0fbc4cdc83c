import type { Script } from '@reveille/executors';
import type { TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { paperCheckouts, quiet, rig } from './rig.ts';

const builds: Script = (agent) => agent.report('success', `built: ${agent.task.prompt}`);
interface Spawned {
  readonly state: string;
  readonly taskId: TaskId;
  readonly status: string | null;
  readonly updates: { readonly kind: string; readonly requestId: string | null; readonly text: string }[];
}

describe('spawning', () => {
  test('[TOL2.3] a blocking spawn returns what the child reported, in full and fenced', async () => {
    const long = 'a word '.repeat(2_000);
    await using world = await rig({ scripts: { coder: (agent) => agent.report('success', long) } });
    const chat = await world.chat();
    const result = await chat.call('a2a_spawn_subtask', { agentType: '@scripted:coder', prompt: 'build it' });
    expect(result.isError).toBe(false);
    expect(result.structured).toMatchObject({ state: 'ended', status: 'success' });
    expect(result.text).toContain(`\n${long}\n`);
    expect(result.text).toMatch(
      /^your subtask "build it" \(task_\w+\) received the task "build it" as @scripted:coder; it ended: success/,
    );
    expect(result.text).toMatch(/<reveille-data msg_\w+>\n[^]*\n<\/reveille-data msg_\w+>/);
    expect(result.notice).toBeNull();
  });

  test('[TOL2.3] a spawn that outlasts the patience of its client says that it runs; the result comes by mail, once', async () => {
    const slow: Script = async (agent) => {
      await agent.work(60_000);
      await agent.report('success', 'late');
    };
    await using world = await rig({ scripts: { coder: slow } });
    const chat = await world.chat();
    const result = await chat.call(
      'a2a_spawn_subtask',
      { agentType: 'coder', prompt: 'x' },
      { patienceMs: 5_000, passing: true },
    );
    expect(result).toMatchObject({ isError: false, structured: { state: 'running' } });
    expect(result.text).toContain('a2a_check_updates');
    await world.pass(120_000);
    const first = await chat.get<Spawned>('a2a_check_updates');
    expect(first.updates.map(({ text }) => text).join()).toContain('late');
    expect((await chat.get<Spawned>('a2a_check_updates')).updates).toEqual([]);
  });

  test('[TOL2.3] a question of the child ends the blocking call, and is answered by its id', async () => {
    const asks: Script = async (agent) => {
      const answer = await agent.ask('red or blue?', ['red', 'blue']);
      await agent.report('success', `painted ${answer}`);
    };
    await using world = await rig({ scripts: { coder: asks } });
    const worker = await world.worker({ grants: { tools: ['a2a_*'], deniedTools: [], delegatesTo: null } });
    const result = await worker.call('a2a_spawn_subtask', { agentType: 'coder', prompt: 'paint' });
    const { state, taskId, updates } = result.structured as unknown as Spawned;
    expect(state).toBe('needs_you');
    expect(updates).toMatchObject([{ kind: 'question' }]);
    const request = updates[0]!.requestId;
    expect(result.text).toContain(`a2a_send_message {"requestId":"${request}"`);
    await worker.get('a2a_send_message', { requestId: request, message: 'red' });
    const awaited = await worker.call('a2a_await_subtasks', { taskIds: [taskId] });
    expect(awaited.text).toContain('painted red');
  });

  test('[TOL2.4] a spawn that does not block returns at once; a worker is told that it will be woken', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const worker = await world.worker();
    const result = await worker.call('a2a_spawn_subtask', {
      agentType: 'coder',
      prompt: 'x',
      blocking: false,
    });
    expect(result.structured).toMatchObject({ state: 'running', status: null, updates: [] });
    expect(result.text).toContain('you will be woken');
  });

  test('[TOL2.4] overlapping target files are a warning, not a refusal', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const input = { agentType: 'holder', prompt: 'x', targetFiles: ['a.ts'], blocking: false };
    await chat.get('a2a_spawn_subtask', { ...input, name: 'first' });
    const second = await chat.call('a2a_spawn_subtask', { ...input, prompt: 'y' });
    expect(second.structured).toMatchObject({ warning: expect.stringContaining('a.ts') });
    expect(second.text).toContain('"first"');
  });

  test('[TOL2.5] parallel spawns return the ids at once, and with blocking all the results', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const chat = await world.chat();
    const subtasks = ['one', 'two', 'three'].map((prompt) => ({ agentType: 'coder', prompt }));
    const atOnce = await chat.get<{ open: string[]; subtasks: unknown[] }>('a2a_spawn_parallel_subtasks', {
      subtasks,
    });
    expect(atOnce.open).toHaveLength(3);
    const all = await chat.call('a2a_spawn_parallel_subtasks', { subtasks, blocking: true });
    expect(all.structured).toMatchObject({ open: [] });
    for (const prompt of ['one', 'two', 'three']) expect(all.text).toContain(`built: ${prompt}`);
  });

  test('[TOL2.5] parallel spawns are all made or none', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const subtasks = [
      { agentType: 'coder', prompt: 'x' },
      { agentType: 'nobody', prompt: 'y' },
    ];
    const result = await chat.call('a2a_spawn_parallel_subtasks', { subtasks });
    expect(result).toMatchObject({ isError: true, error: { code: 'unknown_agent' } });
    expect(await world.person.listTasks({ owner: chat.session })).toEqual([]);
  });

  test('[TOL3.9] the same call made again makes no second child, another call does', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const input = { agentType: 'holder', prompt: 'x', blocking: false };
    const ids: TaskId[] = [];
    for (const callId of ['a', 'a', 'b'])
      ids.push((await chat.get<Spawned>('a2a_spawn_subtask', input, { callId })).taskId);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    const both = { subtasks: [input, input].map(({ agentType, prompt }) => ({ agentType, prompt })) };
    const twice = await chat.get<{ open: string[] }>('a2a_spawn_parallel_subtasks', both, { callId: 'c' });
    expect(new Set(twice.open).size).toBe(2);
    expect(await chat.get('a2a_spawn_parallel_subtasks', both, { callId: 'c' })).toMatchObject({
      open: twice.open,
    });
    expect(await world.person.listTasks({ owner: chat.session })).toHaveLength(4);
  });

  test('[TOL3.9] a key of the caller’s own counts before the call’s', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const input = { agentType: 'holder', prompt: 'x', blocking: false, key: 'mine' };
    const one = await chat.get<Spawned>('a2a_spawn_subtask', input, { callId: 'a' });
    expect(await chat.get('a2a_spawn_subtask', input, { callId: 'b' })).toMatchObject({ taskId: one.taskId });
  });

  test('[TOL3.9] a note or a message whose call is made again is sent once', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const note = { type: 'question', message: 'which?' };
    const one = await worker.get('a2a_notify_parent', note, { callId: 'a' });
    expect(await worker.get('a2a_notify_parent', note, { callId: 'a' })).toEqual(one);
    const { taskId } = await worker.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'x',
      blocking: false,
    });
    const words = { workerId: taskId, message: 'hello' };
    const sent = await worker.get('a2a_send_message', words, { callId: 'b' });
    expect(await worker.get('a2a_send_message', words, { callId: 'b' })).toEqual(sent);
  });

  test('[TOL3.8] a limit teaches: which, and what to do instead', async () => {
    await using world = await rig({
      settings: { children: { total: 100, open: 1, perMinute: 60, planned: 500 } },
    });
    const chat = await world.chat();
    const input = { agentType: 'holder', prompt: 'x', blocking: false };
    await chat.get('a2a_spawn_subtask', input);
    const refused = await chat.call('a2a_spawn_subtask', { ...input, prompt: 'y' });
    expect(refused).toMatchObject({ isError: true, error: { code: 'limit_reached' }, structured: null });
    expect(refused.text).toMatch(/^Refused \(limit_reached\): .+ 1\b/);
  });

  test('[TOL3.8] an unknown agent is refused with those that exist, nearest first', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const { text, error } = await chat.call('a2a_spawn_subtask', { agentType: 'revewer', prompt: 'x' });
    expect(error?.code).toBe('unknown_agent');
    expect(text).toMatch(/reviewer/);
    expect(text).toContain('a2a_list_agents');
  });
});

describe('hearing of ends', () => {
  test('[TOL2.6] await gives the first end or all of them, and what it gave is not given again', async () => {
    const late: Script = async (agent) => {
      await agent.work(2_000);
      await agent.report('success', 'slow one');
    };
    await using world = await rig({ scripts: { coder: builds, late } });
    const chat = await world.chat();
    const { open } = await chat.get<{ open: string[] }>('a2a_spawn_parallel_subtasks', {
      subtasks: [
        { agentType: 'coder', prompt: 'quick' },
        { agentType: 'late', prompt: 'x' },
      ],
    });
    const any = await chat.call('a2a_await_subtasks', { taskIds: open, mode: 'any' });
    expect(any.structured).toMatchObject({ done: true, why: 'ended', open: [open[1]] });
    expect(any.text).toContain('built: quick');
    const all = await chat.call('a2a_await_subtasks', { taskIds: open }, { passing: true });
    expect(all.text).toContain('slow one');
    expect(all.text).not.toContain('built: quick');
    const again = await chat.call('a2a_await_subtasks', { taskIds: open });
    expect(again.structured).toMatchObject({ done: true, updates: [] });
  });

  test('[TOL2.6] await comes back before the client would give up, and says what is still open', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const { taskId } = await chat.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'x',
      blocking: false,
    });
    const began = world.fake!.mono();
    const result = await chat.call(
      'a2a_await_subtasks',
      { taskIds: [taskId], timeout: 3_600_000 },
      { patienceMs: 1_000, passing: true },
    );
    // By the clock that moves only while the call is waited for.
    expect(world.fake!.mono() - began).toBeLessThanOrEqual(1_100);
    expect(result.structured).toMatchObject({ done: false, why: 'timeout', open: [taskId] });
    expect(result.text).toContain(taskId);
  });

  test('[TOL2.6] await of what is not one’s own is refused', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const chat = await world.chat();
    const result = await chat.call('a2a_await_subtasks', { taskIds: [worker.task] });
    expect(result.error?.code).toBe('not_allowed');
  });

  test('[TOL2.6] a call that is given up returns at once, and what it waited for comes by mail', async () => {
    const slow: Script = async (agent) => {
      await agent.work(5_000);
      await agent.report('success', 'kept');
    };
    await using world = await rig({ scripts: { coder: slow } });
    const chat = await world.chat();
    const stop = new AbortController();
    const waiting = chat.call(
      'a2a_spawn_subtask',
      { agentType: 'coder', prompt: 'x' },
      { signal: stop.signal, patienceMs: 60_000 },
    );
    await quiet();
    stop.abort();
    expect(await waiting).toMatchObject({ isError: true, error: { code: 'aborted' } });
    await world.pass(10_000);
    expect((await chat.call('a2a_check_updates')).text).toContain('kept');
  });

  test('[TOL2.7] check-updates takes what it returns and no more', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const chat = await world.chat();
    const { open } = await chat.get<{ open: string[] }>('a2a_spawn_parallel_subtasks', {
      subtasks: ['one', 'two'].map((prompt) => ({ agentType: 'coder', prompt })),
    });
    await world.pass(1_000);
    const first = await chat.call('a2a_check_updates', { taskIds: [open[1]] });
    expect(first.text).toContain('built: two');
    expect(first.text).not.toContain('built: one');
    expect((await chat.call('a2a_check_updates')).text).toContain('built: one');
    expect((await chat.call('a2a_check_updates')).text).toBe('No new messages.');
  });

  test('[TOL2.11] status shows one subtask with its report, or all of them in a line each', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const chat = await world.chat();
    expect((await chat.call('a2a_subtask_status')).text).toBe('You have started no subtasks.');
    const { taskId } = await chat.get<Spawned>('a2a_spawn_subtask', { agentType: 'coder', prompt: 'it' });
    const one = await chat.call('a2a_subtask_status', { taskId });
    expect(one.structured).toMatchObject({
      subtasks: [{ taskId, state: 'completed', status: 'success', worker: 'completed' }],
    });
    expect(one.text).toContain(`<reveille-data ${taskId}>\nbuilt: it\n</reveille-data ${taskId}>`);
    const all = await chat.call('a2a_subtask_status');
    expect(all.text.split('\n')).toHaveLength(1);
  });

  test('[HLT2.32] a silent worker is shown as silent, with its last words, also among all workers', async () => {
    const silent: Script = async (agent) => {
      agent.say('I run the tests');
      await agent.silent();
    };
    await using world = await rig({ scripts: { coder: silent } });
    const chat = await world.chat();
    const { taskId } = await chat.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'coder',
      prompt: 'it',
      blocking: false,
    });
    await world.pass(302_000);
    for (const [tool, input] of [
      ['a2a_subtask_status', { taskId }],
      ['orchestrator_list_workers', {}],
    ] as const) {
      const { text, structured } = await chat.call(tool, input);
      expect(text, tool).toMatch(
        /its worker is silent .*"no sign of life for .*last words: "I run the tests"/,
      );
      expect(JSON.stringify(structured), tool).toMatch(
        /"health":\{"state":"silent [^"]+","text":"no sign of life[^"]*","lastSignOfLife":"[^"]+Z","lastWords":"I run the tests"\}/,
      );
    }
  });

  test('[TOL2.11] a worker sees itself and what is beneath it, and no other task', async () => {
    await using world = await rig();
    const one = await world.worker();
    const other = await world.worker();
    const { taskId } = await one.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'x',
      blocking: false,
    });
    await one.get('a2a_subtask_status', { taskId });
    await one.get('a2a_subtask_status', { taskId: one.task });
    const refused = await one.call('a2a_subtask_status', { taskId: other.task });
    expect(refused.error?.code).toBe('not_allowed');
  });

  test('[TOL2.12] a cancel ends a subtask of one’s own, and nobody else’s', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const chat = await world.chat();
    const { taskId } = await chat.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'x',
      blocking: false,
    });
    await world.running(taskId);
    const refused = await worker.call('a2a_cancel_subtask', { taskId });
    expect(refused.error?.code).toBe('not_allowed');
    await chat.get('a2a_cancel_subtask', { taskId, reason: 'no longer wanted' });
    await world.pass(1_000);
    expect((await world.person.getTask(taskId)).task.state).toBe('cancelled');
  });
});

describe('trying again', () => {
  const spawn = { agentType: 'failing', prompt: 'x', name: 'kid', key: 'k' };

  test('[TOL2.36] a worker tries its own failed subtask again, with words on what to do differently', async () => {
    let attempts = 0;
    const failing: Script = async (agent) => {
      const { text } = agent.turn;
      attempts++;
      if (attempts === 1) return agent.report('failed', 'no', { error: 'the port is taken' });
      return agent.report('success', text.includes('take 8080') ? 'took 8080' : 'nobody told me');
    };
    await using world = await rig({ scripts: { failing } });
    const worker = await world.worker({ grants: { tools: ['a2a_*'], deniedTools: [], delegatesTo: null } });
    const first = await worker.call('a2a_spawn_subtask', spawn, { passing: true });
    const { taskId } = first.structured as unknown as Spawned;
    expect(first.text).toContain(`You may want to retry it with a2a_retry_subtask`);
    const again = await worker.call('a2a_spawn_subtask', { ...spawn, blocking: false });
    expect(again.structured).toMatchObject({ state: 'ended', taskId, status: 'failed' });
    expect(again.text).toContain('the port is taken');
    await worker.get('a2a_retry_subtask', { taskId, message: 'take 8080' });
    const second = await worker.call('a2a_await_subtasks', { taskIds: [taskId] }, { passing: true });
    expect(second.text).toContain('took 8080');
  });

  test('[TOL2.36] nobody else’s, and not one that goes on; a chat has a tool of its own for it', async () => {
    await using world = await rig();
    const [worker, chat] = [await world.worker(), await world.chat()];
    const holder = { agentType: 'holder', prompt: 'x', blocking: false };
    const { taskId } = await chat.get<Spawned>('a2a_spawn_subtask', holder);
    expect((await worker.call('a2a_retry_subtask', { taskId })).error?.code).toBe('not_allowed');
    const own = await worker.get<Spawned>('a2a_spawn_subtask', holder);
    const open = await worker.call('a2a_retry_subtask', { taskId: own.taskId });
    expect(open).toMatchObject({ isError: true, error: { code: 'wrong_state' } });
    expect((await chat.call('a2a_retry_subtask', { taskId })).isError).toBe(true);
  });
});

describe('reporting and asking', () => {
  test('[TOL2.10] a report ends the run, and nothing counts after it', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const result = await worker.call('a2a_subtask_complete', { status: 'success', output: 'done' });
    expect(result.structured).toMatchObject({ accepted: true });
    await world.pass(1_000);
    expect((await world.person.getTask(worker.task)).end).toMatchObject({
      status: 'success',
      output: 'done',
    });
    const late = await worker.call('a2a_notify_parent', { type: 'info', message: 'one more thing' });
    expect(late).toMatchObject({ isError: true, error: { code: 'stale_caller' } });
    expect(late.text).toContain('Stop now');
  });

  test('[TOL2.10] a report is refused while children are open, unless they are given up', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const { taskId } = await worker.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'x',
      blocking: false,
    });
    const refused = await worker.call('a2a_subtask_complete', { status: 'success', output: 'done' });
    expect(refused).toMatchObject({
      isError: true,
      structured: { accepted: false, why: 'open_children', open: [taskId] },
    });
    expect(refused.text).toContain('giveUpChildren');
    await worker.get('a2a_subtask_complete', { status: 'partial', output: 'half', giveUpChildren: true });
  });

  test('[TOL2.10] a report before an end was read gets it instead, in full', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const worker = await world.worker();
    const { taskId } = await worker.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'coder',
      prompt: 'it',
      blocking: false,
    });
    await world.pass(500);
    const refused = await worker.call('a2a_subtask_complete', { status: 'success', output: 'done' });
    expect(refused).toMatchObject({
      isError: true,
      structured: { accepted: false, why: 'unread_ends', updates: [{ taskId }] },
    });
    expect(refused.text).toContain('built: it');
    await worker.get('a2a_subtask_complete', { status: 'success', output: 'done' });
  });

  test('[TOL2.10] a structured result must fit the schema the parent gave', async () => {
    const seen: string[] = [];
    await using world = await rig({
      scripts: {
        coder: async (agent) => {
          const caller = {
            kind: 'worker' as const,
            session: agent.task.session,
            run: agent.task.run!,
            epoch: 1,
          };
          const { run } = await world.person.getTask(agent.task.id);
          const hands = world.hands({ ...caller, run: run!.id });
          const wrong = await hands.call('a2a_subtask_complete', {
            status: 'success',
            output: 'x',
            structured: { n: 'one' },
          });
          seen.push(wrong.text);
          await hands.call('a2a_subtask_complete', { status: 'success', output: 'x', structured: { n: 1 } });
          await agent.silent();
        },
      },
    });
    const chat = await world.chat();
    const resultSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const result = await chat.call('a2a_spawn_subtask', {
      agentType: 'coder',
      prompt: 'count',
      resultSchema,
    });
    expect(result.text).toContain('result: {"n":1}');
    expect(seen[0]).toMatch(/Not accepted[^]*n: /);
  });

  test('[TOL2.8] a worker tells and asks; what it asks has an id and the answer wakes it', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const told = await worker.call('a2a_notify_parent', {
      type: 'progress',
      message: 'half',
      progress: 49.6,
    });
    expect(told).toMatchObject({ isError: false, structured: { requestId: null } });
    const asked = await worker.call('a2a_notify_parent', {
      type: 'question',
      message: 'which?',
      options: ['a', 'b'],
    });
    expect(asked.structured).toMatchObject({ requestId: expect.stringMatching(/^req_/) });
    const events = await world.engine.as({ kind: 'person', name: 'ann' }).inbox();
    expect(events).toMatchObject([{ kind: 'question', text: 'which?', options: ['a', 'b'] }]);
  });

  test('[TOL2.9] words go to a child, a sibling or the parent, and to nobody else', async () => {
    await using world = await rig();
    const worker = await world.worker();
    const stranger = await world.chat();
    const { taskId } = await worker.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'x',
      blocking: false,
    });
    await worker.get('a2a_send_message', { workerId: taskId, message: 'use parse2' });
    const child = (await world.person.getTask(taskId)).task.session;
    const mail = await world.person.mailbox(child);
    expect(mail).toMatchObject([{ kind: 'words', text: 'use parse2' }]);
    const refused = await stranger.call('a2a_send_message', { workerId: taskId, message: 'obey me' });
    expect(refused.error?.code).toBe('not_allowed');
    const nobody = await worker.call('a2a_send_message', { message: 'hello?' });
    expect(nobody.text).toContain('Say whom');
  });
});

describe('what subtasks made', () => {
  const changes = new Map([['made', [{ path: 'a.ts', insertions: 3, deletions: 1 }]]]);
  const files = () => ({ workspaces: paperCheckouts(changes), scripts: { coder: builds } });
  const child = { agentType: 'coder', prompt: 'x', name: 'made' };

  test('[TOL2.13] a diff shows files and the patch, fenced', async () => {
    await using world = await rig(files());
    const worker = await world.worker();
    const { taskId } = await worker.get<Spawned>('a2a_spawn_subtask', child);
    const diff = await worker.call('a2a_subtask_diff', { taskId });
    expect(diff.structured).toMatchObject({
      branch: 'reveille/made',
      files: [{ path: 'a.ts', insertions: 3, deletions: 1 }],
    });
    expect(diff.text).toContain('"a.ts" +3 −1');
    expect(diff.text.match(/<\/reveille-data /g)).toHaveLength(1);
    const list = await worker.get('a2a_subtask_diff', { taskId, patch: false });
    expect(list).toMatchObject({ patch: null });
  });

  test('[TOL2.14] a pull merges into the worker’s own checkout, or says where it conflicts', async () => {
    await using world = await rig(files());
    const worker = await world.worker();
    const spawned = await worker.call('a2a_spawn_subtask', child);
    expect(spawned.text).toContain('a2a_pull_subtask_changes');
    const { taskId } = spawned.structured as unknown as Spawned;
    const pulled = await worker.get('a2a_pull_subtask_changes', { taskId, cleanup: true });
    expect(pulled).toMatchObject({ merged: true, commit: 'beef', snapshot: 'refs/reveille/snapshots/1' });
    const other = await worker.get<Spawned>('a2a_spawn_subtask', { ...child, name: 'conflicts' });
    const refused = await worker.call('a2a_pull_subtask_changes', { taskId: other.taskId });
    expect(refused).toMatchObject({
      isError: true,
      structured: { merged: false, conflicts: [{ path: 'a.ts' }] },
    });
    expect(refused.text).toContain('nothing was changed');
  });

  test('[TOL2.14] a pull of a chat goes into the person’s checkout', async () => {
    await using world = await rig(files());
    const chat = await world.chat({ repositoryOf: '/repo' });
    const { taskId } = await chat.get<Spawned>('a2a_spawn_subtask', child);
    expect(await chat.get('a2a_pull_subtask_changes', { taskId })).toMatchObject({
      merged: true,
      snapshot: null,
    });
  });

  test('[TOL2.15] a discard keeps a snapshot, and waits for the end', async () => {
    await using world = await rig(files());
    const worker = await world.worker();
    const { taskId } = await worker.get<Spawned>('a2a_spawn_subtask', child);
    expect(await worker.get('a2a_discard_subtask', { taskId })).toMatchObject({
      snapshot: 'refs/reveille/snapshots/1',
    });
    const open = await worker.get<Spawned>('a2a_spawn_subtask', {
      agentType: 'holder',
      prompt: 'y',
      blocking: false,
    });
    expect((await worker.call('a2a_discard_subtask', { taskId: open.taskId })).error?.code).toBe(
      'wrong_state',
    );
  });
});
