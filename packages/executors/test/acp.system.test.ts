import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PRESETS, detect } from '@reveille/executors/acp';
import { expect, test } from 'vitest';
import { Bench, SCRIPTED_AGENT, identityOf, script, until } from './acp/bench.ts';
import { straysOf } from '../src/acp/strays.ts';

test('[EXE1.20] a turn is a prompt; what the agent says, thinks, calls, edits and uses comes as events', async () => {
  await using bench = new Bench();
  const life = bench.start();
  life.turn(
    script(
      { do: 'think', text: 'hm' },
      { do: 'say', text: 'I begin.' },
      { do: 'edit', path: 'a.txt', content: 'made' },
      { do: 'unknownUpdate' },
      { do: 'sh', command: 'exit 3' },
      { do: 'usage', usage: { totalTokens: 42 }, cost: 0.5 },
      { do: 'say', text: 'I am done.' },
    ),
  );
  expect(await life.ended()).toEqual({ type: 'turn_ended', turn: 1, lastWords: 'I am done.' });
  expect(bench.read('a.txt')).toBe('made');
  const types = life.events.map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(['started', 'started']);
  expect(types).toContain('thought');
  expect(life.of('tool_call').map(({ name }) => name)).toEqual([
    `Edit ${join(bench.workdir, 'a.txt')}`,
    'exit 3',
  ]);
  expect(life.of('tool_end').map(({ failed }) => failed)).toEqual([false, true]);
  expect(life.of('file_touched').map(({ path }) => path)).toEqual([join(bench.workdir, 'a.txt')]);
  // What it cost is told as soon as it says so; its tokens when the turn ends.
  expect(life.of('usage')).toEqual([
    { type: 'usage', id: '1-1', kind: 'interim', tokens: 1, usd: 0.5 },
    { type: 'usage', id: '1-2', kind: 'final', tokens: 42, usd: 0.5 },
  ]);
});

test('[EXE1.20] turns follow each other in one session, and what it is asked between them waits', async () => {
  await using bench = new Bench();
  const life = bench.start();
  life.turn(
    script({ do: 'say', text: 'one' }, { do: 'rest' }, { do: 'echo' }, { do: 'rest' }, { do: 'echo' }),
  );
  expect((await life.ended()).lastWords).toBe('one');
  life.turn('two');
  expect((await life.ended()).lastWords).toBe('heard: two');
  life.turn('three');
  expect((await life.ended()).lastWords).toBe('heard: three');
});

test('[EXE1.21] leave is asked for by kind: allowed once or refused once, whatever the order and the names', async () => {
  await using bench = new Bench();
  const steps = [
    { do: 'permission', title: 'push', kind: 'execute', input: { command: 'git push' } },
    { do: 'permission', title: 'mcp__reveille__a2a_check_updates', kind: 'other' },
    { do: 'permission', title: 'plan mode', kind: 'switch_mode' },
  ];
  bench.answer = async () => 'approved: go on';
  const allowed = bench.start();
  allowed.turn(script(...steps));
  await allowed.ended();
  bench.answer = async () => 'no, not that';
  const denied = bench.start();
  denied.turn(script(...steps));
  await denied.ended();
  expect(allowed.said).toContain('permission: allow_oncepermission: allow_oncepermission: reject_once');
  expect(denied.said).toContain('permission: reject_oncepermission: allow_oncepermission: reject_once');
  // Our own tools decide for themselves, and out of its mode it is not let: of neither anybody is asked.
  expect(bench.wishes.map(({ text }) => text.split('\n')[0])).toEqual([
    'It asks for leave to use: push (execute)',
    'It asks for leave to use: push (execute)',
  ]);
  expect(bench.wishes[0]!.text).toContain('git push');
  expect(bench.wishes[0]!.key).toBe(bench.wishes[1]!.key);
});

