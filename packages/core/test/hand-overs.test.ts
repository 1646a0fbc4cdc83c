import type { Caller, Message } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import type { FakeAgent } from './fake-agent.ts';
import { quiet, start, type World } from './world.ts';

const THE_END = 'THE RESULT';

/** A worker whose subtask has ended, and a call that was answered with that end. Nobody knows yet whether it arrived. */
async function answered(world: World) {
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  const child = await parent.spawns('x');
  const one = world.engine.exchange(callerOf(parent));
  const call = one.orchestrator.awaitSubtasks({ taskIds: [child] });
  await quiet();
  await world.worker('x').reports(THE_END);
  expect(JSON.stringify(await call)).toContain(THE_END);
  return { parent, one };
}

const callerOf = ({ spec: { run, session, epoch } }: FakeAgent): Caller => ({
  kind: 'worker',
  run,
  session,
  epoch,
});

const ends = async (world: World, { spec }: FakeAgent): Promise<Message['state'][]> =>
  (await world.mail(spec.session, 'end')).map(({ state }) => state);

async function tells(world: World, agent: FakeAgent, exchange = world.engine.exchange(callerOf(agent))) {
  await exchange.orchestrator.notifyParent({ type: 'progress', message: 'the other call' });
  exchange.answered();
  await quiet();
}

const cameAgain = ({ turns, steered }: FakeAgent): boolean =>
  [...turns, ...steered].some(({ text }) => /given again[\s\S]*THE RESULT/.test(text));

describe('a worker', () => {
  test('[WAK9][WAK9.1] a parallel call proves nothing about an answer that is still on its way: lost, the end comes again', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    await tells(world, parent);
    expect(await ends(world, parent)).toEqual(['delivered']);
    await one.lost();
    await parent.ends();
    expect(cameAgain(parent)).toBe(true);
  });

  test('[WAK9.1] nor does one that began before the answer was out and is served after', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    const beside = world.engine.exchange(callerOf(parent));
    one.answered();
    await tells(world, parent, beside);
    expect(await ends(world, parent)).toEqual(['delivered']);
    await tells(world, parent);
    expect(await ends(world, parent)).toEqual(['read']);
  });

  test('[WAK9.2] an answer that is lost after all takes back what counted as read', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    one.answered();
    await tells(world, parent);
    expect(await ends(world, parent)).toEqual(['read']);
    await one.lost();
    expect(await ends(world, parent)).toEqual(['queued']);
    await parent.ends();
    expect(cameAgain(parent)).toBe(true);
  });

  test('[WAK9.2] not from a session that has ended', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    one.answered();
    expect(await parent.reports()).toEqual({ accepted: true });
    await one.lost();
    expect(await ends(world, parent)).toEqual(['read']);
    expect(await world.store.sessionsWithMail(10)).not.toContain(parent.spec.session);
  });

  test('[WAK9.3] a turn that ends without the answer gives its mail to the next one', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    await parent.ends();
    expect(cameAgain(parent)).toBe(true);
    // What the broken connection says now is about another hand-over.
    await one.lost();
    await parent.ends('read');
    expect(await ends(world, parent)).toEqual(['read']);
  });

  test('[WAK9.3] so does one that ends just before the answer gets out, while its work is looked at', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    const ending = parent.ends();
    one.answered();
    await ending;
    expect(cameAgain(parent)).toBe(true);
    await parent.ends('read');
    expect(await ends(world, parent)).toEqual(['read']);
  });

  test('[WAK9.4] a report beside the answer is refused, and returns the end', async () => {
    await using world = await start();
    const { parent } = await answered(world);
    const refusal = await parent.reports();
    expect(refusal).toMatchObject({ accepted: false, code: 'unread_ends' });
    expect(JSON.stringify(refusal)).toContain(THE_END);
    expect(await parent.reports()).toEqual({ accepted: true });
  });

  test('[WAK9.4] so is one that was under way when the answer got out; the end is not given twice', async () => {
    await using world = await start();
    const { parent, one } = await answered(world);
    const beside = world.engine.exchange(callerOf(parent));
    one.answered();
    const report = { status: 'success', output: 'done' } as const;
    expect(await beside.orchestrator.reportCompletion(report)).toEqual({
      accepted: false,
      code: 'unread_ends',
      deliveries: [],
    });
    expect(await parent.reports()).toEqual({ accepted: true });
  });

  test('[WAK9.1] a call that began before a turn does not prove what the turn was given', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('x');
    const before = world.engine.exchange(callerOf(parent));
    await world.worker('x').reports(THE_END);
    await parent.ends();
    expect(parent.last.text).toContain(THE_END);
    await tells(world, parent, before);
    expect(await ends(world, parent)).toEqual(['delivered']);
    await tells(world, parent);
    expect(await ends(world, parent)).toEqual(['read']);
  });
});

test('[WAK9.5] the same holds for a chat: a parallel call proves nothing, a later one does', async () => {
  await using world = await start();
  const chat = await world.chat();
  const caller = { kind: 'session', session: chat.id } as const;
  await chat.spawns('one');
  await world.worker('one').reports('1');
  const [one, beside] = [world.engine.exchange(caller), world.engine.exchange(caller)];
  expect(await one.orchestrator.checkUpdates()).toHaveLength(1);
  await beside.orchestrator.checkUpdates();
  one.answered();
  await beside.orchestrator.checkUpdates();
  expect(await chat.mail('end')).toMatchObject([{ state: 'delivered' }]);
  const later = world.engine.exchange(caller);
  await later.orchestrator.mailbox(chat.id);
  expect(await chat.mail('end')).toMatchObject([{ state: 'delivered' }]);
  await later.orchestrator.checkUpdates();
  expect(await chat.mail('end')).toMatchObject([{ state: 'read' }]);
  await one.lost();
  expect((await chat.orch.checkUpdates())[0]?.text).toMatch(/given again[\s\S]*1/);
});

test('[WAK9.5] the connection of a chat breaks: what each of its last answers brought is queued again', async () => {
  await using world = await start();
  const chat = await world.chat();
  await chat.attach();
  const caller = { kind: 'session', session: chat.id } as const;
  // Two calls at once, each answered with the end of its own child.
  const calls = [];
  for (const name of ['one', 'two']) {
    const { orchestrator } = world.engine.exchange(caller);
    calls.push(orchestrator.spawnSubtask({ prompt: name }));
    await quiet();
  }
  for (const name of ['one', 'two']) await world.worker(name).reports(name);
  expect(await Promise.all(calls)).toMatchObject([{ state: 'ended' }, { state: 'ended' }]);
  expect((await chat.mail('end')).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  await chat.detach();
  expect((await chat.mail('end')).map(({ state }) => state)).toEqual(['queued', 'queued']);
});
