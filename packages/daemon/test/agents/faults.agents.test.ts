import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { delegated } from '../delegated.ts';
import { AgentsHouse, endOf, report, scripted, until } from './house.ts';
import { VENDORS } from './vendors.ts';

describe.each(VENDORS)('$name in trouble', ({ name, shell, resumes }) => {
  test('[HLT5.2] a login that expires in the middle waits for the person; tried again, it goes on with what is there', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [
      shell('echo one >> n.txt'),
      { fail: 'auth' as const, until: 'login was refused' },
      report('after all'),
    ];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    const { id, session } = view.task;
    const refused = await endOf(client, view);
    expect(refused).toMatchObject({ status: 'failed', error: { class: 'auth' } });
    const item = (await client.inbox()).find((request) => request.task === id);
    expect(item?.text).toMatch(/log in|login|key/i);
    await client.answer({ request: item!.id, answer: 'retry' });
    await until(async () => (await client.getTask(id)).task.state === 'completed');
    const { run, end } = await client.getTask(id);
    expect(run).toMatchObject({ session, attempt: 2 });
    expect(end).toMatchObject({ output: 'after all', work: { branch: refused.work!.branch } });
    // What remembers its session does nothing twice; the other is told where its work is.
    expect(end?.work?.files).toMatchObject([{ path: 'n.txt', insertions: resumes ? 1 : 2 }]);
    if (resumes) return;
    const told = house.model.requests.flatMap(({ messages }) => messages.map(({ text }) => text));
    expect(told.some((text) => /Attempt 1 at this task[\s\S]*is in your worktree/.test(text))).toBe(true);
  });

  test('[EXE10.13] a key that is refused ends it, a model that cannot be reached is tried again: its parent is told with the fix', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const prompt = scripted({ steps: [{ fail: 'auth' }] });
    const wish = { repository: house.root, agentType: `${name}:coder`, prompt };
    const refused = await delegated(client, wish);
    await refused.heard('end');
    const { end } = await client.getTask(refused.task);
    expect(end?.error).toMatchObject({ class: 'auth', message: expect.stringMatching(/log in|login|key/i) });

    await house.model.stop();
    const alone = await delegated(client, wish);
    expect(await alone.heard('error')).toMatch(/network: [\s\S]*endpoint/);
    await client.cancelTask(alone.task);
    await alone.heard('end');
  });
});

const BAD_CLAUDE = [
  ['crashes', 'echo "left-pad is missing" >&2; exit 3', 'invalid', /left-pad[\s\S]*npm install/],
  ['is too old', 'echo "error: unknown option" >&2; exit 1', 'invalid', /unknown option[\s\S]*up to date/],
  ['writes garbage', 'echo hello; echo "{ no"; exit 0', 'invalid', /npm install/],
  ['wants a login', 'echo "Please run /login" >&2; exit 1', 'auth', /Log in with/],
  ['is not installed', null, 'invalid', /not installed[\s\S]*npm install/],
] as const;

describe.runIf(VENDORS.some(({ name }) => name === 'claude'))('a Claude Code', () => {
  const tried = async (house: AgentsHouse, source: string | null) => {
    const program = join(house.folder, 'claude');
    rmSync(program, { force: true });
    if (source !== null) writeFileSync(program, `#!/bin/sh\n${source}\n`, { mode: 0o755 });
    const client = await house.connect();
    const wish = { repository: house.root, agentType: 'claude:coder', prompt: 'Do it.' };
    const { task, heard } = await delegated(client, wish);
    await heard('end');
    return (await client.getTask(task)).end;
  };

  test('[EXE10.14] that crashes, is too old, writes garbage, wants a login or is missing: the parent is told with the fix', async () => {
    await using house = await AgentsHouse.open({ claude: 'claude' });
    for (const [what, source, errorClass, message] of BAD_CLAUDE) {
      const { error } = (await tried(house, source)) ?? {};
      expect(error, what).toMatchObject({ class: errorClass, message: expect.stringMatching(message) });
    }
  });

  test('[EXE10.14] that hangs: the parent is told with the fix', async () => {
    await using house = await AgentsHouse.open({ acp: { initializeMs: 300 }, claude: 'claude' });
    const { error } = (await tried(house, 'exec sleep 600')) ?? {};
    const message = expect.stringMatching(/did not answer[\s\S]*by hand/);
    expect(error).toMatchObject({ class: 'unresponsive', message });
  });
});
