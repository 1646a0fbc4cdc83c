import type { ExecutorEvent, StartSpec } from '@reveille/core';
import type { ReportResult } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { scriptedExecutor, withScript, type Script, type WrittenScript } from '../src/index.ts';
import { reviewInPrompt } from '../src/scripted/written.ts';
import { FakeClock, rig } from './rig.ts';

const quick: Script = (agent) => agent.report('success', 'done');

test('[EXE1] an agent speaks, works, edits and reports, and its owner is told once', async () => {
  const world = await rig({
    otherwise: async (agent) => {
      agent.say('I begin.');
      await agent.edit('src/a.ts');
      await agent.progress('half of it');
      await agent.work(500);
      await agent.report('success', 'done');
    },
  });
  const chat = await world.chat();
  const { task } = await chat.calls.spawnSubtask({ prompt: 'do it' }, { blocking: false });
  await world.clock.pass(499);
  expect((await world.view(task)).worker).toBe('running');
  await world.clock.pass(1);
  expect((await world.view(task)).end).toMatchObject({ status: 'success', output: 'done', cause: 'report' });
  expect(chat.mail.map((text) => text.split('\n')[2])).toEqual(['half of it', 'done']);
  await world.end();
});

test('[EXE1.6] where scripts are needed, work without one is refused, also a review; a script that cannot be read is said', async () => {
  const options = {
    clock: new FakeClock(),
    connect: () => {
      throw new Error('nobody calls');
    },
  };
  const anything = { prompt: 'Fix it.' };
  expect(scriptedExecutor(options).refuses?.(anything)).toBeUndefined();
  const executor = scriptedExecutor({ ...options, needsScript: true });
  const report = { do: 'report' } as const;
  expect(executor.refuses?.({ prompt: 'Fix it.' })).toContain(
    'a script in the prompt says, and there is none',
  );
  const plain = withScript('Fix it.', { steps: [report] });
  expect(executor.refuses?.({ prompt: plain })).toBeNull();
  expect(executor.refuses?.({ prompt: plain, reviews: true })).toContain(
    '`review` in the script of the task',
  );
  const reviewed = withScript('Fix it.', { steps: [report], review: [[report]] });
  expect(executor.refuses?.({ prompt: reviewed, reviews: true })).toBeNull();
  expect(executor.refuses?.({ prompt: 'x\n```reveille-script\n{ "stops": [] }\n```' })).toContain(
    'cannot be read',
  );
});

test('[EXE1.5] what it writes goes where its executor says; without files it fails, in words', async () => {
  const written: string[] = [];
  const script = { steps: [{ do: 'edit', path: 'a.txt', content: 'hello' }] } as const;
  const write = async (spec: StartSpec, path: string, content: string): Promise<void> =>
    void written.push(`${spec.task.name}: ${path}: ${content}`);
  const world = await rig({ otherwise: { steps: [...script.steps, { do: 'report' }] }, write });
  const task = await world.plan('agent');
  await world.clock.pass(1);
  expect((await world.view(task)).end).toMatchObject({ status: 'success' });
  expect(written).toEqual(['one: a.txt: hello']);
  await world.end();
  const bare = await rig({ otherwise: { steps: [...script.steps] } });
  const failing = await bare.plan('agent');
  await bare.clock.pass(1);
  expect((await bare.view(failing)).end?.error?.message).toContain('no files to write');
  await bare.end();
});

test('[EXE1] a parent spawns, waits in a call, delegates, and is woken by the rest', async () => {
  const seen: string[] = [];
  const world = await rig({
    scripts: {
      parent: async (agent) => {
        if (agent.turn.turn > 1) {
          seen.push(...agent.letters.map(({ kind, status }) => `${kind}:${status}`));
          await agent.report('success', 'all done');
          return;
        }
        const [a, b] = await agent.spawnMany([
          { prompt: 'one', agentType: 'coder' },
          { prompt: 'two', agentType: 'coder' },
        ]);
        const waited = await agent.wait({ taskIds: [a!, b!] });
        seen.push(`waited:${waited.deliveries.length}`);
        const result = await agent.delegate({ prompt: 'three', agentType: 'coder' });
        seen.push(`delegated:${result.state}`);
        await agent.spawn({ prompt: 'four', agentType: 'coder' });
      },
    },
    otherwise: async (agent) => {
      await agent.work(100);
      await quick(agent);
    },
  });
  const task = await world.plan('parent');
  await world.clock.pass(1_000);
  expect(seen).toEqual(['waited:2', 'delegated:ended', 'end:success']);
  expect((await world.view(task)).end?.output).toBe('all done');
  await world.end();
});

