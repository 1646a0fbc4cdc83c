import { ReveilleError, type Task } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { CallPatterns } from '../src/call-patterns.ts';
import { DEFAULTS } from '../src/settings.ts';
import { quiet, start } from './world.ts';

describe('silence', () => {
  test('[HLT1] a worker that ends its turn without a report and with nothing open is asked at once', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.ends('I think that is it');
    expect(a.turns).toHaveLength(2);
    expect(a.last.text).toMatch(/idle[\s\S]*done[\s\S]*blocked[\s\S]*failed[\s\S]*still at work/);
    expect(await world.mail(a.spec.session, 'inquiry')).toHaveLength(1);
  });

  test('[HLT1] one that waits for a child, an answer or an approval, or is paused, is not asked', async () => {
    await using world = await start();
    await world.plan({ child: [], answer: [], approval: [], paused: [] });
    await world.worker('child').spawns('other');
    await world.worker('answer').asks('which?');
    await world.worker('approval').asks('may I?', 'approval_request');
    await world.person.pauseWorker(world.worker('paused').task);
    for (const name of ['child', 'answer', 'approval']) await world.worker(name).ends();
    // Before the first report about its progress wakes the parent.
    await world.advance(290_000);
    for (const name of ['child', 'answer', 'approval', 'paused']) {
      expect(await world.mail(world.worker(name).spec.session, 'inquiry'), name).toEqual([]);
      expect(await world.state(name)).toBe('waiting');
    }
  });

  test('[HLT1] one that is inactive otherwise is asked after 30 s and a grace of 5 s', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('working');
    await world.person.interruptWorker(a.task);
    await quiet();
    await world.advance(34_000);
    expect(await world.mail(a.spec.session, 'inquiry')).toEqual([]);
    await world.advance(1_000);
    expect(await world.mail(a.spec.session, 'inquiry')).toHaveLength(1);
  });

  test('[HLT1] its answer goes to its owner', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    await parent.ends();
    await world.worker('child').ends('done?');
    await world.worker('child').ends('I am blocked: no network');
    expect(parent.last.text).toContain('I am blocked: no network');
    expect(await world.mail(parent.spec.session, 'idle_response')).toHaveLength(1);
    expect(await world.state('child')).toBe('running');
  });

  test('[HLT1] two answers without a report or any work: the last is settled as partial', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    const child = world.worker('child');
    await child.ends('hm');
    await child.ends('I have nothing to add');
    await world.advance(35_000);
    expect(child.turns).toHaveLength(3);
    await child.ends('really, that is all');
    expect(await world.task('child')).toMatchObject({
      task: { state: 'completed' },
      end: { status: 'partial', cause: 'last_message', output: 'really, that is all' },
    });
  });

  test('[HLT1] an answer with work in it begins the count anew', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    const child = world.worker('child');
    await child.ends('hm');
    for (let round = 0; round < 4; round++) {
      await child.calls('edit', { digest: `${round}`, news: true });
      await child.ends(`still at it ${round}`);
      await world.advance(35_000);
    }
    expect(await world.state('child')).toBe('running');
  });

  test('[HLT1] so does work that something else brought about', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const task = await world.worker('parent').spawns('child');
    const child = world.worker('child');
    await child.ends('hm');
    await child.ends('I have nothing to add');
    await world.worker('parent').orch.sendMessage({ to: child.spec.session, message: 'Look at the tests.' });
    await quiet();
    await child.calls('edit', { news: true });
    await child.ends('I looked');
    await child.ends('that is what I saw');
    expect((await world.person.getTask(task)).task.state).toBe('running');
    await world.advance(35_000);
    await child.ends('really, that is all');
    expect((await world.person.getTask(task)).end).toMatchObject({ cause: 'last_message' });
  });

  test('[HLT1] an agent’s child that gives no sign for 60 s is failed, with its last words, and its parent told', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    await parent.ends();
    await world.worker('child').ends('famous last words');
    await world.advance(59_000);
    expect(await world.state('child')).toBe('running');
    await world.advance(2_000);
    expect(await world.task('child')).toMatchObject({
      task: { state: 'failed' },
      end: { cause: 'unresponsive', output: 'famous last words', error: { class: 'unresponsive' } },
    });
    expect(world.worker('child').alive).toBe(false);
    expect(parent.last.text).toContain('famous last words');
  });

  test('[HLT1] one that a disk kept from being given up is given up when the disk answers', async () => {
    const disk = { fails: false };
    const sync = async (): Promise<void> => {
      if (disk.fails) throw new ReveilleError('store_full', 'no disk');
    };
    await using world = await start({ sync });
    await world.plan({ parent: [] });
    const task = await world.worker('parent').spawns('child');
    await world.worker('child').ends('hm');
    disk.fails = true;
    await world.advance(61_000);
    expect((await world.person.getTask(task)).task.state).toBe('running');
    disk.fails = false;
    await world.advance(10_000);
    expect(await world.person.getTask(task)).toMatchObject({
      task: { state: 'failed' },
      end: { cause: 'unresponsive' },
    });
  });

  test('[HLT1] a call or a token within that time is a sign of life', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    for (const name of ['by call', 'by token', 'by tool']) {
      await world.worker('parent').spawns(name);
      await world.worker(name).ends('silent');
    }
    await world.advance(50_000);
    await world.worker('by call').orch.checkUpdates();
    await world.worker('by token').says('mm');
    await world.worker('by tool').calls('read');
    await world.advance(200_000);
    expect(await world.states('by call', 'by token', 'by tool')).toEqual(['running', 'running', 'running']);
  });

  test('[HLT1] a task whose owner is a person or a plan stays, and goes to the inbox once, with the choices', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const chat = await world.chat();
    await chat.spawns('of chat');
    for (const name of ['a', 'of chat']) await world.worker(name).ends();
    await world.advance(300_000);
    expect(await world.states('a', 'of chat')).toEqual(['running', 'running']);
    const inbox = await world.person.inbox();
    expect(inbox.map((request) => [request.kind, request.options.join(', ')])).toEqual([
      ['idle', 'keep waiting, remind, mark complete, cancel'],
      ['idle', 'keep waiting, remind, mark complete, cancel'],
    ]);
  });

  test('[HLT1] a plan’s task stays even if an agent owns the plan', async () => {
    await using world = await start();
    const orchestrator = await world.chat('orchestrator');
    await orchestrator.orch.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: 'x' }] }, { start: true });
    await orchestrator.spawns('child');
    for (const name of ['a', 'child']) await world.worker(name).ends();
    await world.advance(62_000);
    expect(await world.states('a', 'child')).toEqual(['running', 'failed']);
    expect((await world.person.inbox()).map((request) => request.kind)).toEqual(['idle']);
  });

  test('[HLT1] the choices do what they say', async () => {
    await using world = await start();
    await world.plan({ wait: [], ask: [], done: [], stop: [] });
    for (const name of ['wait', 'ask', 'done', 'stop']) {
      await world.worker(name).says(`words of ${name}`);
      await world.worker(name).ends(`words of ${name}`);
    }
    await world.advance(61_000);
    const answer = async (name: string, text: string) => {
      const request = (await world.person.inbox()).find((item) => item.task === world.worker(name).task);
      await world.person.answer({ request: request!.id, answer: text });
      await quiet();
    };
    await answer('wait', 'keep waiting');
    await answer('ask', 'remind');
    await answer('done', 'mark complete');
    await answer('stop', 'cancel');
    expect(await world.states('wait', 'done', 'stop')).toEqual(['running', 'completed', 'cancelled']);
    const inquiries = async (name: string) =>
      (await world.mail(world.worker(name).spec.session, 'inquiry')).length;
    expect([await inquiries('wait'), await inquiries('ask')]).toEqual([1, 2]);
    expect((await world.task('done')).end?.output).toBe('words of done');
    await world.advance(30_000);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[HLT1] one inquiry per silence, also over a crash', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').says('working');
    await world.worker('a').ends('resting');
    world.crash();
    await world.restart();
    await world.advance(20_000);
    expect(await world.mail(world.worker('a').spec.session, 'inquiry')).toHaveLength(1);
    await world.worker('a').ends('answer');
    expect(await world.ownersMail('a', 'idle_response')).toHaveLength(1);
  });

  test('[HLT1] who reported while being asked is not asked', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const report = a.orch.reportCompletion({ status: 'success', output: 'done' });
    await a.ends('done');
    expect(await report).toEqual({ accepted: true });
    expect(await world.mail(a.spec.session, 'inquiry')).toEqual([]);
  });

  test('[HLT1][HLT2] one that was asked once and went on is asked anew at its next silence, and may think as long as it likes', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('mid');
    const mid = world.worker('mid');
    await mid.ends('hm');
    const request = await mid.asks('what about the tests?');
    await mid.ends('waiting for an answer');
    await parent.orch.answer({ request, answer: 'leave them' });
    await quiet();
    expect(mid.last.text).toContain('leave them');
    await world.advance(120_000);
    expect(await world.state('mid')).toBe('running');
    await mid.ends('well');
    expect(mid.last.text).toContain('You appear to be idle');
  });
});