test('[EXE4.25] one that forgets a turn that is cancelled is told again what it was told in it', async () => {
  const quirks = {
    midTurn: 'unknown',
    resumes: true,
    mcp: 'http',
    usage: 'turn',
    reports: 'unknown',
  } as const;
  for (const forgetsCancelled of [true, false]) {
    await using bench = new Bench({ preset: { quirks: { ...quirks, forgetsCancelled } } });
    const life = bench.start();
    life.turn(
      script({ do: 'rest' }, { do: 'hang', ready: 'ready' }, { do: 'echo' }, { do: 'rest' }, { do: 'echo' }),
    );
    await life.ended();
    life.turn('two');
    await bench.has('ready');
    life.agent.interrupt();
    expect(await life.ended()).toMatchObject({ turn: 2, interrupted: true });
    life.turn('three');
    const { lastWords } = await life.ended();
    expect(lastWords).toMatch(
      forgetsCancelled ? /You had been told:\n\ntwo\n\nSince then:\n\nthree$/ : /^heard: three$/,
    );
    // Once is enough.
    life.turn('four');
    expect((await life.ended()).lastWords).toBe('heard: four');
  }
});

test('[EXE1.21] an interrupt takes the question back and ends the turn; the agent stays', async () => {
  await using bench = new Bench();
  let withdrawn = false;
  bench.answer = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        withdrawn = true;
        reject(new Error('nobody waits'));
      });
    });
  const life = bench.start();
  life.turn(script({ do: 'permission', title: 'push', kind: 'execute' }, { do: 'say', text: 'after' }));
  await until(() => bench.wishes.length === 1);
  life.agent.interrupt();
  expect(await life.ended()).toMatchObject({ turn: 1, interrupted: true });
  expect(withdrawn).toBe(true);
  life.turn('go on');
  expect(await life.ended()).toMatchObject({ turn: 2, lastWords: 'after' });
});

test('[EXE1.22] mail reaches a busy agent only where it is announced; a second prompt is never sent', async () => {
  await using bench = new Bench({ flags: ['--steers'] });
  const life = bench.start();
  life.turn(script({ do: 'say', text: 'busy' }, { do: 'waitSteer' }));
  await life.says('busy');
  expect(await life.agent.steer({ turn: 1, given: ['msg_000001'], text: 'news' })).toBe('taken');
  expect((await life.ended()).lastWords).toContain('steered: news');
  // The turn is over: nobody begins one by itself.
  expect(await life.agent.steer({ turn: 1, given: [], text: 'late' })).toBe('refused');

  await using plain = new Bench();
  const other = plain.start();
  other.turn(script({ do: 'say', text: 'busy' }, { do: 'waitFile', path: 'go' }, { do: 'say', text: 'end' }));
  await other.says('busy');
  expect(await other.agent.steer({ turn: 1, given: [], text: 'news' })).toBe('refused');
  plain.write('go');
  // It would have failed: this agent answers a second prompt with an error.
  expect((await other.ended()).lastWords).toBe('busyend');
});

test('[EXE3.20] a session is taken up again where it was, and says which messages it has', async () => {
  await using bench = new Bench();
  const first = bench.start();
  const steps = [
    { do: 'hang', ready: 'ready' },
    { do: 'say', text: 'two' },
  ];
  first.turn(`msg_given1 ${script(...steps)}`, ['msg_given1']);
  await bench.has('ready');
  const { token } = first;
  expect(token).not.toBeNull();
  await first.agent.stop('a crash');
  const second = bench.start({ epoch: 2, resume: token });
  expect(await second.agent.seen(['msg_given1', 'msg_never1'])).toEqual(
    new Map([
      ['msg_given1', 'yes'],
      ['msg_never1', 'no'],
    ]),
  );
  second.turn('go on');
  expect((await second.ended()).lastWords).toBe('two');
});

test('[EXE3.21] where it cannot be, it begins anew and is told its task and what it had done', async () => {
  await using bench = new Bench({ options: { digest: async () => 'made a.txt' } });
  const life = bench.start({ epoch: 2, resume: 'lost' });
  expect(await life.agent.seen(['msg_given1'])).toEqual(new Map([['msg_given1', 'unknown']]));
  life.turn(script({ do: 'echo' }));
  const { lastWords } = await life.ended();
  expect(lastWords).toMatch(/you begin anew[\s\S]*task_000001[\s\S]*the task itself[\s\S]*made a\.txt/);
  expect(bench.logs.map(({ message }) => message)).toContain(
    'an agent could not go on with its session and begins anew',
  );

  await using forgetful = new Bench({ flags: ['--no-load'] });
  const other = forgetful.start({ epoch: 2, resume: 'whatever' });
  other.turn(script({ do: 'echo' }));
  expect((await other.ended()).lastWords).toContain('you begin anew');
  expect(other.token).toBeNull();
});

