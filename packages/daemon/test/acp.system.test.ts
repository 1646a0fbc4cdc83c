import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, Request, TaskView } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AcpHouse, agentOf, endOf, play, processesOfRun, report, worktreeWith } from './acp-house.ts';
import { until } from './house.ts';
import { hasSandbox } from '../../../test/sandbox.ts';

const silentChild = {
  agentType: 'scripted:coder',
  prompt: 'wait\n```reveille-script\n{"steps":[{"do":"silent"}]}\n```',
};

/** The child that a task has spawned, once it is at work. */
async function childOf(client: Client, { task }: TaskView): Promise<TaskView> {
  let child: TaskView | undefined;
  await until(async () => {
    [child] = await client.listTasks({ owner: task.session });
    return child?.task.state === 'running';
  });
  return child!;
}

/** What a task asks the person, once it does. */
async function askedBy(client: Client, { task }: TaskView): Promise<Request> {
  let asked: Request | undefined;
  await until(async () => {
    asked = (await client.inbox()).find((request) => request.task === task.id && request.kind === 'approval');
    return asked !== undefined;
  });
  return asked!;
}

const runOf = async (client: Client, { task }: TaskView) => (await client.getTask(task.id)).run!;
const wordsOf = async (client: Client, view: TaskView): Promise<string> =>
  (await runOf(client, view)).lastWords;