describe('silence inside a turn', () => {
  test('[HLT1.1] what the program around the model says by itself is no sign of life: a child that was asked fails', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    const child = world.worker('child');
    await child.ends('famous last words');
    child.hears({ type: 'started', identity: 'again', resume: 'the same session' });
    child.hears({ type: 'turn_started', turn: 2 });
    await child.uses('1', 100);
    await world.advance(61_000);
    expect(await world.task('child')).toMatchObject({
      end: { cause: 'unresponsive', output: 'famous last words' },
    });
    expect(await world.mail(parent.spec.session, 'end')).toHaveLength(1);
  });

  test('[HLT2.1] without a sign for 5 min a task of a person or plan is in the inbox, once, until a sign comes', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const chat = await world.chat();
    await chat.spawns('of chat');
    await world.worker('a').says('I read the tests');
    await world.advance(302_000);
    const inbox = await world.person.inbox();
    expect(inbox.map(({ kind, options }) => [kind, options])).toEqual([
      ['idle', ['keep waiting', 'remind', 'mark complete', 'cancel']],
      ['idle', ['keep waiting', 'remind', 'mark complete', 'cancel']],
    ]);
    const ofA = inbox.find(({ task }) => task === world.worker('a').task);
    expect(ofA?.text).toBe('no sign of life for 300 s; last words: I read the tests');
    await world.advance(600_000);
    expect(await world.person.inbox()).toHaveLength(2);
    world.worker('a').hears({ type: 'sign' });
    await quiet();
    expect((await world.person.inbox()).map(({ task }) => task)).toEqual([world.worker('of chat').task]);
    expect(await world.events('request.closed')).toHaveLength(1);
    await world.advance(302_000);
    expect(await world.person.inbox()).toHaveLength(2);
  });

  test('[HLT2.1] the choices do what they say while the turn is still open', async () => {
    await using world = await start();
    await world.plan({ wait: [], stop: [] });
    await world.worker('wait').says('words');
    await world.advance(302_000);
    for (const [name, answer] of [
      ['wait', 'keep waiting'],
      ['stop', 'cancel'],
    ] as const) {
      const asked = (await world.person.inbox()).find(({ task }) => task === world.worker(name).task);
      await world.person.answer({ request: asked!.id, answer });
      await quiet();
    }
    expect(await world.states('wait', 'stop')).toEqual(['running', 'cancelled']);
    await world.advance(300_000);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[HLT2.1] a silent child of an agent is told to its parent and shown, and is in no inbox', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    await world.advance(100_000);
    await world.worker('parent').says('still here');
    await world.advance(202_000);
    expect(await world.mail(world.worker('parent').spec.session, 'health')).toHaveLength(1);
    expect((await world.task('child')).health).toMatchObject({ what: 'stuck' });
    expect(await world.person.inbox()).toEqual([]);
  });
});

