import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentsHouse, childOf, endOf, report, scripted, scriptedChild, silent, until } from './house.ts';
import { VENDORS } from './vendors.ts';

describe.each(VENDORS)('$name at work', ({ name, shell, write, steers }) => {
  let house: AgentsHouse;
  let client: Client;
  beforeAll(async () => {
    house = await AgentsHouse.open();
    client = await house.connect();
  });
  afterAll(() => house[Symbol.asyncDispose]());

  const agent = `${name}:coder`;

  test.concurrent('[EXE10.1] it edits, commits, reports with our tools, and its work comes home', async () => {
    const steps = [
      shell('echo made > a.txt && git add -A && git commit -qm "add a" && git log --format=%s -1'),
      write('b.txt', 'made too'),
      report('all done'),
    ];
    const end = await endOf(client, await house.run(client, { agent, prompt: scripted({ steps }) }));
    expect(end).toMatchObject({ status: 'success', output: 'all done', cause: 'report' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['a.txt', 'b.txt']);
    expect(house.git('log', '--format=%s', '-2', end.work!.branch!)).toContain('add a');
  });

  test.concurrent('[EXE10.2] it spawns a subtask of another backend without waiting, goes on, and is woken with its result', async () => {
    const done = scriptedChild([{ do: 'report', output: 'the child is done' }]);
    const steps = [
      { call: 'a2a_spawn_subtask', input: { ...done, blocking: false } },
      shell('echo went on > on.txt'),
      { say: 'I rest.' },
      report('woken'),
    ];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'woken' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['on.txt']);
    const mail = await client.mailbox(view.task.session);
    expect(mail.filter(({ kind }) => kind === 'end')).toMatchObject([{ state: 'read' }]);
  });

  test.concurrent('[EXE10.10] busy, it gets the result in its turn if it can, else right after it', async () => {
    const steps = [
      { call: 'a2a_spawn_subtask', input: { ...silent, blocking: false } },
      { ...shell('echo went on > on.txt'), hold: 'busy' },
      steers ? { ...shell('true'), until: 'the sky is blue' } : { say: 'I rest.' },
      report('heard'),
    ];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    await until(() => house.model.held('busy') > 0);
    await client.completeTask((await childOf(client, view)).task.id, 'the sky is blue');
    await until(async () => (await client.mailbox(view.task.session)).some(({ kind }) => kind === 'end'));
    house.model.release('busy');
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
    const told = house.model.requests.flatMap(({ messages }) => messages.map(({ text }) => text));
    expect(told.some((text) => text.includes('the sky is blue'))).toBe(true);
    expect((await client.getTask(view.task.id)).run?.turns).toBe(steers ? 1 : 2);
  });

  test.concurrent('[EXE10.3] it cannot get out of its worktree, by its shell or by its tools', async () => {
    const outside = join(house.root, 'tool.txt');
    const steps = [
      shell(`echo bad > ${house.root}/bad.txt; echo bad >> ${house.root}/README.md; true`),
      write(outside, 'bad'),
      report('tried'),
    ];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'tried' });
    expect(existsSync(outside)).toBe(false);
    expect(house.git('status', '--porcelain')).toBe('');
  });

  test.concurrent('[EXE10.4] cancelled, it is gone with everything it started', async () => {
    const steps = [shell('touch begun; sleep 600 & sleep 601'), report('never')];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    const tree = await house.worktreeOf(client, view);
    await until(() => existsSync(join(tree, 'begun')));
    await client.cancelTask(view.task.id);
    expect(await endOf(client, view)).toMatchObject({ status: 'cancelled' });
    await until(() => house.livingIn(tree).length === 0);
  });

  test.concurrent('[EXE10.5] killed in the middle of a turn, it goes on, and its work is there', async () => {
    const steps = [
      shell('echo half > half.txt'),
      { ...shell('echo whole > whole.txt'), hold: 'killed' },
      report('after all'),
    ];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    await until(() => house.model.held('killed') > 0);
    const tree = await house.worktreeOf(client, view);
    house.killIn(tree);
    house.model.release('killed');
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'after all' });
    expect(end.work?.files.map(({ path }) => path)).toContain('half.txt');
  });

  test.concurrent('[EXE10.7] when its model refuses for a while it is tried again', async () => {
    const steps = [{ fail: 'rate_limit' as const, times: 1, retryAfterS: 1 }, report('in the end')];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'in the end' });
  });

  test.concurrent('[EXE10.9] pause, resume, interrupt, message and complete reach it; no command line holds its token', async () => {
    const steps = [
      { ...shell('echo one > one.txt'), hold: 'one' },
      { ...shell('echo two > two.txt'), hold: 'two' },
      report('never'),
    ];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    const { id } = view.task;
    const turnIsOver = async (): Promise<boolean> => (await client.getTask(id)).run?.turn === null;
    await until(() => house.model.held('one') > 0);
    const tree = await house.worktreeOf(client, view);
    const { run } = await client.getTask(id);
    expect(house.livingIn(tree)).not.toEqual([]);
    expect(house.commandLinesWith(`rvr_${run!.id}`)).toEqual([]);

    await client.pauseWorker(id);
    await until(turnIsOver);
    expect(await client.getTask(id)).toMatchObject({ worker: 'paused' });
    await client.sendMessage({ to: id, message: 'a word of the person' });
    await client.resumeWorker(id);
    await until(() => house.heard('one', 'a word of the person'));
    house.model.release('one');

    await until(() => house.model.held('two') > 0);
    await client.interruptWorker(id);
    await until(turnIsOver);
    await client.sendMessage({ to: id, message: 'another word' });
    await until(() => house.heard('two', 'another word'));

    await client.completeTask(id, 'good enough');
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'good enough' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['one.txt']);
    expect((await client.getTask(id)).run).toMatchObject({ id: run!.id, attempt: 1 });
    await until(() => house.livingIn(tree).length === 0);
  });
});