test('[EXE1.1] data in the prompt, in a table or for everybody is a script', async () => {
  const world = await rig({
    scripts: { coder: { steps: [{ do: 'report', output: 'from the table' }] } },
    otherwise: { steps: [{ do: 'say', text: 'hm' }] },
  });
  const { calls } = await world.chat();
  const script = {
    steps: [
      { do: 'work', ms: 50 },
      { do: 'report', status: 'partial', output: 'from the prompt' },
    ],
  } as const;
  const outputs: string[] = [];
  for (const input of [
    { prompt: 'a', agentType: 'coder' },
    { prompt: withScript('b', { steps: [...script.steps] }), agentType: 'coder' },
    { prompt: 'c' },
  ]) {
    const { task } = await calls.spawnSubtask(input, { blocking: false });
    await world.clock.pass(100);
    const { end } = await world.view(task);
    outputs.push(`${end?.status}: ${end?.output}`);
  }
  expect(outputs).toEqual(['success: from the table', 'partial: from the prompt', 'success: Done.']);
  await world.end();
});

test('[EXE1.1] a prompt whose script is wrong fails its own agent and says where', async () => {
  const world = await rig();
  const { calls } = await world.chat();
  const broken = '```reveille-script\n{"steps":[{"do":"say","text":"x"},{"do":"dance"}]}\n```';
  const bad = await calls.spawnSubtask({ prompt: broken }, { blocking: false });
  const worse = await calls.spawnSubtask({ prompt: '```reveille-script\n{\n```' }, { blocking: false });
  await world.clock.pass(10);
  const first = (await world.view(bad.task)).end;
  expect(first).toMatchObject({ status: 'failed', error: { class: 'invalid' } });
  expect(first?.error?.message).toContain('steps.1.do');
  expect((await world.view(worse.task)).end?.error?.message).toContain('not JSON');
  expect(() =>
    scriptedExecutor({
      clock: world.clock,
      connect: (caller) => world.as(caller),
      otherwise: { steps: [{ do: 'dance' }] } as never,
    }),
  ).toThrow('steps.0.do');
  await world.end();
});

test('[EXE1.2] a question ends the turn and the script goes on with the answer', async () => {
  const heard: string[] = [];
  const world = await rig({
    otherwise: async (agent) => {
      heard.push(await agent.ask('Tabs or spaces?', ['tabs', 'spaces']));
      heard.push(await agent.ask('Sure?'));
      await agent.report('success', `${agent.turn.turn} turns`);
    },
  });
  const chat = await world.chat();
  const { task } = await chat.calls.spawnSubtask({ prompt: 'format it' }, { blocking: false });
  for (const answer of ['spaces', 'yes']) {
    await world.clock.pass(10);
    expect((await world.view(task)).task).toMatchObject({ state: 'waiting', waitingOn: 'answer' });
    const request = /req_\w+/.exec(chat.mail.at(-1) ?? '')?.[0] as `req_${string}`;
    await chat.calls.answer({ request, answer });
  }
  await world.clock.pass(10);
  expect(heard).toEqual(['spaces', 'yes']);
  expect((await world.view(task)).end?.output).toBe('3 turns');
  await world.end();
});

test('[EXE1.2] a written parent is woken by a failure, tries again, and reports when all have ended', async () => {
  const world = await rig({
    scripts: {
      parent: {
        steps: [
          {
            do: 'spawn',
            tasks: [
              { prompt: 'good', agentType: 'coder' },
              {
                prompt: 'bad at first',
                agentType: 'tester',
                script: {
                  steps: [
                    { do: 'work', ms: 100 },
                    { do: 'fail', class: 'invalid', message: 'no', attempt: 1 },
                    { do: 'report' },
                  ],
                },
              },
              {
                prompt: 'asks',
                agentType: 'coder',
                script: { steps: [{ do: 'ask', text: 'may I?' }, { do: 'report' }] },
              },
            ],
          },
        ],
        whenWoken: [{ do: 'retry' }, { do: 'answer', text: 'yes' }, { do: 'report', output: 'all three' }],
      },
    },
    otherwise: { steps: [{ do: 'work', ms: 200 }, { do: 'report' }] },
  });
  const task = await world.plan('parent');
  await world.clock.pass(1_000);
  expect((await world.view(task)).end).toMatchObject({ status: 'success', output: 'all three' });
  const children = await world.person.listTasks({ owner: (await world.view(task)).task.session });
  expect(children.map((child) => [child.task.state, child.task.attempts])).toEqual([
    ['completed', 1],
    ['completed', 2],
    ['completed', 1],
  ]);
  await world.end();
});