describe('what is shown', () => {
  test('[HLT2.2] a silent worker is shown as such, with its last sign of life and last words, until it gives a sign', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('I run the tests');
    const said = world.clock.now();
    a.hears({ type: 'tool_call', id: '1', name: 'bash', digest: '' });
    await world.advance(302_000);
    const { health } = await world.task('a');
    expect(health).toMatchObject({ what: 'stuck', text: 'in a call of bash', lastWords: 'I run the tests' });
    expect(Math.abs(health!.lastSign - said)).toBeLessThan(2_000);
    await a.says('they pass');
    expect((await world.task('a')).health).toBeUndefined();
    expect(await world.events('health.recovered')).toHaveLength(1);
  });

  test('[HLT2.2] one that was asked and gives no sign is shown as silent', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').ends('that is it');
    expect((await world.task('a')).health).toBeUndefined();
    await world.advance(61_000);
    expect((await world.task('a')).health).toMatchObject({ what: 'silent', lastWords: 'that is it' });
    await world.worker('a').ends('sorry');
    expect((await world.task('a')).health).toBeUndefined();
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[HLT2.1] one whose silence is noticed in two ways is in the inbox once', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').ends('that is it');
    await world.advance(302_000);
    const [asked] = await world.person.inbox();
    expect(asked?.text).toContain('asked why it was silent');
    await world.advance(900_000);
    expect((await world.person.inbox()).map(({ id }) => id)).toEqual([asked?.id]);
  });

  test('[HLT2.1] the time that it waits in a call of ours is no silence, also when the call is over', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const waiting = world.worker('a').orch.spawnSubtask({ prompt: 'child' }, { patienceMs: 3_600_000 });
    await quiet();
    for (let minute = 0; minute < 20; minute++) {
      await world.advance(60_000);
      await world.worker('child').says('still at it');
    }
    await world.worker('child').reports('done');
    await waiting;
    await world.advance(60_000);
    expect(await world.events('health.stuck')).toEqual([]);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[HLT2] a pattern that goes on is told once, and again when it begins anew', () => {
    const limits = { ...DEFAULTS.health, sameCalls: 5, errorStreak: 5, fruitlessCalls: 1_000 };
    const kinds = {
      looping: { name: 'read', digest: () => 'same', failed: false },
      errors: { name: 'run', digest: (n: number) => `${n}`, failed: true },
    };
    for (const [what, { name, digest, failed }] of Object.entries(kinds)) {
      const patterns = new CallPatterns();
      let calls = 0;
      const call = (over: { failed?: boolean; digest?: string } = {}) => {
        const id = `${++calls}`;
        patterns.begins(id, { name, digest: digest(calls) });
        return patterns.ends(id, { failed, news: true, ...over }, limits);
      };
      const said = (times: number) => Array.from({ length: times }, () => call()).flat();
      expect(said(4), what).toEqual([]);
      expect(said(8).map((one) => one.what)).toEqual([what]);
      call({ failed: false, digest: 'another' });
      expect(said(4)).toEqual([]);
      expect(said(8).map((one) => one.what)).toEqual([what]);
    }
  });

  test('[HLT2] the same subtask again after each end is told once, at the third time', () => {
    const limits = { ...DEFAULTS.health, sameCalls: 1_000, errorStreak: 1_000, fruitlessCalls: 1_000 };
    const patterns = new CallPatterns();
    const told = Array.from({ length: 8 }, (_, n) => {
      const found = ['same', `other ${n}`].map((digest) => {
        patterns.begins(`${n} ${digest}`, { name: 'a2a_spawn_subtask', digest });
        return patterns.ends(`${n} ${digest}`, { failed: false, news: true }, limits);
      });
      return found.flat().map(({ what }) => what);
    });
    expect(told).toEqual([[], [], ['looping'], [], [], [], [], []]);
  });

  test('[HLT2.2] a loop is shown until another call is made, and errors until one goes well', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    const [a, b] = [world.worker('a'), world.worker('b')];
    for (let i = 0; i < 6; i++) await a.calls('read', { digest: 'x', news: true });
    for (let i = 0; i < 6; i++) await b.calls('run', { digest: `${i}`, failed: true, news: true });
    expect((await world.task('a')).health).toMatchObject({ what: 'looping' });
    expect((await world.task('b')).health).toMatchObject({ what: 'errors', text: '5 errors in a row' });
    await a.calls('read', { digest: 'y', news: true });
    await b.calls('run', { digest: 'ok', news: true });
    for (const name of ['a', 'b']) expect((await world.task(name)).health).toBeUndefined();
    expect(await world.events('health.looping')).toHaveLength(1);
    expect(await world.events('health.errors')).toHaveLength(1);
  });

  test('[HLT2.2] a crash ends what was shown of the turn that died with it', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').says('hm');
    await world.advance(302_000);
    expect((await world.task('a')).health).toMatchObject({ what: 'stuck' });
    world.crash();
    await world.restart();
    expect((await world.task('a')).health).toBeUndefined();
    expect(await world.person.inbox()).toEqual([]);
  });
});

