import type { Permit } from '@reveille/core';
import type { Action, AgentType, PolicyLayer, PolicyRule } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { quiet, refused, start, type World } from './world.ts';

const ASKS: PolicyRule = { command: 'git push*', verdict: 'ask' };
const layer = (rules: PolicyRule[]): PolicyLayer => ({ from: 'your settings', preset: 'normal', rules });
/** What the person says of every agent, unless it is said of one. */
const saying = (rules: PolicyRule[], of: Record<string, PolicyRule[]> = {}) => ({
  definitions: {
    policy: ({ name }: AgentType) => [layer(rules), ...(of[name] ? [layer(of[name])] : [])],
  },
});

const push = (command = 'git push origin main'): Action => ({
  tool: 'run_command',
  kind: 'command',
  command,
  paths: [],
  held: true,
  where: '/trees/a',
  detail: '',
  digest: `digest of ${command}`,
});

function permit(
  world: World,
  name: string,
  action: Action,
  more: { signal?: AbortSignal; patienceMs?: number } = {},
): Promise<Permit> {
  const { session, run, epoch } = world.worker(name).spec;
  const signal = new AbortController().signal;
  return world.engine.permits.permit({ kind: 'worker', session, run, epoch }, action, { signal, ...more });
}

test('[INB2.14] a request says what would be done, and all that is known of it', async () => {
  const tool = (more: Partial<Action>): Action => ({
    ...push(),
    tool: 'browse',
    kind: 'other',
    command: null,
    ...more,
  });
  const files = { unknownFiles: ['$script', 'b*.sh'] };
  await using world = await start(saying([ASKS, { tool: 'browse', verdict: 'ask' }]));
  await world.plan({ a: {} });
  const because = `It works on "a" (${world.worker('a').task}). Asked because of`;
  for (const [action, words] of [
    [push(), ['wants to run a command in /trees/a:', '    git push origin main', because]],
    [tool({}), ['wants to use browse in /trees/a.', because]],
    [tool({ where: null, detail: 'as ada' }), ['wants to use browse.', '    as ada', because]],
    [
      tool({ kind: 'write', paths: ['x', 'y'] }),
      ['wants to use browse (write) in /trees/a:', '    x', '    y', because],
    ],
    [
      { ...push('git push $script b*.sh'), ...files },
      [
        'wants to run a command in /trees/a:',
        '    git push $script b*.sh',
        'Files that these words stand for are not shown, and may change after you approve:',
        '    $script',
        '    b*.sh',
        because,
      ],
    ],
  ] as const) {
    const asked = permit(world, 'a', action);
    await quiet();
    const [request] = await world.person.inbox();
    const lines = request!.text.split('\n');
    expect(lines.map((line, i) => (line.includes(words[i] ?? '?') ? words[i] : line))).toEqual(words);
    expect(lines[0]).toMatch(/[.:]$/);
    expect(lines[0]!.endsWith(words[0])).toBe(true);
    await world.person.answer({ request: request!.id, answer: 'deny' });
    await asked;
  }
});

test('[INB2.14] a request shows what would run, where, by whom and why; a yes allows it once', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: { agent: 'coder' }, b: [] });
  const asked = permit(world, 'a', push());
  await quiet();
  const [request] = await world.person.inbox();
  expect(request).toMatchObject({
    kind: 'approval',
    options: ['approve', 'deny'],
    action: push(),
    with: null,
  });
  for (const part of ['@scripted:coder', 'git push origin main', '/trees/a', 'rule 1 of your settings'])
    expect(request!.text).toContain(part);
  expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'approval' });
  // Nothing else stops meanwhile.
  await world.worker('b').reports();
  await world.person.answer({ request: request!.id, answer: 'approve' });
  expect(await asked).toEqual({ allowed: true });
  await quiet();
  expect(await world.state('a')).toBe('running');
  // Once: the same again is asked again.
  const again = permit(world, 'a', push());
  await quiet();
  const [second] = await world.person.inbox();
  expect(second!.id).not.toBe(request!.id);
  await world.person.answer({ request: second!.id, answer: 'deny: not on a Friday' });
  expect(await again).toEqual({ allowed: false, why: 'It was not allowed: deny: not on a Friday' });
  await world.worker('a').reports();
});

