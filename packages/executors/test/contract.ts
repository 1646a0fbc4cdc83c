import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelStep } from '@reveille/model-server';
import { describe, expect, test } from 'vitest';
import { Stand, until, type Backend } from './stand.ts';

const report = (output: string, status = 'success'): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status, output },
});
const spawn = (prompt: string, also: Record<string, unknown> = {}): ModelStep => ({
  call: 'a2a_spawn_subtask',
  input: { prompt, ...also },
});

/** What every backend must do, through the engine, as its agents' parents and people see it. */
export function executorContract(backend: Backend, title = backend.name): void {
  describe(`the contract on ${title}`, () => {
    working(backend);
    mail(backend);
    lifecycle(backend);
    faults(backend);
    streams(backend);
  });
}

function working(backend: Backend): void {
  test('[EXE6.1] it is given its task, speaks, reports, and its parent is told once', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [{ say: 'I begin.', ...report('all done') }] });
    expect(await stand.ended(task)).toMatchObject({ status: 'success', output: 'all done', cause: 'report' });
    await until(() => chat.mail.length > 0);
    expect(chat.mail.filter((text) => text.includes('all done'))).toHaveLength(1);
    expect(stand.eventsOf(task)).toContainEqual({ type: 'output', text: 'I begin.' });
  });

  test('[EXE6.2] it uses the catalogue, and sees what came of it', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        { call: 'create_file', input: { path: 'a.txt', content: 'hello\n' } },
        { call: 'read_file', input: { path: 'a.txt' }, until: 'hello', repeat: 3 },
        report('read it'),
      ],
    });
    expect((await stand.ended(task)).output).toBe('read it');
    expect(readFileSync(join(stand.files, 'a.txt'), 'utf8')).toBe('hello\n');
  });

  test('[EXE6.3] what it used is told per call, each under its own name, and recorded', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const usage = { input: 100, output: 20 };
    const task = await chat.spawn({ steps: [{ say: 'Hm.', usage }], onMail: [{ steps: [report('done')] }] });
    await stand.ended(task);
    const told = stand.eventsOf(task).filter((event) => event.type === 'usage');
    // An amount that is named in the middle of a turn is replaced by what its end says.
    expect(told.find(({ kind }) => kind !== 'interim')).toMatchObject({ tokens: 120 });
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
    expect(told.every(({ usd }) => stand.backend.executor.capabilities!.cost || !usd)).toBe(true);
    const { run } = await stand.view(task);
    expect(run?.used.tokens).toBeGreaterThanOrEqual(120);
  });
}

function mail(backend: Backend): void {
  test('[EXE6.4] idle, it is woken by the end of its child, with its answer', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const child = stand.backend.prompt({ steps: [{ hold: 'child', ...report('the child says 42') }] });
    const task = await chat.spawn({
      steps: [spawn(child, { blocking: false }), { say: 'I wait.' }],
      onMail: [{ when: 'the child says 42', steps: [report('heard it')] }],
    });
    await until(async () => (await stand.view(task)).task.state === 'waiting');
    stand.backend.release('child');
    expect((await stand.ended(task)).output).toBe('heard it');
    expect((await stand.view(task)).run?.turns).toBe(2);
  });

  test('[EXE6.5] busy, it gets the end of its child in the middle of its turn, or right after it', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const { steer } = stand.backend.executor.capabilities!;
    const child = stand.backend.prompt({ steps: [{ hold: 'child', ...report('the child says 42') }] });
    const task = await chat.spawn({
      steps: [
        spawn(child, { blocking: false }),
        {
          call: 'list_directory',
          input: { path: '.' },
          until: 'the child says 42',
          repeat: steer ? 2_000 : 3,
        },
        // Whoever cannot take mail in time in the middle of a turn gets it after.
        { say: 'I rest.', until: 'the child says 42' },
        report('heard it at work'),
      ],
    });
    await until(() => stand.backend.held('child') === 1);
    stand.backend.release('child');
    expect((await stand.ended(task)).output).toBe('heard it at work');
    const rested = stand.eventsOf(task).some((event) => event.type === 'output' && event.text === 'I rest.');
    expect((await stand.view(task)).run?.turns).toBe(rested ? 2 : 1);
  });

  test('[EXE6.6] it waits in a call for its child and is answered there', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const child = stand.backend.prompt({ steps: [report('the child says 42')] });
    const task = await chat.spawn({
      steps: [spawn(child, { blocking: true }), { say: 'odd', until: 'the child says 42' }, report('got it')],
    });
    expect((await stand.ended(task)).output).toBe('got it');
    expect((await stand.view(task)).run?.turns).toBe(1);
  });

  test('[EXE6.7] it ends its turn without a report, is asked, and answers', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [{ say: 'I think that is it.' }],
      onMail: [{ when: 'appear to be idle', steps: [report('it is')] }],
    });
    expect((await stand.ended(task)).output).toBe('it is');
    expect(stand.livesOf(task)).toHaveLength(1);
  });
}