describe.concurrent('one daemon', () => {
  let house: AcpHouse;
  let client: Client;
  beforeAll(async () => {
    house = new AcpHouse();
    client = await house.connect();
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  test('[EXE1.30] an agent of a command works in its worktree: it edits, commits, reports with our tools', async () => {
    const view = await house.run(
      client,
      play([
        { do: 'edit', path: 'a.txt', content: 'made\n' },
        { do: 'sh', command: 'git add -A && git commit -qm "add a"' },
        { do: 'usage', usage: { totalTokens: 7 } },
        { do: 'rest' },
        report('all done'),
      ]),
    );
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'all done', cause: 'report' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['a.txt']);
    expect(house.git('log', '--format=%s', '-1', end.work!.branch)).toBe('add a');
    const run = await runOf(client, view);
    // What it reported; the turn that its report ended is an estimate.
    expect(run.used.tokens - (run.used.estimated?.tokens ?? 0)).toBe(7);
    await until(() => processesOfRun(run.id).length === 0);
  });

  test('[EXE1.31] it spawns without waiting, rests, and is woken with the result in a turn of its own', async () => {
    const view = await house.run(
      client,
      play([
        { do: 'call', tool: 'a2a_spawn_subtask', args: { ...silentChild, blocking: false } },
        { do: 'rest' },
        { do: 'echo' },
        { do: 'rest' },
        report('heard'),
      ]),
    );
    const child = await childOf(client, view);
    await until(async () => (await client.getTask(view.task.id)).task.waitingOn === 'children');
    await client.completeTask(child.task.id, 'the sky is blue');
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
    expect(await wordsOf(client, view)).toContain('the sky is blue');
  });

  test('[EXE1.31] one that takes mail in its turn is handed it there', async () => {
    const view = await house.run(
      client,
      play([
        { do: 'call', tool: 'a2a_spawn_subtask', args: { ...silentChild, blocking: false } },
        { do: 'waitSteer', ready: 'ready' },
        { do: 'rest' },
        report('heard'),
      ]),
      { agent: 'steered:coder' },
    );
    await worktreeWith(client, view, 'ready');
    await client.completeTask((await childOf(client, view)).task.id, 'the sky is blue');
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
    expect(await wordsOf(client, view)).toMatch(/^steered: [\s\S]*the sky is blue/);
  });

  test('[EXE1.31] one that does not is handed it after its turn, and is sent no second prompt', async () => {
    const view = await house.run(
      client,
      play([
        { do: 'call', tool: 'a2a_spawn_subtask', args: { ...silentChild, blocking: false } },
        { do: 'waitFile', path: 'go', ready: 'ready' },
        { do: 'say', text: 'not yet' },
        { do: 'rest' },
        { do: 'echo' },
        report('heard'),
      ]),
    );
    const tree = await worktreeWith(client, view, 'ready');
    await client.completeTask((await childOf(client, view)).task.id, 'the sea is green');
    writeFileSync(join(tree, 'go'), '');
    // It answers a second prompt with an error, which would have failed the task.
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
    expect(await wordsOf(client, view)).toBe('not yet');
  });

  test('[EXE1.32] a spawn that waits longer than its client does: the result comes by itself, once', async () => {
    const view = await house.run(
      client,
      play([
        { do: 'call', tool: 'a2a_spawn_subtask', args: silentChild, giveUpFile: 'tired' },
        { do: 'say', text: 'gave up: $last' },
        { do: 'rest' },
        { do: 'echo' },
        { do: 'rest' },
        report('heard'),
      ]),
    );
    const child = await childOf(client, view);
    const { worktree } = await client.diffTask(view.task.id);
    writeFileSync(join(worktree, 'tired'), '');
    await until(async () => (await wordsOf(client, view)).includes('gave up'));
    await client.completeTask(child.task.id, 'the sky is blue');
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
    expect((await wordsOf(client, view)).split('the sky is blue')).toHaveLength(2);
  });

  test.skipIf(!hasSandbox)(
    '[EXE1.33] what the sandbox holds is not asked; the rest is, and the question ends with the task',
    async () => {
      const view = await house.run(
        client,
        play([
          { do: 'permission', title: 'make', kind: 'execute', input: { command: 'make' } },
          { do: 'permission', title: 'summon', kind: 'other' },
          report('done'),
        ]),
      );
      const asked = await askedBy(client, view);
      expect(asked.text).toContain('summon');
      await client.cancelTask(view.task.id);
      await endOf(client, view);
      expect((await client.inbox()).map(({ task }) => task)).not.toContain(view.task.id);
    },
  );

  test.skipIf(!hasSandbox)(
    '[EXE1.34] by shell, by file calls and by terminal it gets nowhere outside, and sees no key but its own',
    async () => {
      const secret = join(house.env['HOME']!, 'secret.txt');
      writeFileSync(secret, 'a secret\n');
      const outside = join(house.root, 'escaped.txt');
      const view = await house.run(
        client,
        play([
          {
            do: 'sh',
            command: `(echo x > ${outside}; echo x > ../escaped.txt; cat ${secret} ${house.place.lockFile}; env) 2>&1; true`,
          },
          { do: 'say', text: 'shell: $last\n' },
          { do: 'client', method: 'fs/write_text_file', params: { path: outside, content: 'x' } },
          { do: 'client', method: 'fs/read_text_file', params: { path: house.place.lockFile } },
          { do: 'client', method: 'fs/write_text_file', params: { path: 'inside.txt', content: 'in' } },
          { do: 'terminal', command: `echo x > ${outside}; cat ${secret} inside.txt` },
          { do: 'rest' },
          report('done'),
        ]),
      );
      expect(await endOf(client, view)).toMatchObject({ status: 'success' });
      const said = await wordsOf(client, view);
      expect(existsSync(outside)).toBe(false);
      expect(said).toMatch(/shell: [\s\S]*No such file[\s\S]*REVEILLE_AGENT=/);
      expect(said).not.toContain('a secret');
      expect(said).not.toContain(house.lock.token);
      expect(said).not.toContain('REVEILLE_HOME');
      expect(said).toMatch(/refused: [\s\S]*refused: [\s\S]*\{\}terminal: 1 [\s\S]*in$/);
    },
  );

  test.skipIf(!hasSandbox)(
    '[EXE1.34] one whose definition only reads cannot write, by its own hands or by its client’s',
    async () => {
      const view = await house.run(
        client,
        play([
          { do: 'sh', command: 'touch written 2>&1; true' },
          { do: 'say', text: 'shell: $last ' },
          { do: 'client', method: 'fs/write_text_file', params: { path: 'written', content: 'x' } },
          { do: 'terminal', command: 'touch written' },
          { do: 'permission', title: 'Edit', kind: 'edit' },
          { do: 'rest' },
          report('read it'),
        ]),
        { agent: 'played:reviewer' },
      );
      const end = await endOf(client, view);
      expect(end).toMatchObject({ status: 'success', work: { files: [] } });
      expect(await wordsOf(client, view)).toMatch(
        /shell: .*Read-only file system refused: .*terminal: 1 .*Read-only[\s\S]*permission: reject_once$/,
      );
    },
  );

  test('[EXE3.31] one that cannot be resumed is started anew with its task and what it did', async () => {
    const first = [
      { do: 'edit', path: 'one.txt', content: 'x' },
      { do: 'hang', ready: 'ready' },
    ];
    const again = [{ do: 'echo' }, { do: 'rest' }, report('again')];
    const view = await house.run(client, play(first, again), { agent: 'forgetful:coder' });
    await worktreeWith(client, view, 'ready');
    process.kill(agentOf((await runOf(client, view)).id), 'SIGKILL');
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'again' });
    expect(await wordsOf(client, view)).toMatch(/you begin anew[\s\S]*do it[\s\S]*one\.txt/);
  });

  test('[EXE1.35] one that ends its turn without a report is asked, and its answer counts', async () => {
    const view = await house.run(
      client,
      play([{ do: 'say', text: 'I think I am done' }, { do: 'rest' }, report('yes, done')]),
    );
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'yes, done' });
    expect(await runOf(client, view)).toMatchObject({ turns: 2, lastWords: 'I think I am done' });
  });

  test.skipIf(!hasSandbox)(
    '[EXE1.36] pause, resume, interrupt, message and cancel reach it; cancelled, nothing of it lives',
    async () => {
      const view = await house.run(
        client,
        play([
          { do: 'hang', ready: 'one' },
          { do: 'echo' },
          { do: 'hang', ready: 'two' },
          { do: 'stray' },
          { do: 'ignoreTerm' },
          { do: 'ignoreCancel' },
          { do: 'hang', ready: 'three' },
        ]),
      );
      const { id } = view.task;
      await worktreeWith(client, view, 'one');
      const run = await runOf(client, view);
      await client.pauseWorker(id);
      await until(async () => (await runOf(client, view)).turn === null);
      expect(await client.getTask(id)).toMatchObject({ worker: 'paused' });
      await client.sendMessage({ to: id, message: 'hello there' });
      await client.resumeWorker(id);
      await worktreeWith(client, view, 'two');
      await client.interruptWorker(id);
      await until(async () => (await wordsOf(client, view)).includes('hello there'));
      await client.sendMessage({ to: id, message: 'go on' });
      await worktreeWith(client, view, 'three');
      expect(processesOfRun(run.id).length).toBeGreaterThan(2);
      await client.cancelTask(id);
      await endOf(client, view);
      await until(() => processesOfRun(run.id).length === 0);
      expect((await client.getTask(id)).task.state).toBe('cancelled');
    },
  );

  test.skipIf(!hasSandbox)(
    '[EXE1.37] an agent that is absent, crashes or wants a login: words that name the fix, and the owner is told',
    async () => {
      const bad = [
        ['absent', 'invalid', /not installed/],
        ['crashing', 'invalid', /left-pad/],
        ['strange', 'auth', /log in/],
      ] as const;
      const { session, credential } = await client.grantSession({ name: 'chat', repository: house.root });
      const children = bad.map(([backend]) => ({ agentType: `${backend}:coder`, prompt: 'x' }));
      const spawned = await client.as(credential).spawnSubtasks(children);
      for (const [i, [, errorClass, message]] of bad.entries()) {
        await until(async () => (await client.getTask(spawned[i]!.task)).end !== null);
        const { end } = await client.getTask(spawned[i]!.task);
        expect(end?.error).toMatchObject({ class: errorClass, message: expect.stringMatching(message) });
      }
      const told = (await client.mailbox(session.id)).filter(({ kind }) => kind === 'end');
      expect(new Set(told.map(({ task }) => task))).toEqual(new Set(spawned.map(({ task }) => task)));
    },
  );

  test.skipIf(!hasSandbox)(
    '[EXE1.37] an endpoint that cannot be reached is tried again, and its owner sees it',
    async () => {
      const view = await house.run(
        client,
        play([{ do: 'error', message: 'connect ECONNREFUSED 127.0.0.1:9' }, report('reached')]),
      );
      expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'reached' });
      const mail = await client.mailbox(view.task.owner);
      const told = mail.find(({ kind, task }) => kind === 'error' && task === view.task.id);
      expect(told?.text).toMatch(/network: .*ECONNREFUSED.*attempt 2 of/);
    },
  );

  test('[EXE1.39] without a checkout it works in an empty folder', async () => {
    const prompt = play([
      { do: 'sh', command: 'ls -A | wc -l' },
      { do: 'say', text: 'files: $last' },
      { do: 'rest' },
      report('empty'),
    ]);
    const input = { name: 'q', tasks: [{ id: 'a', agent: 'played:coder', prompt }] };
    const { tasks } = await client.savePlan(input, { start: true });
    expect(await endOf(client, tasks[0]!)).toMatchObject({ status: 'success', output: 'empty' });
    expect(await wordsOf(client, tasks[0]!)).toBe('files: 0');
  });
});

