import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { AcpHouse, agentOf, endOf, play, processesOfRun, report, worktreeWith } from './acp-house.ts';
import { until } from './house.ts';

const silentChild = {
  agentType: 'scripted:coder',
  prompt: 'wait\n```reveille-script\n{"steps":[{"do":"silent"}]}\n```',
};

/** The child that a task has spawned, once it has. */
async function childOf(client: Client, { task }: TaskView): Promise<TaskView> {
  let children: readonly TaskView[] = [];
  await until(async () => {
    children = await client.listTasks({ owner: task.session });
    return children.length > 0;
  });
  return children[0]!;
}

const runOf = async (client: Client, { task }: TaskView): Promise<string> =>
  (await client.getTask(task.id)).run!.id;

test('[EXE1.30] an agent of a command works in its worktree: it edits, commits, reports with our tools, and its work comes home', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
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
  const { run } = await client.getTask(view.task.id);
  expect(run?.used.tokens).toBe(7);
  await until(() => processesOfRun(run!.id).length === 0);
  await client.bringHome(view.task.id);
  expect(house.git('log', '--format=%s', '-1', '--', 'a.txt')).toBe('add a');
});

test('[EXE1.31] it spawns without waiting, rests, and is woken with the result in a turn of its own', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'call', tool: 'a2a_spawn_subtask', args: { ...silentChild, blocking: false } },
      { do: 'rest' },
      { do: 'echo' },
      report('heard'),
    ]),
  );
  const child = await childOf(client, view);
  await until(async () => (await client.getTask(view.task.id)).task.waitingOn === 'children');
  await client.completeTask(child.task.id, 'the sky is blue');
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
  const { run } = await client.getTask(view.task.id);
  expect(run).toMatchObject({ turns: 2 });
});

test('[EXE1.31] a busy one is handed it in its turn if it takes that, and after its turn if not', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const steps = (...more: object[]) =>
    play([
      { do: 'call', tool: 'a2a_spawn_subtask', args: { ...silentChild, blocking: false } },
      { do: 'edit', path: 'ready', content: '' },
      ...(more as { do: string }[]),
    ]);
  const steered = await house.run(client, steps({ do: 'waitSteer' }, { do: 'rest' }, report('s')), {
    agent: 'steered:coder',
  });
  await worktreeWith(client, steered, 'ready');
  await client.completeTask((await childOf(client, steered)).task.id, 'the sky is blue');
  await until(async () => (await client.getTask(steered.task.id)).run!.lastWords.includes('the sky is blue'));
  expect((await client.getTask(steered.task.id)).run!.lastWords).toMatch(/^steered: /);

  const plain = await house.run(
    client,
    steps(
      { do: 'waitFile', path: 'go' },
      { do: 'say', text: 'not yet' },
      { do: 'rest' },
      { do: 'echo' },
      report('p'),
    ),
  );
  const tree = await worktreeWith(client, plain, 'ready');
  await client.completeTask((await childOf(client, plain)).task.id, 'the sea is green');
  writeFileSync(join(tree, 'go'), '');
  // A second prompt in its turn would have been answered with an error, and failed the task.
  expect(await endOf(client, plain)).toMatchObject({ status: 'success', output: 'p' });
  expect((await client.getTask(plain.task.id)).run!.lastWords).toBe('not yet');
});

test('[EXE1.32] a spawn that waits longer than its client does: the result comes by itself, once', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'call', tool: 'a2a_spawn_subtask', args: silentChild, timeoutMs: 300 },
      { do: 'say', text: 'gave up: $last' },
      { do: 'rest' },
      { do: 'echo' },
      { do: 'rest' },
      report('heard'),
    ]),
  );
  const child = await childOf(client, view);
  await until(async () => (await client.getTask(view.task.id)).run!.lastWords.includes('gave up'));
  await client.completeTask(child.task.id, 'the sky is blue');
  await until(async () => (await client.getTask(view.task.id)).run!.lastWords.includes('the sky is blue'));
  // It reports when it is asked why it rests; nothing is handed to it a second time.
  expect(await endOf(client, view)).toMatchObject({ status: 'success' });
  expect((await client.getTask(view.task.id)).run!.lastWords.split('the sky is blue')).toHaveLength(2);
});