function lifecycle(backend: Backend): void {
  test('[EXE6.8] an interrupt ends its turn and keeps it; the next message goes on', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [{ hold: 'gate', say: 'never' }, report('as you wish')] });
    await until(() => stand.backend.held('gate') === 1);
    await stand.person.interruptWorker(task);
    await until(() => stand.eventsOf(task).some((event) => event.type === 'turn_ended'));
    const end = stand.eventsOf(task).find((event) => event.type === 'turn_ended');
    expect(end).toMatchObject({ turn: 1, interrupted: true });
    expect(stand.eventsOf(task).map(({ type }) => type)).not.toContain('exited');
    stand.backend.release('gate');
    await stand.person.sendMessage({ to: task, message: 'Go on.' });
    await until(async () => (await stand.view(task)).end !== null || (await stand.view(task)).run!.turns > 1);
    expect(stand.livesOf(task)).toHaveLength(1);
  });

  test('[EXE6.9] paused it does nothing, resumed it goes on', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [{ hold: 'gate', call: 'create_file', input: { path: 'b.txt', content: 'b' } }, report('done')],
    });
    await until(() => stand.backend.held('gate') === 1);
    await stand.person.pauseWorker(task);
    await until(async () => (await stand.view(task)).worker === 'paused');
    await until(() => stand.backend.held('gate') === 0);
    stand.backend.release('gate');
    expect(existsSync(join(stand.files, 'b.txt'))).toBe(false);
    await stand.person.resumeWorker(task);
    expect((await stand.ended(task)).output).toBe('done');
    expect(existsSync(join(stand.files, 'b.txt'))).toBe(true);
  });

  test('[EXE6.10] killed in the middle of a turn, it goes on where it was and knows what it was given', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        { call: 'create_file', input: { path: 'once.txt', content: '1' } },
        { hold: 'gate', call: 'create_file', input: { path: 'twice.txt', content: '2' } },
        report('went on'),
      ],
    });
    await until(() => stand.backend.held('gate') === 1);
    const { run } = await stand.view(task);
    const [first] = stand.livesOf(task);
    const begun = first!.events.filter(({ type }) => type === 'started');
    expect(begun.at(-1)).toMatchObject({ resume: expect.any(String) });
    await stand.kill();
    stand.backend.release('gate');
    expect((await stand.ended(task)).output).toBe('went on');
    const [, second] = stand.livesOf(task);
    expect(second?.spec).toMatchObject({ run: run?.id, epoch: 2, resume: expect.any(String) });
    expect(stand.written).toEqual(['once.txt', 'twice.txt']);
    const seen = await resumed(stand, second!.spec.resume!, [run!.id, 'msg_never']);
    expect(seen[run!.id]).toBe('yes');
    expect(backend.doubts ? ['no', 'unknown'] : ['no']).toContain(seen['msg_never']);
  });

  test('[EXE6.11] a stop leaves nothing of it: its last word is that it is gone', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [{ hold: 'gate', say: 'never' }] });
    await until(() => stand.backend.held('gate') === 1);
    await stand.person.cancelTask(task, 'enough');
    expect(await stand.ended(task)).toMatchObject({ status: 'cancelled' });
    await until(() => stand.eventsOf(task).at(-1)?.type === 'exited');
    await until(() => stand.backend.held('gate') === 0);
    const [life] = stand.livesOf(task);
    const heard = life!.events.length;
    await life!.agent.stop('again');
    expect(await life!.agent.steer({ turn: 1, given: [], text: 'late' })).toBe('refused');
    stand.backend.release('gate');
    expect(life!.events).toHaveLength(heard);
  });
}

/** Asks the history of a session, as an agent does that is started on it again. */
async function resumed(stand: Stand, resume: string, ids: string[]): Promise<Record<string, string>> {
  const { spec } = stand.lives.at(-1)!;
  const agent = stand.backend.executor.start({ ...spec, epoch: 99, resume, report: () => undefined });
  const seen = await agent.seen(ids);
  await agent.stop('asked');
  return Object.fromEntries(seen);
}

function faults(backend: Backend): void {
  test.for(['auth', 'refusal'] as const)(
    '[EXE6.12] what does not pass ends it, by class: %s',
    async (fail) => {
      await using stand = await Stand.open(backend);
      const chat = await stand.chat();
      const task = await chat.spawn({ steps: [{ fail }] });
      expect(await stand.ended(task)).toMatchObject({ status: 'failed', error: { class: fail } });
      await until(() => chat.mail.some((text) => text.includes('ended: failed')));
      expect(stand.eventsOf(task).map(({ type }) => type)).toContain('failed');
      await until(() => stand.eventsOf(task).at(-1)?.type === 'exited');
    },
  );

  test('[EXE6.14] a login that is refused in the middle costs nothing: tried again, it goes on where it was', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        // Its words are the sign that it has its task: a scripted agent makes files without one.
        { say: 'I begin.', call: 'create_file', input: { path: 'once.txt', content: '1' } },
        { fail: 'auth', until: 'your login was refused' },
        { call: 'create_file', input: { path: 'twice.txt', content: '2' } },
        report('went on'),
      ],
    });
    expect(await stand.ended(task)).toMatchObject({ status: 'failed', error: { class: 'auth' } });
    const item = (await stand.person.inbox()).find((request) => request.task === task);
    await stand.person.answer({ request: item!.id, answer: 'retry' });
    await until(async () => (await stand.view(task)).task.state === 'completed');
    const { end, run } = await stand.view(task);
    expect([end?.output, run?.attempt]).toEqual(['went on', 2]);
    expect(stand.livesOf(task).at(-1)?.spec.resume).toEqual(expect.any(String));
    expect(stand.written).toEqual(['once.txt', 'twice.txt']);
  });
}

function streams(backend: Backend): void {
  if (backend.speaksWhole) return;
  test('[HLT1.21] a long answer gives signs of life before it is whole', async () => {
    await using stand = await Stand.open(backend);
    const chat = await stand.chat();
    const say = 'A long answer that comes word by word. '.repeat(20);
    const task = await chat.spawn({
      steps: [{ say, chunkMs: 20 }],
      onMail: [{ steps: [report('done')] }],
    });
    await stand.ended(task);
    const events = stand.eventsOf(task);
    const whole = events.findIndex((event) => event.type === 'output' && event.text.trim() === say.trim());
    const before = events.slice(0, whole).filter(({ type }) => type === 'sign' || type === 'output');
    expect(before.length).toBeGreaterThan(1);
  });
}