test('[EXE1.2] written steps by turn, and every step that only acts', async () => {
  const world = await rig({
    otherwise: {
      steps: [
        { do: 'use', tokens: 10 },
        { do: 'edit', path: 'a' },
        { do: 'notify', text: 'begun' },
        {
          do: 'delegate',
          task: { prompt: 'in the call', script: { steps: [{ do: 'ask', text: '?' }, { do: 'report' }] } },
        },
        {
          do: 'spawn',
          tasks: [{ prompt: 'beside', script: { steps: [{ do: 'work', ms: 30 }, { do: 'report' }] } }],
        },
        { do: 'check' },
        { do: 'wait' },
        { do: 'call', operation: 'listTasks', args: [{ open: true }] },
        { do: 'rest' },
        { do: 'report', output: 'reached by mail' },
      ],
    },
  });
  const task = await world.plan('agent');
  await world.clock.pass(200);
  expect((await world.view(task)).end?.output).toBe('reached by mail');
  const { task: other } = await (
    await world.chat()
  ).calls.spawnSubtask(
    {
      prompt: withScript('x', {
        steps: [{ do: 'say', text: 'hm' }],
        onTurn: { '2': [{ do: 'report', output: 'second' }] },
      }),
    },
    { blocking: false },
  );
  await world.clock.pass(10);
  expect((await world.view(other)).end?.output).toBe('second');
  await world.end();
});

test('[EXE1.3] one that is silent keeps its turn open until it is stopped', async () => {
  const world = await rig({ otherwise: (agent) => agent.silent() });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(60_000);
  expect((await world.view(task)).worker).toBe('running');
  await calls.cancelTask(task, 'enough');
  await world.clock.pass(10);
  expect((await world.view(task)).end).toMatchObject({ status: 'cancelled' });
  await world.end();
});

test('[EXE1.3] a crash goes on under the next epoch, a failure by its class', async () => {
  const world = await rig({
    otherwise: async (agent) => {
      if (agent.task.prompt === 'bad') agent.fail('refusal', 'I will not');
      if (!agent.resumed) agent.crash();
      await agent.report('success', `epoch 2: ${agent.resumed}`);
    },
  });
  const { calls } = await world.chat();
  const crashing = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  const failing = await calls.spawnSubtask({ prompt: 'bad' }, { blocking: false });
  await world.clock.pass(5_000);
  expect(await world.view(crashing.task)).toMatchObject({
    run: { epoch: 2 },
    end: { output: 'epoch 2: true' },
  });
  expect((await world.view(failing.task)).end).toMatchObject({
    status: 'failed',
    error: { class: 'refusal' },
  });
  await world.end();
});

test('[EXE1.3] of two reports one counts, and a late one is refused and recorded', async () => {
  let both: PromiseSettledResult<ReportResult>[] = [];
  const world = await rig({
    otherwise: async (agent) => {
      agent.reportLate('failed', 'too late', 300);
      both = await agent.reportTwice('success', 'once');
    },
  });
  const chat = await world.chat();
  const { task } = await chat.calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(1_000);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect((await world.view(task)).end).toMatchObject({ status: 'success', output: 'once' });
  expect(chat.mail).toHaveLength(1);
  expect(await world.events('report.refused')).toHaveLength(2);
  await world.end();
});

test('[EXE1.3] one that rests without a report is asked why, and then reports', async () => {
  const world = await rig({ otherwise: { steps: [{ do: 'say', text: 'I think I am done.' }] } });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(10);
  expect(await world.view(task)).toMatchObject({ end: { cause: 'report' }, run: { turns: 2 } });
  await world.end();
});

test('[EXE1.3] a call that is refused for good ends the agent with the refusal', async () => {
  const world = await rig({ otherwise: (agent) => agent.spawn({ prompt: 'too deep' }) });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(10);
  expect((await world.view(task)).end?.error?.message).toContain('depth');
  await world.end();
});

test('[EXE1.4] mail that comes during a turn is seen in it', async () => {
  const seen: [number, string][] = [];
  const world = await rig({
    otherwise: async (agent) => {
      await agent.work(100);
      for (const letter of agent.letters) seen.push([agent.turn.turn, letter.body]);
      if (agent.letters.length > 1) await quick(agent);
    },
  });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(50);
  await calls.sendMessage({ to: task, message: 'one' });
  await world.clock.pass(49);
  await calls.sendMessage({ to: task, message: 'two' });
  await world.clock.pass(10);
  expect(seen).toEqual([
    [1, 'one'],
    [1, 'two'],
  ]);
  await world.end();
});