test('[EXE4.20] one that ignores a cancel loses its process, not its session', async () => {
  await using bench = new Bench({
    options: { waits: { cancelMs: 50 }, graces: { eofMs: 100, termMs: 100 } },
  });
  const life = bench.start();
  life.turn(script({ do: 'ignoreCancel' }, { do: 'hang', ready: 'deaf' }, { do: 'say', text: 'again' }));
  await bench.has('deaf');
  life.agent.interrupt();
  expect(await life.ended()).toMatchObject({ turn: 1, interrupted: true });
  life.turn('go on');
  expect(await life.ended()).toMatchObject({ turn: 2, lastWords: 'again' });
  expect(life.of('exited')).toEqual([]);
});

test('[EXE4.21] stop ends all of it: also one that ignores end of input and TERM, and what it started elsewhere', async () => {
  await using bench = new Bench({ options: { graces: { eofMs: 50, termMs: 50 } } });
  const life = bench.start();
  life.turn(script({ do: 'ignoreTerm' }, { do: 'stray' }, { do: 'hang' }));
  await life.says('stray ');
  expect(straysOf(`REVEILLE_AGENT=${life.name}`).length).toBeGreaterThanOrEqual(2);
  await life.agent.stop('enough');
  expect(straysOf(`REVEILLE_AGENT=${life.name}`)).toEqual([]);
  expect(life.events.at(-1)).toEqual({ type: 'exited', detail: 'enough' });
});

test('[EXE4.21] one that is stopped in its turn is first asked, and what it then says it used is told', async () => {
  await using bench = new Bench({ options: { waits: { lastMs: 600_000 } } });
  const life = bench.start();
  life.turn(script({ do: 'usage', usage: { totalTokens: 9 } }, { do: 'say', text: 'busy' }, { do: 'hang' }));
  await life.says('busy');
  await life.agent.stop('enough');
  expect(life.events.slice(-2)).toEqual([
    { type: 'usage', id: '1-2', kind: 'final', tokens: 9, usd: null },
    { type: 'exited', detail: 'enough' },
  ]);
  expect(life.of('turn_ended')).toEqual([]);
});

test('[EXE4.22] what an earlier life left is ended by its identity, and nobody else', async () => {
  await using bench = new Bench();
  const [left, other] = [bench.start(), bench.start()];
  for (const life of [left, other]) {
    life.turn(script({ do: 'sh', command: 'echo $PPID' }, { do: 'say', text: 'pid $last.' }, { do: 'hang' }));
    await life.says('pid ');
  }
  const pid = Number(/pid (\d+)\./.exec(left.said)![1]);
  const otherPid = Number(/pid (\d+)\./.exec(other.said)![1]);
  const { identity } = left.of('started')[0]!;
  await bench.executor.reap(identity!);
  expect(identityOf(pid)).toBeNull();
  expect(identityOf(otherPid)).not.toBeNull();
  // A record that names a process that has another start time is of one that is gone.
  const file = join(bench.folder, 'ledger', `${other.name}.json`);
  const record = JSON.parse(readFileSync(file, 'utf8')) as { pid: number; identity: string };
  expect(record).toEqual({ pid: otherPid, identity: identityOf(otherPid) });
});

test('[EXE4.23] a stop during the start leaves nothing', async () => {
  await using bench = new Bench({ flags: ['--hang'], options: { graces: { eofMs: 50, termMs: 50 } } });
  const life = bench.start();
  life.turn('x');
  await until(() => straysOf(`REVEILLE_AGENT=${life.name}`).length > 0);
  await life.agent.stop('changed my mind');
  expect(life.events.map(({ type }) => type)).toEqual(['started', 'exited']);

  const atOnce = bench.start();
  await atOnce.agent.stop('at once');
  expect(atOnce.events.map(({ type }) => type)).toEqual(['started', 'exited']);
});

