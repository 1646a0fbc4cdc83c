import type { Client } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentsHouse, askedBy, childOf, endOf, report, scripted, silent, until } from './house.ts';
import { VENDORS } from './vendors.ts';

describe.each(VENDORS)('$name and others', ({ name, shell, asking = shell, canBeHasty }) => {
  let house: AgentsHouse;
  let client: Client;
  beforeAll(async () => {
    // Where an agent cannot be told to give up soon, it is answered soon that the result will come later.
    const patience = canBeHasty ? {} : { patienceMs: 300 };
    house = await AgentsHouse.open({
      engine: { ...patience, health: { inactiveAfterMs: 1_000, graceMs: 1_000 } },
      acp: { permissions: 'ask' },
      hasty: canBeHasty,
    });
    client = await house.connect();
  });
  afterAll(() => house[Symbol.asyncDispose]());

  const agent = `${name}:coder`;

  test.concurrent('[EXE10.11] a spawn that waits longer than its client does: the result comes by itself, once', async () => {
    const steps = [{ call: 'a2a_spawn_subtask', input: silent }, { say: 'I rest.' }, report('heard')];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    const child = await childOf(client, view);
    await until(async () => (await client.getTask(view.task.id)).run?.lastWords === 'I rest.');
    await client.completeTask(child.task.id, 'the sea is green');
    expect(await endOf(client, view)).toMatchObject({ status: 'success', output: 'heard' });
    const mail = await client.mailbox(view.task.session);
    expect(mail.filter(({ kind }) => kind === 'end')).toMatchObject([{ state: 'read' }]);
  });

  test.concurrent('[EXE10.12] what it asks leave for it does when that is granted, and not when it is denied', async () => {
    const steps = [
      asking('echo yes > granted.txt'),
      asking('echo no > denied.txt'),
      report('did what I might'),
    ];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    const asked: string[] = [];
    for (let wish = await askedBy(client, view); wish; wish = await askedBy(client, view)) {
      asked.push(wish.text);
      const answer = wish.text.includes('denied.txt') ? 'deny' : 'approve';
      await client.answer({ request: wish.id, answer });
    }
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'did what I might' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['granted.txt']);
    expect(asked).toEqual([expect.stringContaining('granted.txt'), expect.stringContaining('denied.txt')]);
  });

  test.concurrent('[EXE10.6] one that stops without a report is asked, and its answer counts', async () => {
    const steps = [{ say: 'I think that was all.' }, report('I had forgotten to say so')];
    const view = await house.run(client, { agent, prompt: scripted({ steps }) });
    expect(await endOf(client, view)).toMatchObject({ output: 'I had forgotten to say so' });
  });
});