test('[EXE1.4] mail that nobody looked at is worth another look before the turn ends', async () => {
  const looks: number[] = [];
  const world = await rig({
    otherwise: async (agent) => {
      looks.push(agent.letters.length);
      await (looks.length === 1 ? agent.work(100) : agent.report('success', agent.letters[0]?.body ?? ''));
    },
  });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(50);
  await calls.sendMessage({ to: task, message: 'wait!' });
  await world.clock.pass(100);
  expect(looks).toEqual([0, 1]);
  expect(await world.view(task)).toMatchObject({ end: { output: 'wait!' }, run: { turns: 1 } });
  await world.end();
});

test('[EXE1.4] an interrupt ends the turn and keeps the agent', async () => {
  const world = await rig({
    otherwise: async (agent) => {
      agent.say('Hm.');
      if (agent.turn.turn === 1) await agent.work(60_000);
      await agent.report('success', agent.letters.map(({ body }) => body).join());
    },
  });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(50);
  await calls.interruptWorker(task);
  await world.clock.pass(10);
  expect((await world.view(task)).worker).toBe('idle');
  expect(world.agents.lives.size).toBe(1);
  await calls.sendMessage({ to: task, message: 'leave it' });
  await world.clock.pass(10);
  expect((await world.view(task)).end?.output).toBe('leave it');
  await world.end();
});

test('[EXE3] a kept history goes on from where it was and has what it was given', async () => {
  const steps = [
    { do: 'notify', text: 'first' },
    { do: 'work', ms: 100 },
    { do: 'report', output: 'went on' },
  ] as const;
  const world = await rig({ history: 'keeps', identified: true, otherwise: { steps: [...steps] } });
  const { calls, session } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(50);
  await world.restart();
  await world.clock.pass(200);
  expect(await world.view(task)).toMatchObject({ end: { output: 'went on' }, run: { epoch: 2, turns: 2 } });
  const mail = await world.person.mailbox(session);
  expect(mail.filter(({ kind }) => kind === 'progress')).toHaveLength(1);
  expect(world.agents.histories.size).toBe(0);
  await world.end();
});

test('[EXE3] one that forgot begins anew and finds the children it has', async () => {
  const child = {
    prompt: 'child',
    agentType: 'coder',
    script: { steps: [{ do: 'work', ms: 300 }, { do: 'report' }] },
  };
  const world = await rig({
    history: 'forgets',
    identified: true,
    scripts: {
      parent: {
        steps: [{ do: 'spawn', tasks: [child] }, { do: 'work', ms: 100 }, { do: 'wait' }, { do: 'report' }],
      },
    },
  });
  const task = await world.plan('parent');
  await world.clock.pass(50);
  await world.restart();
  await world.clock.pass(1_000);
  const view = await world.view(task);
  expect(view.end?.status).toBe('success');
  expect(await world.person.listTasks({ owner: view.task.session })).toHaveLength(1);
  await world.end();
});

test('[EXE3] one that forgot asks the same question, not a second one', async () => {
  const world = await rig({
    history: 'forgets',
    identified: true,
    scripts: {
      parent: {
        steps: [
          { do: 'ask', text: 'Which?' },
          { do: 'report', output: 'that one' },
        ],
      },
    },
  });
  const task = await world.plan('parent');
  await world.clock.pass(50);
  await world.restart();
  await world.clock.pass(1_000);
  const inbox = await world.person.inbox();
  expect(inbox).toHaveLength(1);
  await world.person.answer({ request: inbox[0]!.id, answer: 'this' });
  await world.clock.pass(1_000);
  expect((await world.view(task)).end).toMatchObject({ status: 'success', output: 'that one' });
  await world.end();
});

test('[EXE3] what a history says of a message: yes, no, or that it cannot say', async () => {
  const clock = new FakeClock();
  const ask = async (history: 'keeps' | 'forgets' | 'unknown', keepWorld: boolean) => {
    const first = scriptedExecutor({
      clock,
      connect: () => ({}) as never,
      history,
      otherwise: (agent) => agent.silent(),
    });
    first.start(spec(1, null)).turn({ turn: 1, given: ['msg_1'], text: '' });
    const options = {
      clock,
      connect: () => ({}) as never,
      history,
      ...(keepWorld ? { world: first.world } : {}),
    };
    const again = scriptedExecutor(options).start(spec(2, history === 'keeps' ? 'run_1' : null));
    return Object.fromEntries(await again.seen(['msg_1', 'msg_2']));
  };
  expect(await ask('keeps', true)).toEqual({ msg_1: 'yes', msg_2: 'no' });
  expect(await ask('keeps', false)).toEqual({ msg_1: 'unknown', msg_2: 'unknown' });
  expect(await ask('forgets', true)).toEqual({ msg_1: 'no', msg_2: 'no' });
  expect(await ask('unknown', true)).toEqual({ msg_1: 'unknown', msg_2: 'unknown' });
});

