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
    const steps = [shell('touch begun && sleep 600 & sleep 600'), report('never')];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    await until(async () => (await client.getTask(view.task.id)).run?.turn?.alive === true);
    await client.cancelTask(view.task.id);
    expect(await endOf(client, view)).toMatchObject({ status: 'cancelled' });
  });
});
