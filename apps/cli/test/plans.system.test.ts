import { execFileSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WrittenScript } from '@reveille/executors';
import type { Plan, PlanView, Request, ReveilleEvent, TaskView } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { House, ended, processesOf, until } from './house.ts';

const ASKS: WrittenScript = {
  steps: [
    { do: 'ask', text: 'Which one?', options: ['this', 'that'] },
    { do: 'report', output: 'Chosen.' },
  ],
};
const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));

describe('plans', () => {
  let house: House;
  beforeAll(() => {
    house = new House();
  });
  afterAll(() => house[Symbol.asyncDispose]());

  /** What was asked before the daemon was killed may be answered twice, or by nobody any more. */
  const answerAll = async (): Promise<void> => {
    const { out } = await house.run(['inbox', '--json']);
    for (const { id } of (JSON.parse(out) as { requests?: Request[] }).requests ?? [])
      await house.run(['answer', id, 'this']);
  };

  test('[CLI1.22][CLI1.25] a plan that completes: its id first, a line for every change, exit code 0', async () => {
    const { code, out, err } = await house.run(['plan', 'run', `${EXAMPLES}/fan-out.yaml`]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.split('\n');
    expect(lines[0]).toMatch(/^plan_\w+ {2}Fan out$/);
    for (const words of [
      / failed +clock: the clock went backwards$/m,
      / wake-up +test suite ← clock: failed, [\d.]+ m?s$/m,
      / completed +clock: it only goes forwards now$/m,
      / completed +test suite: all three hold/m,
      / completed +Fan out: every task completed$/m,
      /^Used: \$0\.01, 1\.2k tokens\.$/m,
    ])
      expect(out).toMatch(words);
    expect(out).not.toContain('\u001b');
  });

  test('[CLI1.25] a plan that fails: exit code 1, and what to do about it', async () => {
    house.plan('Broken', { bad: { steps: [{ do: 'fail', class: 'invalid', message: 'no such thing' }] } });
    const { code, out } = await house.run(['plan', 'run', 'Broken.yaml']);
    expect(code).toBe(1);
    expect(out).toMatch(
      /Broken is failed: nothing more can run: 1 failed\.\n {2}bad: no such thing \(reveille retry task_\w+\)\n$/,
    );
    // Given up: nobody who shares the house has it in their inbox.
    await house.json('answer', 'bad', 'cancel');
  });

  test('[PLN1.28][CLI1.22] JSON: every event of the plan, and last the plan itself; inputs arrive as they were given', async () => {
    const input = 'who="you", ${{ inputs.who }}\n- and you';
    const { code, out } = await house.run([
      'plan',
      'run',
      `${EXAMPLES}/hello.yaml`,
      '--json',
      '--input',
      input,
    ]);
    expect(code).toBe(0);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    const { plan, tasks } = lines.pop() as PlanView;
    expect(plan).toMatchObject({ name: 'Hello', state: 'completed', repository: house.repository });
    expect(tasks[0]?.end?.output).toBe(`Hello, ${input.slice(4)}!`);
    const types = (lines as ReveilleEvent[]).map(({ type }) => type);
    expect(types[0]).toBe('plan.created');
    expect(types).toContain('run.ended');
    expect(types.filter((type) => type === 'plan.completed')).toHaveLength(1);
  });

  test('[CLI1.23] Ctrl-C leaves the plan running, and attach comes back to see its end', async () => {
    house.plan('Asking', { asks: ASKS });
    const child = house.start(['plan', 'run', 'Asking.yaml']);
    let sent = false;
    const left = await ended(child, (out) => {
      if (!sent && out.includes('asks you')) sent = child.kill('SIGINT');
    });
    const id = /^(plan_\w+)/.exec(left.out)?.[1] ?? '';
    expect(left).toMatchObject({
      code: 130,
      err: `\nStill running; \`reveille attach ${id}\` comes back.\n`,
    });
    expect((await house.json<PlanView>('plan', 'status', id)).plan.state).toBe('active');
    let answered: Promise<unknown> | undefined;
    const { code, out } = await house.run(['attach', 'asking'], {
      wrote: (text) => {
        if (text.includes('asks you')) answered ??= house.json('answer', 'asks', 'THIS');
      },
    });
    expect(await answered).toMatchObject({ request: { state: 'answered', answer: { text: 'this' } } });
    expect(code).toBe(0);
    expect(out).toContain('Asking is completed');
  });

  test('[CLI1.24] the daemon is killed in the middle: whoever watches goes on with the next one', async () => {
    house.plan('Killed', { asks: ASKS, quick: { steps: [{ do: 'report', output: 'Quick.' }] } });
    const { pid: before } = await house.running();
    let killed = false;
    const watching = house.run(['plan', 'run', 'Killed.yaml'], {
      wrote: (out) => {
        if (killed || !out.includes('asks you') || !out.includes('Quick.')) return;
        killed = process.kill(before, 'SIGKILL');
      },
    });
    await until(() => killed);
    const over = watching.then(() => true);
    await until(async () => (await Promise.race([over, answerAll()])) === true);
    const { code, out } = await watching;
    expect(code).toBe(0);
    expect(out).toContain('Killed is completed');
    expect(out).toMatch(
      / reveille +The daemon is not there; waiting for it\.\n(.*\n)* .*reveille +The daemon is there again\./,
    );
    expect(out.match(/ completed +quick: Quick\.$/gm)).toHaveLength(1);
    expect((await house.running()).pid).not.toBe(before);
    await until(() => processesOf(house.env['REVEILLE_HOME']!).length === 1);
  });

  test('[PLN1.28][CLI1.33] the example with a question, paused, resumed, answered', async () => {
    const args = [
      'plan',
      'run',
      `${EXAMPLES}/question.yaml`,
      '--input',
      'version=2.4.0',
      '--detach',
      '--json',
    ];
    const { plan } = JSON.parse((await house.run(args)).out) as PlanView;
    expect(plan.name).toBe('Release 2.4.0');
    expect(await house.json<{ plan: Plan }>('plan', 'pause', plan.name)).toMatchObject({
      plan: { state: 'paused' },
    });
    expect(await house.run(['plan', 'pause', plan.name])).toMatchObject({ code: 5, out: '' });
    expect(await house.json<{ plan: Plan }>('plan', 'resume', plan.name)).toMatchObject({
      plan: { state: 'active' },
    });
    await until(async () => (await house.json<{ requests: Request[] }>('inbox')).requests.length > 0);
    const shown = await house.run(['inbox']);
    expect(shown.out).toMatch(
      /^question +.+ {2}notes {2}of Release 2\.4\.0\n {2}How long should the notes be\?\n {2}1\. short\n {2}2\. long\n {2}reveille answer req_\w+ 1\n$/,
    );
    expect((await house.run(['status'])).out).toContain('1 request waits for you: reveille inbox');
    await house.json('answer', 'notes', '1');
    expect(await house.run(['answer', 'notes', 'short'])).toMatchObject({ code: 3 });
    expect((await house.run(['attach', plan.id])).code).toBe(0);
  });

  test('[CLI1.33] a plan is cancelled with a reason, and says so', async () => {
    house.plan('Endless', { one: { steps: [{ do: 'silent' }] } });
    const { out } = await house.run(['plan', 'run', 'Endless.yaml', '-d']);
    expect(out).toMatch(/^plan_\w+ {2}Endless\nIt runs; `reveille attach plan_\w+` shows it\.\n$/);
    expect((await house.run(['plan', 'cancel', 'endless', 'not', 'needed'])).code).toBe(0);
    const attached = await house.run(['attach', 'Endless']);
    expect(attached.code).toBe(1);
    expect(attached.out).toContain('Endless is cancelled: not needed.');
  });

  test('[CLI1.10] two plans of one name: the newest is meant, and that is said', async () => {
    house.plan('Twin', { one: { steps: [{ do: 'report' }] } });
    for (const _ of [1, 2]) expect((await house.run(['plan', 'run', 'Twin.yaml'])).code).toBe(0);
    const { code, out, err } = await house.run(['status', 'twin']);
    expect(code).toBe(0);
    expect(out).toMatch(/^Twin · completed/);
    expect(err).toMatch(
      /^2 plans are called "twin"; this is about the newest, plan_\w+ \(completed, .* ago\)\.\n$/,
    );
  });

  test('[CLI1.35] status and logs tell what was and what is', async () => {
    const all = await house.json<{ plans: Plan[]; tasks: TaskView[]; inbox: Request[] }>('status', '--all');
    expect(all.plans.length).toBeGreaterThan(5);
    expect((await house.run(['status'])).out).toBe('Nothing runs.\n');
    const { out } = await house.run(['plan', 'status']);
    expect(out.split('\n')[0]).toMatch(/^completed +.+ +1\/1 {2}Twin +plan_\w+ {2}every task completed$/);
    const one = await house.run(['status', 'Broken']);
    expect(one.out).toMatch(
      /^Broken · failed +0 of 1 done +.+\n\n✖ bad +@scripted:agent +failed +.+ {2}no such thing\n/,
    );
    const events = (await house.run(['logs', 'Broken', '--json'])).out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ReveilleEvent);
    expect(events[0]?.type).toBe('plan.created');
    expect(events.map(({ type }) => type)).toContain('task.failed');
    expect((await house.run(['logs', '-n', '3'])).out.trimEnd().split('\n')).toHaveLength(3);
    expect((await house.run(['logs', 'Broken'])).out).toMatch(
      / task\.failed +bad {2}executor: invalid: no such thing$/m,
    );
    expect((await house.run(['logs', '--daemon', '-n', '1'])).out).toMatch(/^\{.*"message":.*\}\n$/);
  });

  test('[CLI1.35] logs go on with what happens, until one has seen enough', async () => {
    const enough = new AbortController();
    const following = house.run(['logs', '-n', '1', '--follow'], {
      signal: enough.signal,
      wrote: (out) => {
        if (out.includes('plan.completed') && out.includes(' followed ')) enough.abort();
      },
    });
    house.plan('Followed', { followed: { steps: [{ do: 'report' }] } });
    // Whether the log is followed yet or not: what it has not seen before it sees now.
    await until(async () => {
      await house.run(['plan', 'run', 'Followed.yaml']);
      return enough.signal.aborted;
    });
    expect((await following).code).toBe(130);
  });

  test('[PLN1.20][PLN1.27] a plan with problems is not saved, whether the file or the daemon finds them', async () => {
    house.write('bad.yaml', 'name: Bad\ntasks:\n  - id: a\n    prompt: Do.\n    agent: nosuch:coder\n');
    const valid = await house.run(['plan', 'validate', 'bad.yaml', '--json']);
    expect(valid.code).toBe(2);
    const problem = 'there is no backend "nosuch"; there are: scripted';
    expect(JSON.parse(valid.out)).toEqual({
      files: [
        {
          file: 'bad.yaml',
          tasks: 0,
          problems: [{ file: 'bad.yaml', line: 5, column: 12, at: 'tasks[0].agent', problem }],
        },
      ],
    });
    const { code, err } = await house.run(['plan', 'run', 'bad.yaml']);
    expect({ code, err }).toEqual({
      code: 2,
      err: `bad.yaml:5:12: tasks[0].agent: ${problem}\nThe plan has a problem; nothing was saved.\n`,
    });
    expect((await house.run(['plan', 'status', 'Bad'])).code).toBe(3);
    expect((await house.run(['plan', 'validate', `${EXAMPLES}/hello.yaml`])).out).toContain(
      '2 tasks, no problem',
    );
  });
});