test('[EXE1.33] by setting everything is asked of the person: granted, denied', async () => {
  await using house = new AcpHouse({}, { permissions: 'ask' });
  const client = await house.connect();
  const asks = play([
    { do: 'permission', title: 'push', kind: 'execute', input: { command: 'git push' } },
    { do: 'rest' },
    report('done'),
  ]);
  const views = await Promise.all([house.run(client, asks), house.run(client, asks)]);
  for (const [i, answer] of ['approve', 'deny'].entries()) {
    const { id, text, options } = await askedBy(client, views[i]!);
    expect({ text, options }).toMatchObject({
      text: expect.stringContaining('git push'),
      options: ['approve', 'deny'],
    });
    const { task } = await client.getTask(views[i]!.task.id);
    expect(task).toMatchObject({ state: 'waiting', waitingOn: 'approval' });
    await client.answer({ request: id, answer });
    await endOf(client, views[i]!);
  }
  const words = await Promise.all(views.map((view) => wordsOf(client, view)));
  expect(words).toEqual(['permission: allow_once', 'permission: reject_once']);
});

test('[EXE3.30] killed in its turn it is resumed where it was; so it is when the daemon is killed', async () => {
  await using house = new AcpHouse();
  let client = await house.connect();
  const view = await house.run(
    client,
    play([{ do: 'hang', ready: 'one' }, { do: 'hang', ready: 'two' }, report('survived')]),
  );
  await worktreeWith(client, view, 'one');
  const run = await runOf(client, view);
  process.kill(agentOf(run.id), 'SIGKILL');
  await worktreeWith(client, view, 'two');
  await house.kill();
  client = await house.connect();
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'survived' });
  expect(await runOf(client, view)).toMatchObject({ id: run.id, attempt: 1 });
  await until(() => processesOfRun(run.id).length === 0);
});