describe('executing', () => {
  test('[HLT2.1] a silence that is over before the disk answers is told, and asks nobody', async () => {
    let disk = Promise.resolve();
    await using world = await start({ sync: () => disk });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('hm');
    const { promise, resolve } = Promise.withResolvers<void>();
    disk = promise;
    const opened = world.person.openSession('chat', 'c');
    await world.advance(301_000);
    await a.says('still there');
    resolve();
    await opened;
    await quiet();
    expect(await world.events('health.stuck')).toHaveLength(1);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[HLT2.1] a worker that is stuck twice while the disk hangs is one item in the inbox', async () => {
    let disk = Promise.resolve();
    await using world = await start({ sync: () => disk });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('hm');
    const { promise, resolve } = Promise.withResolvers<void>();
    disk = promise;
    const opened = world.person.openSession('chat', 'c');
    await world.advance(301_000);
    await a.says('still there');
    await world.advance(301_000);
    resolve();
    await opened;
    await quiet();
    expect(await world.events('health.stuck')).toHaveLength(2);
    expect(await world.person.inbox()).toMatchObject([{ kind: 'idle' }]);
  });

  test('[HLT2] a worker that thinks is not idle; without a sign for 5 min it is called stuck, once, and goes on', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    await world.advance(299_000);
    expect(await world.mail(parent.spec.session, 'health')).toEqual([]);
    await world.advance(2_000);
    const [stuck] = await world.mail(parent.spec.session, 'health');
    expect(stuck?.text).toContain('no sign of life for 300 s');
    await world.advance(600_000);
    expect(await world.mail(parent.spec.session, 'health')).toHaveLength(1);
    expect(await world.events('health.stuck')).toHaveLength(2);
    expect(await world.state('child')).toBe('running');
    await world.worker('child').says('eureka');
    await world.advance(301_000);
    expect(await world.mail(parent.spec.session, 'health')).toHaveLength(2);
  });

  test('[HLT2] pieces of a stream and thoughts are signs of life', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const { report } = world.worker('a').spec;
    for (const event of [{ type: 'sign' }, { type: 'thought', text: 'hm' }] as const) {
      await world.advance(200_000);
      report(event);
    }
    await world.advance(200_000);
    expect(await world.mail(plan.owner, 'health')).toEqual([]);
  });

  test('[HLT2] a worker that waits in a call is not stuck', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    const child = await parent.spawns('child');
    const call = parent.orch.awaitSubtasks({ taskIds: [child], timeoutMs: 3_600_000 });
    for (let i = 0; i < 10; i++) {
      await world.advance(60_000);
      await world.worker('child').says('working');
    }
    expect(await world.events('health.stuck')).toEqual([]);
    await world.worker('child').reports();
    await call;
  });

  test('[HLT2] one that waits for permission is not stuck; once it has it, it can be', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const { report } = world.worker('a').spec;
    report({ type: 'permission_asked', id: 'p1', what: 'rm -r build' });
    await world.advance(600_000);
    expect(await world.mail(plan.owner, 'health')).toEqual([]);
    report({ type: 'permission_settled', id: 'p1', granted: true });
    await world.advance(600_000);
    expect(await world.mail(plan.owner, 'health')).toHaveLength(1);
  });

  test('[HLT2] looping: the same call with the same arguments five times', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const a = world.worker('a');
    for (let i = 0; i < 4; i++) await a.calls('read', { digest: 'x' });
    await a.calls('read', { digest: 'y' });
    for (let i = 0; i < 4; i++) await a.calls('read', { digest: 'x' });
    expect(await world.events('health.looping')).toEqual([]);
    await a.calls('read', { digest: 'x' });
    expect(await world.events('health.looping')).toHaveLength(1);
    expect((await world.mail(plan.owner, 'health'))[0]?.text).toContain('5 times');
  });

  test('[HLT2] looping: thirty calls without any change or new information', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [], c: [] });
    const [a, b, c] = ['a', 'b', 'c'].map((name) => world.worker(name));
    const all = [a!, b!, c!];
    for (let i = 0; i < 15; i++) for (const agent of all) await agent.calls('read', { digest: `${i}` });
    await b!.calls('read', { digest: 'news', news: true });
    c!.hears({ type: 'file_touched', path: 'x' });
    for (let i = 15; i < 29; i++) for (const agent of all) await agent.calls('read', { digest: `${i}` });
    expect(await world.events('health.looping')).toEqual([]);
    for (const agent of all) await agent.calls('read', { digest: 'one more' });
    expect((await world.events('health.looping')).map((event) => event.task)).toEqual([a!.task]);
  });

  test('[HLT2.3] quiet commands that change files are no loop, and those that change none are', async () => {
    const changes = new Map([['works', [{ path: 'n.txt', insertions: 1, deletions: 0 }]]]);
    const workspaces = {
      checkpoint: async () => 'a mark',
      changedSince: async ({ name }: Task) => changes.get(name) ?? [],
    };
    await using world = await start({ workspaces });
    await world.plan({ works: [], circles: [] });
    const agents = ['works', 'circles'].map((name) => world.worker(name));
    for (let i = 0; i < 60; i++) for (const agent of agents) await agent.calls('bash', { digest: `${i}` });
    expect((await world.events('health.looping')).map(({ task }) => task)).toEqual([agents[1]!.task]);
    expect((await world.task('circles')).health?.text).toBe(
      'made 30 calls without any change or new information',
    );
    expect((await world.task('works')).health).toBeUndefined();
  });

  test('[HLT2.4] calls whose arguments come after the call was announced are told apart', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    for (let i = 0; i < 10; i++) {
      a.hears({ type: 'tool_call', id: `${i}`, name: 'bash', digest: 'not known yet' });
      a.hears({ type: 'tool_end', id: `${i}`, failed: false, news: true, digest: `echo ${i}` });
    }
    await quiet();
    expect(await world.events('health.looping')).toEqual([]);
  });

  test('[HLT2] looping: the same spawn again after each end', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    for (let i = 0; i < 3; i++) {
      await a.calls('a2a_spawn_subtask', { digest: 'same', news: true });
      await a.calls('a2a_check_updates', { digest: `${i}`, news: true });
    }
    expect((await world.events('health.looping')).map((event) => event.data?.['text'])).toEqual([
      expect.stringContaining('same subtask'),
    ]);
  });

  test('[HLT2] five errors in a row are told; a success between them forgives', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    for (let i = 0; i < 4; i++) await a.calls('run', { digest: `${i}`, failed: true, news: true });
    await a.calls('run', { digest: 'ok', news: true });
    for (let i = 0; i < 4; i++) await a.calls('run', { digest: `x${i}`, failed: true, news: true });
    expect(await world.events('health.errors')).toEqual([]);
    await a.calls('run', { digest: 'last', failed: true, news: true });
    expect(await world.events('health.errors')).toHaveLength(1);
    expect(await world.state('a')).toBe('running');
  });

  test('[HLT3] every five minutes of executing the owner gets what was observed; the worker is not interrupted', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    const child = world.worker('child');
    await child.calls('read', { news: true });
    for (const path of ['src/a.ts', 'src/b.ts', 'src/a.ts']) child.hears({ type: 'file_touched', path });
    await child.uses('1', 1_234);
    await child.says('reading the tests');
    for (let minute = 0; minute < 11; minute++) {
      await world.advance(60_000);
      await child.says('reading the tests');
    }
    const reports = await world.mail(parent.spec.session, 'progress');
    expect(reports).toHaveLength(2);
    expect(reports[0]?.text).toMatch(
      /300 s: 1 calls, 2 files touched, 1234 tokens; last words: reading the tests/,
    );
    expect([child.interrupts, child.turns.length]).toEqual([0, 1]);
  });

  test('[HLT3] the time of many short turns adds up', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const a = world.worker('a');
    for (let turn = 0; turn < 8; turn++) {
      await world.advance(45_000);
      await a.calls('edit', { digest: `${turn}`, news: true });
      await a.ends('going on');
      await world.person.sendMessage({ to: a.task, message: 'Go on.' });
      await quiet();
    }
    expect(await world.mail(plan.owner, 'progress')).toHaveLength(1);
  });

  test('[HLT3] rest does not count', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.advance(200_000);
    await world.worker('a').ends();
    await world.advance(100_000);
    expect(await world.mail(plan.owner, 'progress')).toEqual([]);
  });
});