test('[EXE1.33] leave is asked of the person: granted, denied; what the sandbox holds is not asked unless a setting says so', async () => {
  await using house = new AcpHouse({}, { permissions: 'ask' });
  const client = await house.connect();
  const asks = (name: string) =>
    play([
      { do: 'permission', title: `push ${name}`, kind: 'execute', input: { command: `git push ${name}` } },
      { do: 'rest' },
      report('$last'),
    ]);
  const views = await Promise.all(['one', 'two'].map((name) => house.run(client, asks(name))));
  await until(async () => (await client.inbox()).length === 2);
  const inbox = await client.inbox();
  expect((await client.getTask(views[0]!.task.id)).task).toMatchObject({
    state: 'waiting',
    waitingOn: 'approval',
  });
  for (const { id, text } of inbox)
    await client.answer({ request: id, answer: text.includes('push one') ? 'approve' : 'deny' });
  for (const view of views) await endOf(client, view);
  const words = await Promise.all(
    views.map(async ({ task }) => (await client.getTask(task.id)).run!.lastWords),
  );
  expect(words).toEqual(['permission: allow_once', 'permission: reject_once']);
});

test('[EXE1.33] where the sandbox holds it, an agent may do what it can do there; the rest is asked', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'permission', title: 'make', kind: 'execute', input: { command: 'make' } },
      { do: 'permission', title: 'summon', kind: 'other' },
      report('done'),
    ]),
  );
  await until(async () => (await client.inbox()).length === 1);
  const [asked] = await client.inbox();
  expect(asked!.text).toContain('summon');
  await client.cancelTask(view.task.id);
  await endOf(client, view);
  // Nobody waits for it any more.
  expect(await client.inbox()).toEqual([]);
});

test('[EXE1.34] by shell, by file calls and by terminal it gets nowhere outside, and sees no key but its own', async () => {
  await using house = new AcpHouse();
  writeFileSync(join(house.env['HOME']!, 'secret.txt'), 'a secret\n');
  const client = await house.connect();
  const outside = join(house.root, 'escaped.txt');
  const view = await house.run(
    client,
    play([
      { do: 'sh', command: `echo x > ${outside}; echo x > ../escaped.txt; true` },
      {
        do: 'sh',
        command: `cat ${join(house.env['HOME']!, 'secret.txt')} ${house.place.lockFile} 2>&1; true`,
      },
      { do: 'say', text: 'read: $last' },
      { do: 'sh', command: 'env' },
      { do: 'say', text: 'env: $last' },
      { do: 'client', method: 'fs/write_text_file', params: { path: outside, content: 'x' } },
      { do: 'client', method: 'fs/read_text_file', params: { path: house.place.lockFile } },
      { do: 'client', method: 'fs/write_text_file', params: { path: 'inside.txt', content: 'in' } },
      { do: 'terminal', command: `echo x > ${outside}; cat inside.txt` },
      { do: 'edit', path: 'said', content: '' },
      { do: 'rest' },
      report('done'),
    ]),
  );
  const end = await endOf(client, view);
  expect(end.status).toBe('success');
  const said = (await client.getTask(view.task.id)).run!.lastWords;
  expect(existsSync(outside)).toBe(false);
  expect(said).not.toContain('a secret');
  expect(said).not.toContain(house.lock.token);
  expect(said).not.toContain('REVEILLE_HOME');
  expect(said).toMatch(/refused: [^{]*outside[\s\S]*refused: /);
  expect(said).toMatch(/terminal: 0 [\s\S]*in$/);
  expect(house.git('status', '--porcelain')).toBe('');
});

test('[EXE3.30] killed in its turn it is resumed where it was; so it is when the daemon is killed', async () => {
  await using house = new AcpHouse();
  let client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'edit', path: 'one', content: '' },
      { do: 'hang' },
      { do: 'edit', path: 'two', content: '' },
      { do: 'hang' },
      { do: 'sh', command: 'ls' },
      report('survived'),
    ]),
  );
  await worktreeWith(client, view, 'one');
  const run = await runOf(client, view);
  process.kill(agentOf(run), 'SIGKILL');
  await worktreeWith(client, view, 'two');
  await house.kill();
  // What it left running dies with it, or is ended by the next one.
  client = await house.connect();
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'survived' });
  expect((await client.getTask(view.task.id)).run).toMatchObject({ id: run, attempt: 1 });
  await until(() => processesOfRun(run).length === 0);
});

test('[EXE3.31] one that cannot be resumed is started anew with its task and what it did', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const first = [{ do: 'edit', path: 'one.txt', content: 'x' }, { do: 'hang' }];
  const again = [{ do: 'echo' }, { do: 'rest' }, report('again')];
  const view = await house.run(client, play(first, again), { agent: 'forgetful:coder' });
  await worktreeWith(client, view, 'one.txt');
  const run = await runOf(client, view);
  process.kill(agentOf(run), 'SIGKILL');
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'again' });
  const { lastWords } = (await client.getTask(view.task.id)).run!;
  expect(lastWords).toMatch(/you begin anew[\s\S]*do it[\s\S]*one\.txt/);
});

test('[EXE1.35] one that ends its turn without a report is asked, and its answer counts', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([{ do: 'say', text: 'I think I am done' }, { do: 'rest' }, { do: 'echo' }, report('yes, done')]),
  );
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'yes, done' });
  expect((await client.getTask(view.task.id)).run).toMatchObject({ turns: 2 });
});

