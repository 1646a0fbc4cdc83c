import { appendFileSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelStep } from '@reveille/model-server';
import { describe, expect, test } from 'vitest';
import { forgetSessions } from '../src/builtin/index.ts';
import { look, open, report, sessions } from './builtin-rig.ts';
import { type Stand, until } from './stand.ts';

describe('memory', () => {
  const child = (stand: Stand): ModelStep => ({
    call: 'a2a_spawn_subtask',
    input: { prompt: stand.backend.prompt({ steps: [report('the child says 42')] }), blocking: false },
  });

  test.for([
    { why: 'the model says so', step: { fail: 'context_too_long', times: 1 } as ModelStep },
    { why: 'the tokens say so', step: { ...look, usage: { input: 1_990_000 } } as ModelStep },
  ])('[EXE1.67] too long, it forgets neither task nor mail nor children: $why', async ({ step }) => {
    const { stand, server } = await open({ endpoint: { contextTokens: 2_000_000 } });
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        child(stand),
        { ...look, until: 'the child says 42', repeat: 2_000 },
        { say: 'I rest.', until: 'the child says 42' },
        step,
        report('still here'),
      ],
    });
    expect((await stand.ended(task)).output).toBe('still here');
    const mine = server().requests.filter(({ messages }) => messages[0]?.text.includes(task));
    const last = mine.at(-1)!.messages.map(({ text }) => text);
    expect(last[0]).toContain('reveille-model');
    expect(last[1]).toContain('was shortened');
    expect(last[1]).toContain('A scripted conversation');
    expect(last[1]).toMatch(/Your subtasks:\n- task_\w+ .*completed/);
    expect(last.join('\n')).toMatch(/<reveille-data msg_\w+>\nthe child says 42/);
    expect(server().requests.some(({ tools }) => tools.length === 0)).toBe(true);
  });

  test('[EXE1.67] without a summary it is told what it had called; too long all the same, it fails', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      toolless: true,
      steps: [{ ...look, repeat: 3 }, { fail: 'context_too_long', times: 3 }, report('never')],
    });
    expect(await stand.ended(task)).toMatchObject({ status: 'failed', error: { class: 'invalid' } });
    const words = server()
      .requests.at(-1)!
      .messages.map(({ text }) => text);
    expect(words[1]).toContain('- list_directory');
  });

  test('[EXE1.68] what was being written when it was killed never happened; the rest it knows', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [look, { hold: 'gate', say: 'never' }, report('went on')] });
    await until(() => server().held('gate') === 1);
    const [file] = sessions(stand);
    await stand.kill(() => appendFileSync(file!, '{"kind":"answer","message":{"role":"assist'));
    server().release('gate');
    expect((await stand.ended(task)).output).toBe('went on');
    const lines = readFileSync(file!, 'utf8').trimEnd().split('\n');
    expect(() => lines.map((line) => JSON.parse(line) as unknown)).not.toThrow();
  });

  test('[EXE1.68] mail that woke it, or came in the middle of its turn, it has once after it was killed', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const held = (name: string): ModelStep => ({
      call: 'a2a_spawn_subtask',
      input: {
        prompt: stand.backend.prompt({ steps: [{ hold: name, ...report(`${name} says so`) }] }),
        blocking: false,
      },
    });
    const task = await chat.spawn({
      steps: [held('first'), held('second'), { say: 'I wait.' }],
      onMail: [{ when: 'first says so', steps: [{ hold: 'gate', ...look }, report('both')] }],
    });
    await until(async () => (await stand.view(task)).task.state === 'waiting');
    server().release('first');
    await until(() => server().held('gate') === 1);
    server().release('second');
    const mine = stand.livesOf(task)[0]!.spec.run;
    const session = sessions(stand).find((file) => file.includes(mine))!;
    await until(() => readFileSync(session, 'utf8').includes('"kind":"steered"'));
    await stand.kill();
    server().release('gate');
    expect((await stand.ended(task)).output).toBe('both');
    const last = server().requests.findLast(({ messages }) => messages[0]?.text.includes(task))!;
    const heard = last.messages.map(({ text }) => text).join('\n');
    for (const words of ['first says so', 'second says so'])
      expect(heard.split(new RegExp(`<reveille-data msg_\\w+>\\n${words}`))).toHaveLength(2);
  });

  test('[EXE1.69] one whose session is lost cannot say what it had, and is told its task again', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [look, { hold: 'gate', say: 'never' }] });
    await until(() => server().held('gate') === 1);
    await until(async () => (await stand.view(task)).run?.assigned === true);
    const before = server().requests.length;
    await stand.kill(() => sessions(stand).forEach((file) => rmSync(file)));
    await until(() => server().requests.length > before);
    const [first] = server().requests[before]!.messages;
    expect(first?.text).toMatch(/is lost[\s\S]*Your task[\s\S]*reveille-model/);
    const [, second] = stand.livesOf(task);
    expect([...(await second!.agent.seen(['msg_x'])).values()]).toEqual(['unknown']);
    server().release('gate');
  });

  test('[EXE1.70] sessions are the user’s alone, and forgotten when nobody used them for long', async () => {
    const { stand } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    for (const n of [1, 2]) await stand.ended(await chat.spawn({ steps: [report(`${n}`)] }));
    const [old, young] = sessions(stand);
    expect(statSync(old!).mode & 0o077).toBe(0);
    utimesSync(old!, 1, 1);
    await forgetSessions(join(stand.folder, 'sessions'), 1_000_000_000);
    expect(sessions(stand)).toEqual([young]);
  });
});
