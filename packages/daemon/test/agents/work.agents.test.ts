import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AgentsHouse, endOf, report, scripted, until } from './house.ts';
import { VENDORS } from './vendors.ts';

describe.each(VENDORS)('$name', ({ name, shell }) => {
  test('[EXE10.1] works in its worktree: it edits, commits, reports with our tools, and its work comes home', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [
      shell('echo made > a.txt && git add -A && git commit -qm "add a" && git log --format=%s -1'),
      report('all done'),
    ];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'all done', cause: 'report' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['a.txt']);
    expect(house.git('log', '--format=%s', '-1', end.work!.branch!)).toBe('add a');
  });

  test('[EXE10.2] spawns a subtask of another backend without waiting, goes on, and is woken with its result', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const child = 'Go.\n\n```reveille-script\n{"steps":[{"do":"report","output":"the child is done"}]}\n```';
    const steps = [
      { call: 'a2a_spawn_subtask', input: { agentType: 'scripted:coder', prompt: child, blocking: false } },
      shell('echo went on > on.txt'),
      { say: 'I rest.' },
      report('woken'),
    ];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'woken' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['on.txt']);
    const mail = await client.mailbox(view.task.session);
    expect(mail.filter(({ kind }) => kind === 'end')).toMatchObject([{ state: 'read' }]);
  });

  test('[EXE10.3] cannot get out of its worktree by its shell', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [
      shell(`echo bad > ${house.root}/bad.txt; echo bad >> ${house.root}/README.md; true`),
      report('tried'),
    ];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'tried' });
    expect(house.git('status', '--porcelain')).toBe('');
  });

  test('[EXE10.4] cancelled, it is gone with everything it started', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [shell('touch begun; sleep 600 & sleep 601'), report('never')];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    const tree = await house.worktreeOf(client, view);
    await until(() => existsSync(join(tree, 'begun')));
    await client.cancelTask(view.task.id);
    expect(await endOf(client, view)).toMatchObject({ status: 'cancelled' });
    await until(() => house.livingIn(tree).length === 0);
  });

  test('[EXE10.5] killed in the middle of a turn, it goes on, and its work is there', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [
      shell('echo half > half.txt'),
      { ...shell('echo whole > whole.txt'), hold: 'go' },
      report('after all'),
    ];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    await until(() => house.model.held('go') > 0);
    const tree = await house.worktreeOf(client, view);
    for (const pid of house.livingIn(tree)) process.kill(pid, 'SIGKILL');
    house.model.release('go');
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'after all' });
    expect(end.work?.files.map(({ path }) => path)).toContain('half.txt');
  });

  test('[EXE10.6] that stops without a report is asked, and its answer counts', async () => {
    await using house = await AgentsHouse.open({
      engine: { health: { inactiveAfterMs: 1_000, graceMs: 1_000 } },
    });
    const client = await house.connect();
    const steps = [{ say: 'I think that was all.' }, report('I had forgotten to say so')];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    expect(await endOf(client, view)).toMatchObject({ output: 'I had forgotten to say so' });
  });

  test('[EXE10.7] whose model refuses for a while is tried again', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [{ fail: 'rate_limit' as const, times: 1, retryAfterS: 1 }, report('in the end')];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'in the end' });
  });
});

test('[EXE10.8] agents of all vendors at once, in one repository, and their work is integrated', async () => {
  await using house = await AgentsHouse.open();
  const client = await house.connect();
  const tasks = VENDORS.map(({ name, shell }) => ({
    id: name,
    agent: `${name}:coder`,
    prompt: scripted({
      steps: [
        shell(`echo ${name} > ${name}.txt && git add -A && git commit -qm "by ${name}"`),
        report(`${name} is done`),
      ],
    }),
  }));
  const { plan } = await client.savePlan({ name: 'all', repository: house.root, tasks }, { start: true });
  await until(async () => (await client.getPlan(plan.id)).plan.state === 'completed');
  const files = house.git('ls-tree', '--name-only', 'reveille/all').split('\n');
  expect(files).toEqual(expect.arrayContaining(VENDORS.map(({ name }) => `${name}.txt`)));
});