test('[EXE1.23] whatever it prints: garbage is let by and told, and output of any size does not pile up', async () => {
  await using bench = new Bench({ flags: ['--garbage'] });
  const life = bench.start();
  life.turn(
    script(
      { do: 'garbage', text: 'DEBUG: hello' },
      { do: 'garbage', bytes: 40_000_000 },
      { do: 'big', times: 300, bytes: 100_000 },
      { do: 'say', text: '.end' },
    ),
  );
  const { lastWords } = await life.ended();
  expect(lastWords.endsWith('w.end')).toBe(true);
  expect(lastWords.length).toBeLessThanOrEqual(8_000);
  for (const { text } of life.of('output')) expect(text.length).toBeLessThanOrEqual(8_000);
  const told = bench.logs.map(({ data }) => String(data['text']));
  expect(told).toContain('Welcome to the scripted agent!');
  expect(told).toContain('DEBUG: hello');
  expect(told.some((text) => text.startsWith('a line of more than'))).toBe(true);
});

test('[EXE1.24] a call for files or a terminal that nobody offered is answered inside the boundary, or refused', async () => {
  await using bench = new Bench();
  const asked: string[] = [];
  bench.hands = {
    readFile: async (path) => `of ${path}\nsecond`,
    writeFile: async (path, content) => void asked.push(`${path}=${content}`),
    run: async (command, { output }) => {
      output(`ran ${command.join(' ')}`);
      return { code: 0, signal: null };
    },
  };
  const life = bench.start();
  life.turn(
    script(
      { do: 'client', method: 'fs/read_text_file', params: { path: 'a', line: 2, limit: 1 } },
      { do: 'client', method: 'fs/write_text_file', params: { path: 'b', content: 'c' } },
      { do: 'terminal', command: 'ls' },
      { do: 'client', method: 'elicitation/create', params: {} },
    ),
  );
  const { lastWords } = await life.ended();
  expect(lastWords).toContain('{"content":"second"}');
  expect(asked).toEqual(['b=c']);
  expect(life.of('file_touched')).toEqual([{ type: 'file_touched', path: 'b' }]);
  expect(lastWords).toContain('terminal: 0 ran /bin/sh -c ls');
  expect(lastWords).toContain('refused: ');

  bench.hands = null;
  const bare = bench.start();
  bare.turn(script({ do: 'client', method: 'fs/read_text_file', params: { path: 'a' } }));
  expect((await bare.ended()).lastWords).toContain('refused: This agent has no files');
});

const BAD: readonly (readonly [string, ConstructorParameters<typeof Bench>[0], string, RegExp])[] = [
  ['missing', { command: ['/nonexistent/agent'] }, 'invalid', /not installed.*install/s],
  ['crashing at start', { flags: ['--crash'] }, 'invalid', /exit code 1.*left-pad/s],
  ['too old to know the option', { flags: ['--unknown-option'] }, 'invalid', /unknown option.*up to date/s],
  ['of another protocol', { flags: ['--old'] }, 'invalid', /1\.2\.3 speaks another version.*up to date/s],
  ['asking for a login', { flags: ['--login'] }, 'auth', /not logged in.*log in to it/s],
  [
    'hanging at initialize',
    { flags: ['--hang'], options: { waits: { initializeMs: 200 }, graces: { eofMs: 50, termMs: 50 } } },
    'unresponsive',
    /did not answer.*by hand/s,
  ],
];
for (const [what, options, errorClass, message] of BAD)
  test(`[EXE1.25] an agent ${what}: a clear message that names the fix, and its class`, async () => {
    await using bench = new Bench(options);
    const life = bench.start();
    life.turn('x');
    const failure = await life.failed();
    expect(failure).toMatchObject({ class: errorClass, message: expect.stringMatching(message) });
    expect(life.events.map(({ type }) => type)).toEqual(['started', 'failed', 'exited']);
    await life.agent.stop('it is gone already');
    expect(bench.launches).toBe(1);
  });

for (const [ending, errorClass, message] of [
  ['exit 137', 'crash', /killed by SIGKILL, as the system does when memory runs out/],
  ['exit 143', 'crash', /killed by SIGTERM/],
  ['kill -9 $$', 'crash', /killed by SIGKILL/],
  ['exit 128', 'invalid', /exit code 128.*up to date/s],
  ['exit 255', 'invalid', /exit code 255.*up to date/s],
] as const)
  test(`[EXE1.29] an agent that ends at its start with "${ending}" is of the class ${errorClass}`, async () => {
    await using bench = new Bench({ command: ['/bin/sh', '-c', ending] });
    const life = bench.start();
    life.turn('x');
    expect(await life.failed()).toMatchObject({
      class: errorClass,
      message: expect.stringMatching(message),
    });
  });