test('[EXE1.36] pause, resume, interrupt, message and cancel reach it; cancelled, nothing of it lives', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'edit', path: 'one', content: '' },
      { do: 'hang' },
      { do: 'rest' },
      { do: 'echo' },
      { do: 'edit', path: 'two', content: '' },
      { do: 'hang' },
      { do: 'rest' },
      { do: 'stray' },
      { do: 'edit', path: 'three', content: '' },
      { do: 'ignoreTerm' },
      { do: 'ignoreCancel' },
      { do: 'hang' },
    ]),
  );
  const { id } = view.task;
  await worktreeWith(client, view, 'one');
  const run = await runOf(client, view);
  await client.pauseWorker(id);
  await until(async () => (await client.getTask(id)).run!.turn === null);
  expect(await client.getTask(id)).toMatchObject({ worker: 'paused' });
  await client.sendMessage({ to: id, message: 'hello there' });
  await client.resumeWorker(id);
  // The message opens a turn, which ends at the rest; the next opens the one that echoes.
  await client.sendMessage({ to: id, message: 'and again' });
  await worktreeWith(client, view, 'two');
  await client.interruptWorker(id);
  await until(async () => (await client.getTask(id)).run!.turn === null);
  for (const message of ['go', 'on']) await client.sendMessage({ to: id, message });
  await worktreeWith(client, view, 'three');
  expect(processesOfRun(run).length).toBeGreaterThan(1);
  await client.cancelTask(id);
  await endOf(client, view);
  await until(() => processesOfRun(run).length === 0);
  expect((await client.getTask(id)).task.state).toBe('cancelled');
});

const BAD = [
  ['absent', 'invalid', /not installed/],
  ['crashing', 'invalid', /left-pad/],
  ['strange', 'auth', /log in/],
  ['hanging', 'unresponsive', /did not answer/],
] as const;
test('[EXE1.37] an agent that is absent, crashes, wants a login or hangs: the task fails with words that name the fix, and its owner is told', async () => {
  await using house = new AcpHouse({}, { initializeMs: 1_000 });
  const client = await house.connect();
  const { session, credential } = await client.grantSession({ name: 'chat', repository: house.root });
  const chat = client.as(credential);
  const spawned = await chat.spawnSubtasks(
    BAD.map(([backend]) => ({ agentType: `${backend}:coder`, prompt: 'x' })),
  );
  for (const [i, [, errorClass, message]] of BAD.entries()) {
    await until(async () => (await client.getTask(spawned[i]!.task)).end !== null);
    const { end } = await client.getTask(spawned[i]!.task);
    expect(end?.error).toMatchObject({ class: errorClass, message: expect.stringMatching(message) });
  }
  const told = await client.mailbox(session.id);
  expect(
    told
      .filter(({ kind }) => kind === 'end')
      .map(({ task }) => task)
      .toSorted(),
  ).toEqual(spawned.map(({ task }) => task).toSorted());
});

test('[EXE1.37] an endpoint that cannot be reached is tried again, and its owner sees it', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const view = await house.run(
    client,
    play([{ do: 'error', message: 'connect ECONNREFUSED 127.0.0.1:9' }, report('reached')]),
  );
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'reached' });
  const events = await client.events(0, 10_000);
  expect(JSON.stringify(events)).toContain('attempt 2 of');
});

test('[EXE1.38] every network mode lets it reach the daemon, and its files of login are its own', async () => {
  await using house = new AcpHouse({ sandbox: { network: 'off' } });
  const client = await house.connect();
  const view = await house.run(
    client,
    play([{ do: 'sh', command: 'echo $HOME' }, { do: 'say', text: '$last' }, { do: 'rest' }, report('off')]),
  );
  expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'off' });
  const { lastWords } = (await client.getTask(view.task.id)).run!;
  expect(lastWords).toBe(join(house.place.home, 'agents', 'played', view.task.id));
  expect(readFileSync(house.place.log, 'utf8')).not.toContain('"level":"error"');
});

test('[EXE1.39] without a checkout it works in an empty folder', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const input = {
    name: 'q',
    tasks: [
      {
        id: 'a',
        agent: 'played:coder',
        prompt: play([
          { do: 'sh', command: 'ls -A | wc -l' },
          { do: 'say', text: 'files: $last' },
          { do: 'rest' },
          report('empty'),
        ]),
      },
    ],
  };
  const { tasks } = await client.savePlan(input, { start: true });
  expect(await endOf(client, tasks[0]!)).toMatchObject({ status: 'success', output: 'empty' });
  expect((await client.getTask(tasks[0]!.task.id)).run!.lastWords).toBe('files: 0');
});