test('[EXE4] a stop ends it at once: its waits, its calls, its words', async () => {
  const events: ExecutorEvent[] = [];
  const clock = new FakeClock();
  let went = false;
  const script: Script = async (agent) => {
    await agent.work(1_000);
    went = true;
  };
  const agent = scriptedExecutor({ clock, connect: () => ({}) as never, otherwise: script }).start(
    spec(1, null, events),
  );
  agent.turn({ turn: 1, given: [], text: '' });
  await agent.stop('enough');
  await clock.pass(2_000);
  expect(went).toBe(false);
  expect(clock.timers).toBe(0);
  expect(events.map(({ type }) => type)).toEqual(['started', 'exited']);
  expect(await agent.steer({ turn: 1, given: [], text: '' })).toBe('refused');
});

test('[EXE4] one that ignores its abort is killed at the deadline, and its words after it are refused', async () => {
  let late = '';
  const world = await rig({
    killAfterMs: 2_000,
    otherwise: async (agent) => {
      agent.ignoreAbort();
      await agent.work(1_000);
      late = await agent.report('success', 'all the same').then(
        () => 'accepted',
        (error: { code: string }) => error.code,
      );
    },
  });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(500);
  await calls.cancelTask(task);
  await world.clock.pass(1_000);
  expect(late).toBe('stale_caller');
  expect((await world.view(task)).task).toMatchObject({
    state: 'running',
    cancelling: { why: 'cancelled by request' },
  });
  await world.clock.pass(1_000);
  expect((await world.view(task)).end).toMatchObject({ status: 'cancelled' });
  await world.end();
});

test('[EXE4] what an earlier life left running is ended before its run goes on', async () => {
  const world = await rig({
    identified: true,
    otherwise: (agent) => (agent.resumed ? quick(agent) : agent.silent()),
  });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x' }, { blocking: false });
  await world.clock.pass(50);
  const [left] = [...world.agents.lives.keys()];
  expect((await world.view(task)).run?.identity).toBe(left);
  await world.restart();
  await world.clock.pass(50);
  expect((await world.view(task)).end?.status).toBe('success');
  await world.end();
});

test('[EXE5] usage is counted once per use, also by a resumed agent', async () => {
  const world = await rig({
    otherwise: async (agent) => {
      agent.use({ tokens: 100, usd: 0.01 });
      await agent.work(10);
      agent.use({ tokens: 11 });
      await agent.work(10);
      if (!agent.resumed) agent.crash();
      await quick(agent);
    },
  });
  const { calls } = await world.chat();
  const { task } = await calls.spawnSubtask({ prompt: 'x', budget: { tokens: 1_000 } }, { blocking: false });
  await world.clock.pass(5_000);
  expect((await world.view(task)).run?.used).toEqual({ tokens: 222, usd: 0.02 });
  await world.end();
});

function spec(epoch: number, resume: string | null, events: ExecutorEvent[] = []): StartSpec {
  const task = { id: 'task_1', prompt: 'x', attempts: 1 } as Partial<StartSpec['task']> as StartSpec['task'];
  const report = (event: ExecutorEvent): void => void events.push(event);
  const agent = { backend: 'scripted', name: 'agent' };
  return {
    task,
    run: 'run_1',
    epoch,
    session: 'session_1',
    agent,
    resume,
    workspace: null,
    report,
    reserve: async () => ({ granted: true }),
  };
}

test('[EXE1.95] a reviewer does what the script of the reviewed task says for its round, and else approves', async () => {
  const written = {
    steps: [{ do: 'report', output: 'done' }],
    review: [[{ do: 'report', structured: { verdict: 'changes', comments: 'more' } }], [{ do: 'fail' }]],
  } as const;
  const quoted = (prompt: string): string =>
    prompt
      .split('\n')
      .map((line) => `> ${line}`)
      .join('\n');
  const prompt = quoted(withScript('Do.', JSON.parse(JSON.stringify(written)) as WrittenScript));
  expect(reviewInPrompt(prompt, 1).steps).toMatchObject([{ structured: { verdict: 'changes' } }]);
  expect(reviewInPrompt(prompt, 2).steps).toMatchObject([{ do: 'fail' }]);
  expect(reviewInPrompt(prompt, 7).steps).toMatchObject([{ do: 'fail' }]);
  expect(reviewInPrompt('> Do.', 1).steps).toMatchObject([
    { do: 'report', structured: { verdict: 'approve' } },
  ]);
});