test('[INB2.14] what is changed asks anew, also while the first waits', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const asked = [permit(world, 'a', push()), permit(world, 'a', push('git push --force'))];
  await quiet();
  const inbox = await world.person.inbox();
  expect(inbox.map(({ action }) => action?.command ?? '').toSorted()).toEqual([
    'git push --force',
    'git push origin main',
  ]);
  const plain = inbox.find(({ action }) => action?.command === 'git push origin main')!;
  await world.person.answer({ request: plain.id, answer: 'yes' });
  expect(await asked[0]).toEqual({ allowed: true });
  await world.person.answer({ request: inbox.find(({ id }) => id !== plain.id)!.id, answer: 'no' });
  expect(await asked[1]).toMatchObject({ allowed: false });
});

test('[INB2.14] the same wish twice at once is two wishes: one yes is for one of them', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const asked = [permit(world, 'a', push()), permit(world, 'a', push())];
  for (const answer of ['approve', 'deny']) {
    await quiet();
    const inbox = await world.person.inbox();
    expect(inbox).toHaveLength(1);
    await world.person.answer({ request: inbox[0]!.id, answer });
  }
  expect((await Promise.all(asked)).map(({ allowed }) => allowed)).toEqual([true, false]);
});

test('[INB2.14] only a plain yes or no counts, and a request is answered once', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const asked = permit(world, 'a', push());
  await quiet();
  const [request] = await world.person.inbox();
  for (const answer of [
    'approve? no way',
    'ok but only to staging',
    'maybe',
    '',
    '3',
    '0',
    '1.5',
    'Infinity',
  ])
    await refused(world.person.answer({ request: request!.id, answer }), 'invalid_input');
  await world.person.answer({ request: request!.id, answer: 'Approve: it is a test' });
  await refused(world.person.answer({ request: request!.id, answer: 'deny' }), 'already_answered');
  expect(await asked).toEqual({ allowed: true });
});

test('[INB2.14] an answer may be the number of a choice', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  for (const [answer, allowed] of [
    ['1', true],
    ['2', false],
  ] as const) {
    const asked = permit(world, 'a', push());
    await quiet();
    const [request] = await world.person.inbox();
    await world.person.answer({ request: request!.id, answer });
    expect(await asked).toMatchObject({ allowed });
  }
});

test('[INB2.15] whoever cannot wait is told to come again; the yes waits for it, over a crash too', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const asked = permit(world, 'a', push(), { patienceMs: 1_000 });
  await quiet();
  await world.advance(1_000);
  const [request] = await world.person.inbox();
  expect(await asked).toMatchObject({ allowed: false, request: request!.id });
  await quiet();
  await world.worker('a').ends('I wait');
  expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'approval' });
  world.crash();
  await world.restart();
  await world.person.answer({ request: request!.id, answer: 'approve' });
  await quiet();
  expect(world.worker('a').last.text).toContain('approve');
  expect(await permit(world, 'a', push())).toEqual({ allowed: true });
  const third = expect(permit(world, 'a', push())).rejects.toMatchObject({ code: 'stale_caller' });
  await quiet();
  expect(await world.person.inbox()).toHaveLength(1);
  await world.worker('a').reports();
  await third;
  expect(await world.person.inbox()).toEqual([]);
});

test('[INB2.15] given up, the request closes; by setting it expires, to a refusal', async () => {
  await using world = await start({ ...saying([ASKS]), settings: { requests: { expireAfterMs: 60_000 } } });
  await world.plan({ a: [] });
  const gone = new AbortController();
  const asked = permit(world, 'a', push(), { signal: gone.signal });
  const refusal = expect(asked).rejects.toMatchObject({ code: 'aborted' });
  await quiet();
  gone.abort();
  await refusal;
  expect(await world.person.inbox()).toEqual([]);
  const late = permit(world, 'a', push());
  await world.advance(70_000);
  expect(await late).toMatchObject({ allowed: false, why: expect.stringContaining('denied') });
});