const ERRORS: readonly (readonly [string, object, string])[] = [
  ['429 Too Many Requests', {}, 'rate_limit'],
  ['overloaded_error', {}, 'overload'],
  ['Internal error', { data: { details: 'connect ECONNREFUSED 127.0.0.1:9' } }, 'network'],
  ['Incorrect API key provided', {}, 'auth'],
  ['anything', { code: -32_000 }, 'auth'],
  ['something else', {}, 'unknown'],
];
for (const [message, more, errorClass] of ERRORS)
  test(`[EXE1.25] a turn that fails with "${message}" ${JSON.stringify(more)} is of the class ${errorClass}`, async () => {
    await using bench = new Bench();
    const life = bench.start();
    life.turn(script({ do: 'error', message, ...more }));
    expect(await life.failed()).toMatchObject({ class: errorClass });
  });

test('[EXE1.20] one that breaks its turn off by itself says so after its last words', async () => {
  await using bench = new Bench();
  const cut = bench.start();
  cut.turn(script({ do: 'say', text: 'half' }, { do: 'stop', reason: 'max_turn_requests' }));
  expect((await cut.ended()).lastWords).toMatch(
    /^half\n\(.*broke its turn off: it had made too many requests/,
  );
});

test('[EXE1.25] one that dies in its turn is a crash, with its last words on the error output', async () => {
  await using bench = new Bench();
  const life = bench.start();
  life.turn(script({ do: 'say', text: 'alive' }, { do: 'crash', says: 'panic: out of cheese', code: 134 }));
  expect(await life.failed()).toMatchObject({
    class: 'crash',
    message: expect.stringMatching(/killed by SIGABRT.*out of cheese/s),
  });
  const refusal = bench.start();
  refusal.turn(script({ do: 'stop', reason: 'refusal' }));
  expect(await refusal.failed()).toMatchObject({ class: 'refusal' });
});

test('[EXE2.1] what is installed is found by looking and asked once, with a home made for that', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-detect-'));
  try {
    const bin = join(folder, 'bin');
    const home = join(folder, 'home');
    mkdirSync(bin);
    mkdirSync(home);
    const program = join(bin, 'gemini');
    const writes = `echo x > "$HOME/trace"; echo asked >> '${folder}/asked'`;
    const agent = (flags: string): string =>
      `#!/bin/sh\n${writes}\nexec '${process.execPath}' '${SCRIPTED_AGENT}' ${flags}\n`;
    writeFileSync(program, agent(''), { mode: 0o755 });
    const gemini = PRESETS.find(({ name }) => name === 'gemini')!;
    const env = { PATH: `${bin}:/usr/bin:/bin`, GEMINI_API_KEY: 'k' };
    const options = { env, home, folder: join(folder, 'cache'), version: '0', initializeMs: 600_000 };
    const found = {
      name: 'gemini',
      program,
      version: '1.2.3',
      login: 'yes',
      // It says that it can load a session, and is known for not doing so.
      can: { resume: false, steer: false, httpTools: true },
      problem: null,
    };
    expect(await detect(gemini, options)).toMatchObject(found);
    expect(await detect(gemini, options)).toMatchObject(found);
    expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('asked\n');
    expect(readdirSync(home)).toEqual([]);
    expect(readdirSync(options.folder)).toEqual(['gemini.json']);

    writeFileSync(program, agent('--crash # another one'), { mode: 0o755 });
    const broken = await detect(gemini, { ...options, env: { PATH: env.PATH } });
    expect(broken).toMatchObject({ login: 'no', version: null, can: null });
    expect(broken.problem).toMatch(/left-pad/);
    writeFileSync(program, agent('--hang'), { mode: 0o755 });
    expect((await detect(gemini, { ...options, initializeMs: 200 })).problem).toMatch(/did not answer/);
    rmSync(program);
    expect(await detect(gemini, options)).toMatchObject({
      program: null,
      problem: expect.stringMatching(/not installed.*npm install -g @google\/gemini-cli/),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