describe('files that are no plans', () => {
  test('[PLN1.25][CLI1.11] what cannot be read, is huge, or is in no repository', async () => {
    await using house = new House();
    truncateSync(house.write('huge.yaml', ''), 2 ** 31);
    mkdirSync(`${house.repository}/folder`);
    execFileSync('/usr/bin/env', ['mkfifo', `${house.repository}/pipe`]);
    writeFileSync(`${house.repository}/latin.yaml`, Buffer.from([0x6e, 0xe4, 0x3a]));
    const said = async (file: string): Promise<unknown> => {
      const { code, err } = await house.run(['plan', 'validate', file]);
      return [code, err.trimEnd()];
    };
    expect(await said('huge.yaml')).toEqual([
      2,
      'huge.yaml: it is too large for a plan: 2147483648 bytes, and 8388608 are allowed.',
    ]);
    expect(await said('folder')).toEqual([2, 'folder: it is not a file.']);
    expect(await said('pipe')).toEqual([2, 'pipe: it is not a file.']);
    expect(await said('latin.yaml')).toEqual([2, 'latin.yaml: it is not UTF-8 text.']);
    expect(await said('none.yaml')).toEqual([3, 'There is no file none.yaml.']);
    const outside = await house.run(['plan', 'run', 'x.yaml'], { cwd: house.folder });
    expect(outside).toEqual({
      code: 2,
      out: '',
      err: `${house.folder} is in no git repository. Go to one, name one with --repo, or make one with \`git init\`.\n`,
    });
    execFileSync('git', ['init', '-q', '--bare', join(house.folder, 'bare.git')]);
    const bare = await house.run(['plan', 'run', 'x.yaml', '--repo', 'bare.git'], { cwd: house.folder });
    expect(bare).toMatchObject({ code: 2, out: '' });
    expect(bare.err).toMatch(
      /bare\.git is a bare repository, which has no checkout to start from\. Make one /,
    );
    expect(
      (await house.run(['plan', 'run', 'x.yaml', '--repo', 'repository'], { cwd: house.folder })).code,
    ).toBe(3);
    expect((await house.run(['status', '--repo', '/nowhere'])).code).toBe(2);
    // None of this needs a daemon.
    expect(processesOf(house.env['REVEILLE_HOME']!)).toEqual([]);
  });
});