describe('time', () => {
  test('[HLT4] a dead process is known at once', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    await world.worker('a').dies();
    expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'backoff' });
    expect(await world.mail(plan.owner, 'error')).toHaveLength(1);
  });

  test('[HLT4] a machine that stood still for hours makes nobody unresponsive or stuck, and no request old', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    for (const name of ['asked', 'thinking', 'asking']) await parent.spawns(name);
    await world.worker('asked').ends('asked why it is silent');
    await world.worker('asking').asks('hm?');
    await world.worker('asking').ends();
    await world.advance(2_000);
    for (let night = 0; night < 3; night++) {
      await world.clock.stall(8 * 3_600_000);
      await world.advance(3_000);
    }
    expect(await world.states('parent', 'asked', 'thinking', 'asking')).toEqual([
      'running',
      'running',
      'running',
      'waiting',
    ]);
    expect((await world.events()).filter((event) => event.type.startsWith('health'))).toEqual([]);
    expect((await world.events('request.moved')).length).toBe(0);
    await world.worker('asked').reports('good morning');
    expect(await world.state('asked')).toBe('completed');
  });

  test('[HLT4] a clock that jumps makes nobody silent, stuck or late, and no request old', async () => {
    await using world = await start();
    await world.plan({ a: [], asks: [], backoff: [] });
    await world.worker('a').ends('asked');
    await world.worker('asks').asks('hm?');
    await world.worker('asks').ends();
    await world.worker('backoff').fails('rate_limit');
    for (const jump of [86_400_000, -2 * 86_400_000]) {
      world.clock.jump(jump);
      await world.advance(5_000);
    }
    expect(await world.states('a', 'asks', 'backoff')).toEqual(['running', 'waiting', 'waiting']);
    expect(await world.person.inbox()).toHaveLength(1);
    expect((await world.events()).filter((event) => event.type.startsWith('health'))).toEqual([]);
    await world.advance(30_000);
    expect(await world.state('backoff')).toBe('running');
  });
});