test('[INB2.16] an agent is asked only about what it could do itself, and can allow nothing else', async () => {
  await using world = await start(saying([], { tester: [ASKS], reviewer: [ASKS] }));
  await world.plan({ parent: { agent: 'coder' }, strict: { agent: 'reviewer' } });
  const [parent, strict] = [world.worker('parent'), world.worker('strict')];
  await parent.spawns('child', { agentType: 'tester' });
  await strict.spawns('other', { agentType: 'coder' });
  const asked = [permit(world, 'child', push()), permit(world, 'other', push())];
  await quiet();
  const [own] = await world.mail(parent.spec.session, 'approval_request');
  expect(own?.text).toContain('git push origin main');
  // What its parent must ask for, the child must, and not of its parent.
  expect(await world.mail(strict.spec.session, 'approval_request')).toEqual([]);
  const [request] = await world.person.inbox();
  expect(request).toMatchObject({ with: null, action: { command: 'git push origin main' } });
  await refused(strict.orch.answer({ request: request!.id, answer: 'approve' }), 'not_allowed');
  await parent.orch.answer({ request: own!.request!, answer: 'approve' });
  expect(await asked[0]).toEqual({ allowed: true });
  await refused(strict.orch.answer({ request: request!.id, answer: 'deny' }), 'not_allowed');
  await world.person.answer({ request: request!.id, answer: 'deny' });
  expect(await asked[1]).toMatchObject({ allowed: false });
});

test('[INB2.16] a chat is told that its worker waits for the person, once', async () => {
  await using world = await start(saying([ASKS]));
  const chat = await world.chat();
  await chat.spawns('child');
  const asked = permit(world, 'child', push());
  await quiet();
  const [request] = await world.person.inbox();
  expect(await chat.mail('info')).toMatchObject([{ text: expect.stringContaining(request!.id) }]);
  await refused(chat.orch.answer({ request: request!.id, answer: 'approve' }), 'not_allowed');
  await world.person.answer({ request: request!.id, answer: 'approve' });
  expect(await asked).toEqual({ allowed: true });
  await world.worker('child').reports();
});

test('[INB2.16] one that does not answer passes it on to the person', async () => {
  await using world = await start(saying([], { tester: [ASKS] }));
  await world.plan({ parent: { agent: 'coder' } });
  await world.worker('parent').spawns('child', { agentType: 'tester' });
  const asked = permit(world, 'child', push());
  await quiet();
  expect(await world.person.inbox()).toEqual([]);
  await world.advance(310_000);
  const [request] = await world.person.inbox();
  await world.person.answer({ request: request!.id, answer: 'approve' });
  expect(await asked).toEqual({ allowed: true });
});

test('[INB2.17] a later setting takes away at once and gives nothing to a task that there is', async () => {
  let rules: PolicyRule[] = [ASKS];
  await using world = await start({ definitions: { policy: () => [layer(rules)] } });
  await world.plan({ a: [] });
  rules = [];
  const asked = permit(world, 'a', push());
  await quiet();
  const [request] = await world.person.inbox();
  await world.person.answer({ request: request!.id, answer: 'deny' });
  expect(await asked).toMatchObject({ allowed: false });
  rules = [{ tool: 'command', verdict: 'deny' }];
  expect(await permit(world, 'a', push('make'))).toMatchObject({
    allowed: false,
    why: expect.stringContaining('not allowed here'),
  });
  expect((await world.task('a')).task.policy).toEqual([
    { agent: { backend: 'scripted', name: 'agent' }, layers: [layer([ASKS])] },
  ]);
});

const DENIED = { allowed: false, why: expect.stringContaining('not allowed here') };
const NONE: PolicyRule = { tool: 'command', verdict: 'deny' };

test('[INB2.18] what is said now of one above holds for those below, and for whoever they are yet to make', async () => {
  const of: Record<string, PolicyRule[]> = {};
  await using world = await start({
    settings: { depth: { orchestrator: 3, standalone: 3 } },
    definitions: { policy: ({ name }) => [layer(of[name] ?? [])] },
  });
  await world.plan({ a: { agent: 'coder' } });
  await world.worker('a').spawns('early', { agentType: 'tester' });
  expect(await permit(world, 'early', push())).toEqual({ allowed: true });
  of['coder'] = [NONE];
  expect(await permit(world, 'early', push())).toMatchObject(DENIED);
  await world.worker('a').spawns('late', { agentType: 'tester' });
  await world
    .worker('a')
    .orch.savePlan({ name: 'p', tasks: [{ id: 'planned', prompt: 'planned' }] }, { start: true });
  await quiet();
  of['coder'] = [];
  expect(await permit(world, 'early', push())).toEqual({ allowed: true });
  // What held when it was made is not given back.
  expect(await permit(world, 'late', push())).toMatchObject(DENIED);
  expect(await permit(world, 'planned', push())).toMatchObject(DENIED);
});