test('[EXE3.32] without a sandbox, one whose daemon is killed is gone before its run goes on', async () => {
  await using house = new AcpHouse({ sandbox: { mode: 'off' } });
  let client = await house.connect();
  const view = await house.run(
    client,
    play([{ do: 'ignoreTerm' }, { do: 'stray' }, { do: 'hang', ready: 'one' }, report('survived')]),
  );
  await worktreeWith(client, view, 'one');
  const { id } = await runOf(client, view);
  const old = processesOfRun(id).map(({ pid }) => pid);
  expect(old.length).toBeGreaterThan(1);
  await house.kill();
  client = await house.connect();
  await until(() => processesOfRun(id).every(({ pid }) => !old.includes(pid)));
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'survived' });
  await until(() => processesOfRun(id).length === 0);
});

test('[EXE1.37] an agent that hangs at its first message is given up within the set time', async () => {
  await using house = new AcpHouse({}, { initializeMs: 300 });
  const client = await house.connect();
  const view = await house.run(client, 'x', { agent: 'hanging:coder' });
  const { error } = await endOf(client, view);
  expect(error).toMatchObject({
    class: 'unresponsive',
    message: expect.stringMatching(/did not answer.*by hand/),
  });
});

test.each(['off', 'list'])(
  '[EXE1.38] with the network %s it reaches the daemon, and has a home of its own',
  async (network) => {
    await using house = new AcpHouse({ sandbox: { network } });
    const client = await house.connect();
    const view = await house.run(
      client,
      play([
        { do: 'sh', command: 'echo $HOME' },
        { do: 'say', text: '$last' },
        { do: 'rest' },
        report('reached'),
      ]),
    );
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'reached' });
    expect(await wordsOf(client, view)).toBe(join(house.place.home, 'agents', 'played', view.task.id));
    expect(readFileSync(house.place.log, 'utf8')).not.toContain('"level":"error"');
  },
);
