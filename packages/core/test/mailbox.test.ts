import type { Change } from '@reveille/core';
import type { Message } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

describe('the states of a message', () => {
  test('[MBX1] everything for an agent passes through its mailbox', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    const child = world.worker('child');
    await child.orch.notifyParent({ type: 'progress', message: 'half way' });
    await child.orch.notifyParent({ type: 'error', message: 'a hiccup' });
    const question = await child.asks('which one?');
    await world.person.sendMessage({ to: a.task, message: 'a person’s words' });
    await a.ends();
    const kinds = (await world.mail(a.spec.session)).map((message) => message.kind);
    expect(kinds).toEqual(['progress', 'error', 'question', 'words']);
    expect(a.last.given).toHaveLength(4);
    await a.orch.answer({ request: question, answer: 'the left one' });
    await child.ends();
    expect((await world.mail(child.spec.session)).map((message) => message.kind)).toEqual(['answer']);
    expect(child.last.text).toContain('the left one');
  });

  test('[MBX2] the end of a run and the message about it are one commit', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    const changes: Change[] = [];
    const { store } = world.engine.context;
    const commit = store.commit.bind(store);
    Object.assign(store, { commit: (change: Change) => (changes.push(change), commit(change)) });
    await world.worker('child').reports('x');
    const tables = changes.map(({ writes }) => writes.map((write) => write.table));
    const ending = tables.find((written) => written.includes('run'));
    expect(new Set(ending)).toEqual(new Set(['run', 'task', 'session', 'message']));
  });

  test('[MBX2] a commit that fails leaves neither the end nor the message, and it can be tried again', async () => {
    let fail = false;
    await using world = await start({
      sync: async () => {
        if (fail) throw Object.assign(new Error('disk'), { name: 'ReveilleError', code: 'store_failed' });
      },
    });
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    const { orch, spec } = world.worker('child');
    const before = await world.store.lastEvent();
    fail = true;
    await expect(orch.reportCompletion({ status: 'success', output: 'x' })).rejects.toThrow('disk');
    fail = false;
    expect(await world.store.lastEvent()).toBe(before);
    expect((await world.store.get('run', spec.run))?.doc.state).toBe('open');
    expect(await orch.reportCompletion({ status: 'success', output: 'x' })).toEqual({ accepted: true });
    expect(await world.mail(world.worker('a').spec.session, 'end')).toHaveLength(1);
  });

  test('[MBX3] queued → delivered, with who took it, before the hand-over → read at the next sign of life', async () => {
    const states: string[] = [];
    await using world = await start({
      reflex: (agent) => {
        if (agent.turns.length !== 2) return;
        void world
          .mail(agent.spec.session, 'words')
          .then(([message]) => states.push(message!.state, message!.taken!.id));
      },
    });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('busy');
    await world.person.sendMessage({ to: a.task, message: 'hello' });
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'queued', taken: null }]);
    await a.ends();
    expect(states).toEqual(['delivered', `${a.spec.run}/2`]);
    await a.calls('read');
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'read' }]);
    const types = (await world.events())
      .filter((event) => event.type.startsWith('message.'))
      .map((event) => event.type);
    expect(types).toEqual(['message.queued', 'message.delivered', 'message.read']);
  });

  test('[MBX3] a turn that ends well has read what it was given, without a word', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.sendMessage({ to: a.task, message: 'hello' });
    await a.ends();
    await a.ends();
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'read' }]);
  });

  test('[MBX3] a key makes a second copy impossible, also after the first was read', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const send = () => world.person.sendMessage({ to: a.task, message: 'once', key: 'k' });
    const ids = await Promise.all([send(), send()]);
    await a.ends();
    await a.ends();
    expect(new Set([...ids, await send()]).size).toBe(1);
    expect(await world.mail(a.spec.session, 'words')).toHaveLength(1);
    const note = () => a.orch.notifyParent({ type: 'info', message: 'fyi', key: 'n' });
    const notes = [await note(), await note()];
    expect(notes[0]?.message).toBe(notes[1]?.message);
    const ask = () => a.orch.notifyParent({ type: 'question', message: 'well?', key: 'q' });
    const questions = [await ask(), await ask()];
    expect(questions[0]?.request).toBe(questions[1]?.request);
    expect(await world.person.inbox()).toHaveLength(1);
  });

  test('[MBX3] sender and person can see what became of a message: the id that was given names it', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    const { message, request } = await world
      .worker('child')
      .orch.notifyParent({ type: 'question', message: 'well?' });
    const [mail] = await world.mail(world.worker('a').spec.session, 'question');
    expect(mail).toMatchObject({ id: message, request, state: 'queued' });
  });

  test('[MBX3] mail for a session that ended is dead, says why, stays on record, and lives again with a retry', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.sendMessage({ to: a.task, message: 'too late?' });
    await a.fails('auth');
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([
      { state: 'dead', dead: expect.stringContaining('ended') },
    ]);
    await refused(world.person.sendMessage({ to: a.task, message: 'hello?' }), 'wrong_state');
    await world.person.retryTask(a.task);
    await quiet();
    expect(world.worker('a').last.text).toContain('too late?');
  });
});