test('[INB2.19] one that takes a task over may do no more than the one before it, and those below no more than it', async () => {
  await using world = await start(saying([], { tester: [NONE] }));
  await world.plan({ a: { agent: 'coder' }, b: { agent: 'tester' } });
  const { task } = world.worker('a');
  await world.worker('a').spawns('child', { agentType: 'coder' });
  expect(await permit(world, 'child', push())).toEqual({ allowed: true });
  await world.person.swapWorker(task, { agent: 'tester' });
  await quiet();
  expect(await permit(world, 'a', push())).toMatchObject(DENIED);
  expect(await permit(world, 'child', push())).toMatchObject(DENIED);
  await world.person.swapWorker(world.worker('b').task, { agent: 'coder' });
  await quiet();
  expect(await permit(world, 'b', push())).toMatchObject(DENIED);
});

test('[INB2.14] what cannot be seen is written out', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const asked = permit(world, 'a', push('git push \u202Eniam\u001B[2K'));
  await quiet();
  const [request] = await world.person.inbox();
  expect(request!.text).toContain(String.raw`git push \u202eniam\u001b[2K`);
  await world.person.answer({ request: request!.id, answer: 'deny' });
  await asked;
});

test('[BND7.40] a run has only so many open requests, by whichever door, and the same one twice is one', async () => {
  await using world = await start({
    ...saying([ASKS]),
    settings: { requests: { passOnAfterMs: 300_000, expireAfterMs: null, openPerRun: 3 } },
  });
  await world.plan({ a: [], b: [] });
  const { orch } = world.worker('a');
  const ask = (type: 'question' | 'approval_request', message: string) =>
    orch.notifyParent({ type, message });
  const first = await ask('approval_request', 'May I deploy?');
  expect((await ask('approval_request', 'May I deploy?')).request).toBe(first.request);
  await ask('question', 'May I deploy?');
  const waiting = permit(world, 'a', push());
  await quiet();
  expect(await world.person.inbox()).toHaveLength(3);
  for (let i = 0; i < 30; i++) await refused(ask('approval_request', `And ${i}?`), 'limit_reached');
  expect(await permit(world, 'a', push('git push --force'))).toEqual({
    allowed: false,
    why: expect.stringContaining('wait for an answer'),
  });
  await refused(
    world.engine.approve(
      { kind: 'worker', ...world.worker('a').spec },
      { text: 'x', options: [], key: 'k' },
      new AbortController().signal,
    ),
    'limit_reached',
  );
  expect(await world.person.inbox()).toHaveLength(3);
  // Another run is not kept from asking; and who has an answer may ask again.
  await world.worker('b').orch.notifyParent({ type: 'question', message: 'And I?' });
  await world.person.answer({ request: first.request!, answer: 'denied' });
  await ask('approval_request', 'Then tomorrow?');
  for (const { id } of await world.person.inbox()) await world.person.answer({ request: id, answer: 'deny' });
  await waiting;
});

test('[BND7.40] what is too long to be read is not asked, and is not kept', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const long = `git push ${'x'.repeat(1_000_000)}`;
  expect(await permit(world, 'a', push(long))).toEqual({
    allowed: false,
    why: expect.stringContaining('too many to be read'),
  });
  const { orch } = world.worker('a');
  await refused(orch.notifyParent({ type: 'question', message: 'x'.repeat(100_000) }), 'limit_reached');
  expect(await world.person.inbox()).toEqual([]);
  // What needs no approval may be as long as it likes.
  expect(await permit(world, 'a', push(`echo ${'x'.repeat(100_000)}`))).toEqual({ allowed: true });
});

test('[INB3.1] a request shows the files that its command names, with their size and hash', async () => {
  await using world = await start(saying([ASKS]));
  await world.plan({ a: [] });
  const files = [
    { path: 'build.sh', size: 15, sha256: 'abc123', text: 'echo harmless\n', cut: false },
    { path: 'long.sh', size: 9_000, sha256: 'def456', text: 'echo long\n', cut: true },
    { path: 'tool.bin', size: 7, sha256: '789', text: null, cut: false },
  ];
  const asked = permit(world, 'a', { ...push(), files });
  await quiet();
  const [request] = await world.person.inbox();
  for (const part of [
    'build.sh, 15 bytes, sha256 abc123',
    '    echo harmless',
    'its first 10 characters',
    'no text',
  ])
    expect(request!.text).toContain(part);
  await world.person.answer({ request: request!.id, answer: 'deny' });
  await asked;
});
