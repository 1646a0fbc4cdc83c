import { expect, test } from 'vitest';
import { COMMON } from '../src/command/spec.ts';
import { COMMANDS } from '../src/commands/table.ts';
import { run } from './io.ts';

const VERBS =
  `init, demo, run, plan validate, plan run, plan status, plan pause, plan resume, plan cancel, spawn, send, status,
  logs, attach, inbox, answer, approve, deny, retry, cancel, pause, resume, swap, diff, open, pull, discard, restore,
  integrate, agent list, agent show, agent new, doctor, config, dashboard, mcp, hook, daemon start, daemon stop, daemon status, daemon run, daemon install,
  daemon uninstall, stop,
  completion, budget`
    .split(',')
    .map((verb) => verb.trim());

test('[CLI1.1] every verb is there, and says what it does, what it takes and what its JSON is', async () => {
  expect(COMMANDS.map(({ name }) => name).toSorted()).toEqual(VERBS.toSorted());
  const all = await run(['--help']);
  expect(all.code).toBe(0);
  for (const { name, summary, options } of COMMANDS) {
    expect(all.out).toContain(summary);
    if (name === 'demo') continue;
    const help = await run([...name.split(' '), '--help']);
    expect(help, name).toMatchObject({ code: 0, err: '' });
    expect(help.out).toContain(`reveille ${name}`);
    expect(help.out).toContain('--json prints ');
    for (const option of Object.keys({ ...options, ...COMMON })) expect(help.out).toContain(`--${option}`);
    expect(await run(['help', ...name.split(' ')])).toEqual(help);
  }
});

test('[CLI1.1] a group of verbs says which there are', async () => {
  const { code, out } = await run(['plan', '--help']);
  expect(code).toBe(0);
  expect(out).toContain('reveille plan validate <file…>');
});

test.each([
  [['staus'], 'There is no command "staus". Did you mean status?'],
  [['plan', 'rnu', 'x'], 'There is no command "plan rnu". Did you mean plan run?'],
  [['frobnicate'], 'There is no command "frobnicate".\n'],
  [['plan'], 'reveille plan takes validate, run, status, pause, resume, cancel.'],
  [['--jsn'], 'There is no option "--jsn".'],
  [
    ['send', 'task', '--dash it'],
    'There is no option "--dash it". If it is not an option, put -- before it.',
  ],
  [['spawn', '--agnt', 'x', 'y'], 'There is no option "--agnt". Did you mean --agent?'],
  [['spawn', '--agent'], '--agent needs a value: --agent [BACKEND:]NAME.'],
  [['spawn', '--agent', '--detach', 'y'], '--agent needs a value'],
  [['spawn', '--detach=yes', 'y'], '--detach takes no value.'],
  [['spawn', '--agent', 'a', '--agent', 'b', 'y'], '--agent is given twice.'],
  [['send', 'task'], 'Something is missing: reveille send <task> <message…>'],
  [['diff', 'a', 'b'], 'That is more than it takes: reveille diff <task>'],
  [['stop'], 'Say what to stop: --all, or the name of a plan or a task.'],
  [['stop', '--all', 'x'], 'Say what to stop'],
  [['logs', '-n', 'many'], '--lines takes a number from 1 on, not "many".'],
  [['hook', 'end'], 'The moment is one of stop, prompt, tool.'],
  [['hook', 'stop', '--wait', 'long'], '--wait takes seconds, from 0 to 86400.'],
  [['completion', 'tcsh'], 'There are scripts for bash, zsh, fish, not for "tcsh".'],
  [['daemon', 'start', '--set', 'x'], '--set takes SETTING=VALUE, not "x".'],
])('[CLI1.2] %j is refused with what to write instead', async (args, sentence) => {
  const { code, out, err } = await run(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(sentence);
  expect(err).toMatch(/^reveille .*--help lists what there is\.$/m);
});

test('[CLI1.2] what comes before the verb counts as if it came after it', async () => {
  const { code, out } = await run(['--json', '--repo', '/', 'send', 'task']);
  expect(code).toBe(2);
  expect(JSON.parse(out)).toMatchObject({ error: { code: 'invalid_input' } });
});

test('[CLI1.3] an error is JSON where JSON was asked for, and never a stack trace', async () => {
  const plain = await run(['pull', 'tests']);
  expect(plain).toMatchObject({ code: 4, out: '' });
  expect(plain.err).toMatch(
    /^Only an agent pulls.*`reveille integrate tests` merges the work into your checkout\.\n$/,
  );
  const json = await run(['pull', 'tests', '--json']);
  expect({ ...json, out: JSON.parse(json.out) as unknown }).toEqual({
    code: 4,
    err: '',
    out: { error: { code: 'not_allowed', message: plain.err.trimEnd(), data: {} } },
  });
});

test('[CLI1.3] a defect says so in one sentence, and where on demand', async () => {
  const { explain } = await import('../src/command/explain.ts');
  const said = async (env: NodeJS.ProcessEnv): Promise<string> => {
    let err = '';
    const io = { out: { write: () => true }, err: { write: (text: string) => (err += text) }, env };
    expect(await explain(new TypeError('x is not a function'), io, false)).toBe(1);
    return err;
  };
  expect(await said({})).toBe(
    'This is a defect of Reveille: x is not a function. Set REVEILLE_DEBUG=1 to see where.\n',
  );
  expect(await said({ REVEILLE_DEBUG: '1' })).toContain('    at ');
});