describe('a full mailbox', () => {
  test('[MBX4] at most maxUpdates updates wait; the oldest are folded, with a warning; nothing else is touched', async () => {
    await using world = await start({ settings: { maxUpdates: 10 } });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    const child = world.worker('child');
    await child.orch.notifyParent({ type: 'error', message: 'the error' });
    await child.asks('the question');
    for (let i = 0; i < 100; i++) {
      await child.orch.notifyParent({ type: i % 2 ? 'progress' : 'info', message: `update ${i}` });
      const waiting = (await world.mail(a.spec.session)).filter(
        ({ state, kind }) => state === 'queued' && (kind === 'progress' || kind === 'info'),
      );
      expect(waiting.length).toBeLessThanOrEqual(10);
    }
    await child.reports('the end');
    await a.ends();
    const text = a.last.text;
    for (const part of ['the error', 'the question', 'the end', 'update 99', 'updates were folded'])
      expect(text).toContain(part);
    expect((await world.events('mailbox.folded')).length).toBeGreaterThan(0);
    const folded = (await world.mail(a.spec.session)).filter((message) => message.state === 'dead');
    expect(folded.every((message) => message.dead?.startsWith('folded into msg_'))).toBe(true);
  });

  test('[MBX4] what is folded is the oldest half, into the newest of it, in order; the newer half stays', async () => {
    await using world = await start({ settings: { maxUpdates: 4 } });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    const { orch } = world.worker('child');
    for (const n of [1, 2, 3, 4]) await orch.notifyParent({ type: 'info', message: `update ${n}` });
    const before = await world.mail(a.spec.session, 'info');
    await orch.notifyParent({ type: 'info', message: 'update 5' });
    const mail = await world.mail(a.spec.session, 'info');
    expect(mail.map(({ state }) => state)).toEqual(['dead', 'dead', 'queued', 'queued', 'queued']);
    expect(mail.slice(0, 2).map(({ dead }) => dead)).toEqual(
      [0, 1].map(() => `folded into ${before[2]?.id}`),
    );
    expect(mail[2]?.text).toMatch(/^\[3 updates were folded[^\n]*\nupdate 1\nupdate 2\nupdate 3$/);
    expect(mail.slice(3).map(({ text }) => text)).toEqual(['update 4', 'update 5']);
  });

  test('[MBX4] a hundred and more ends are all kept', async () => {
    await using world = await start({
      settings: { maxUpdates: 2, children: { open: 500, total: 500, perMinute: 500 }, concurrency: 500 },
    });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.orch.spawnSubtasks(Array.from({ length: 120 }, (_, i) => ({ prompt: `c${i}` })));
    await quiet();
    for (let i = 0; i < 120; i++) await world.worker(`c${i}`).reports(`answer ${i}.`);
    await a.ends();
    for (let i = 0; i < 120; i++) expect(a.last.text).toContain(`answer ${i}.`);
  });
});

describe('away and gone', () => {
  test('[MBX5] what a chat missed waits for it: while it was not connected, over a crash, in order', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.spawns('one');
    await chat.spawns('two');
    await world.worker('one').reports('1');
    world.crash();
    await world.restart();
    await world.worker('two').reports('2');
    await world.advance(60_000);
    await chat.attach();
    expect(chat.given.flat().map((delivery) => delivery.end?.output)).toEqual(['1', '2']);
  });

  test('[MBX5] a call that was answered into a connection that broke loses nothing', async () => {
    await using world = await start();
    const chat = await world.chat();
    const one = await chat.spawns('one');
    await world.worker('one').reports('1');
    expect((await chat.orch.awaitSubtasks({ taskIds: [one] })).deliveries).toHaveLength(1);
    world.crash();
    await world.restart();
    await chat.attach();
    expect(chat.given.flat()[0]?.text).toMatch(/may have seen it before[\s\S]*1/);
  });

  test('[MBX3] an answer that is lost gives back its own mail and no other', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.spawns('one');
    await world.worker('one').reports('1');
    const caller = { kind: 'session', session: chat.id } as const;
    const [first, second] = [world.engine.exchange(caller), world.engine.exchange(caller)];
    expect(await second.orchestrator.checkUpdates()).toHaveLength(1);
    await first.lost();
    expect(await chat.mail('end')).toMatchObject([{ state: 'delivered', maybeSeen: 0 }]);
    await second.lost();
    await second.lost();
    expect(await chat.mail('end')).toMatchObject([{ state: 'queued', maybeSeen: 1 }]);
    expect((await chat.orch.checkUpdates())[0]?.text).toMatch(/may have seen it before[\s\S]*1/);
  });

  test('[MBX3] a worker whose answer is lost is given the mail again, and a later call proves nothing of it', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    const [child] = await parent.orch.spawnSubtasks([{ prompt: 'child' }]);
    await parent.says('busy');
    await world.worker('child').reports('1');
    const { run, session, epoch } = parent.spec;
    const exchange = world.engine.exchange({ kind: 'worker', run, session, epoch });
    const mine = (): Promise<Message[]> => world.mail(session, 'end');
    const taken = await exchange.orchestrator.checkUpdates({ taskIds: [child!.task] });
    expect(taken).toHaveLength(1);
    await exchange.lost();
    expect(await mine()).toMatchObject([{ state: 'queued', maybeSeen: 1 }]);
    await parent.calls('read');
    expect(await mine()).toMatchObject([{ state: 'queued' }]);
    await parent.ends();
    expect(parent.turns.at(-1)?.text).toMatch(/may have seen it before[\s\S]*1/);
  });

  test('[MBX3] the next call of a chat shows that it has what the last one answered', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.spawns('one');
    await world.worker('one').reports('1');
    await chat.orch.checkUpdates();
    expect(await chat.mail('end')).toMatchObject([{ state: 'delivered' }]);
    await chat.orch.checkUpdates();
    expect(await chat.mail('end')).toMatchObject([{ state: 'read' }]);
    world.crash();
    await world.restart();
    await chat.attach();
    expect(chat.given).toEqual([]);
  });

  test('[MBX6] a disconnect is not an end: children go on', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.attach();
    await chat.spawns('child');
    await chat.detach();
    await world.advance(600_000);
    expect(await world.state('child')).toBe('running');
  });

  test('[MBX6] when a session ends for good its children are cancelled and its unread mail stays on record', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.spawns('done');
    await chat.spawns('running');
    await world.worker('done').reports('unread');
    await chat.orch.endSession(chat.id);
    await quiet();
    expect(await world.states('done', 'running')).toEqual(['completed', 'cancelled']);
    expect(world.worker('running').alive).toBe(false);
    expect((await chat.mail('end')).map((message) => message.state)).toEqual(['dead', 'dead']);
    await refused(chat.orch.spawnSubtask({ prompt: 'more' }), 'unauthorized');
    await refused(
      world.person.attach(chat.id, async () => undefined),
      'wrong_state',
    );
  });

  test('[MBX6] also of children that had not begun: what they report is on record, not waiting for nobody', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    const chat = await world.chat();
    for (const name of ['begun', 'not begun']) await chat.spawns(name);
    expect(world.working).toEqual(['begun']);
    await chat.orch.endSession(chat.id);
    await quiet();
    expect((await chat.mail('end')).map((message) => message.state)).toEqual(['dead', 'dead']);
    expect(await world.store.sessionsWithMail(10)).toEqual([]);
  });

  test('[MBX6] by setting, the children of a parent that ends are handed to its own parent and report there', async () => {
    await using world = await start({ settings: { orphans: 'hand_up', depth: { orchestrator: 3 } } });
    await world.plan({ top: [] });
    const top = world.worker('top');
    await top.spawns('mid');
    await world.worker('mid').spawns('low');
    await world.worker('mid').fails('auth', 'no key');
    expect(await world.states('mid', 'low')).toEqual(['failed', 'running']);
    expect((await world.task('low')).task.owner).toBe(top.spec.session);
    await world.worker('low').reports('for the grandparent');
    await top.ends();
    expect(top.last.text).toContain('for the grandparent');
    expect(await top.reports()).toEqual({ accepted: true });
  });

  test('[MBX6] a parent whose children were handed up and that is tried again waits for nobody', async () => {
    await using world = await start({ settings: { orphans: 'hand_up', depth: { orchestrator: 3 } } });
    await world.plan({ top: [] });
    await world.worker('top').spawns('mid');
    await world.worker('mid').spawns('low');
    const { task } = world.worker('mid');
    await world.worker('mid').fails('auth', 'no key');
    await world.worker('top').orch.retryTask(task);
    await quiet();
    const mid = world.worker('mid');
    await mid.ends('done, I think');
    expect(await world.state('mid')).toBe('running');
    expect(await world.mail(mid.spec.session, 'inquiry')).toHaveLength(1);
    expect(await mid.reports()).toEqual({ accepted: true });
    await world.worker('top').ends();
    await world.worker('low').reports();
    expect(await world.worker('top').reports()).toMatchObject({ accepted: false, code: 'unread_ends' });
    expect(await world.worker('top').reports()).toEqual({ accepted: true });
  });

  test('[MBX6] a worker’s session ends with its task and by nothing else', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const { orch, spec } = world.worker('a');
    await refused(orch.endSession(spec.session), 'not_allowed');
    await refused(world.person.endSession(spec.session), 'not_allowed');
    expect(await world.worker('a').reports()).toEqual({ accepted: true });
  });
});

test('[MBX3] whoever sent a message, whoever gets it and a person can see where it is; nobody else can', async () => {
  await using world = await start();
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  await parent.spawns('child');
  await parent.spawns('other');
  const id = await parent.orch.sendMessage({
    to: world.worker('child').spec.session,
    message: 'mind the gap',
  });
  await quiet();
  expect(await parent.orch.getMessage(id)).toMatchObject({ state: 'queued', text: 'mind the gap' });
  await world.worker('child').ends();
  expect(await world.person.getMessage(id)).toMatchObject({ state: 'delivered' });
  expect(await world.worker('child').orch.getMessage(id)).toMatchObject({ id });
  await refused(world.worker('other').orch.getMessage(id), 'not_allowed');
  await refused(world.person.getMessage('msg_none'), 'not_found');
});
