import { choicesOf, optionsOf, type Request } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start, type World } from './world.ts';

const item = async (world: World): Promise<Request> => {
  const [first, ...others] = await world.person.inbox();
  expect(others).toEqual([]);
  return first!;
};

const choose = async (world: World, answer: string): Promise<Request> => {
  const answered = await world.person.answer({ request: (await item(world)).id, answer });
  await quiet();
  return answered;
};

describe('an idle worker', () => {
  /** Asked why it is silent, it gave no sign. */
  async function idle(): Promise<World> {
    const world = await start();
    await world.plan({ a: [], b: ['a'] });
    await world.worker('a').says('nearly done');
    await world.worker('a').ends('nearly done');
    await world.advance(61_000);
    return world;
  }
  const inquiries = async (world: World): Promise<number> =>
    (await world.mail(world.worker('a').spec.session, 'inquiry')).length;

  test('[INB1.1] keep waiting: it goes on, and nobody is asked again', async () => {
    await using world = await idle();
    expect(choicesOf(await item(world)).map(({ id }) => id)).toEqual([
      'keep waiting',
      'remind',
      'mark complete',
      'cancel',
    ]);
    await choose(world, 'Keep waiting');
    await world.advance(120_000);
    expect(await world.state('a')).toBe('running');
    expect(await world.person.inbox()).toEqual([]);
    expect(await inquiries(world)).toBe(1);
  });

  test('[INB1.2] remind: it is asked once more', async () => {
    await using world = await idle();
    await choose(world, 'remind');
    expect(await inquiries(world)).toBe(2);
    expect(await world.state('a')).toBe('running');
  });

  test('[INB1.3] mark complete: its last words are its result, and what depends on it starts', async () => {
    await using world = await idle();
    await choose(world, 'mark complete');
    expect(await world.task('a')).toMatchObject({
      task: { state: 'completed' },
      end: { output: 'nearly done', cause: 'completed_by_owner' },
    });
    expect(await world.state('b')).toBe('running');
  });

  test('[INB1.4] cancel: it is stopped', async () => {
    await using world = await idle();
    await choose(world, 'cancel');
    expect(await world.states('a', 'b')).toEqual(['cancelled', 'blocked']);
    expect(world.hasWorker('a')).toBe(false);
  });
});

describe('a failure', () => {
  async function failure(): Promise<World> {
    const world = await start();
    await world.plan({ a: [], b: ['a'] });
    await world.worker('a').fails('auth', 'no key');
    await quiet();
    return world;
  }

  test('[INB1.5] retry: another attempt, and what it blocked waits for it again', async () => {
    await using world = await failure();
    const request = await item(world);
    expect(request).toMatchObject({ kind: 'failure', text: /a.*attempt 1: auth: no key/ });
    expect(choicesOf(request).map(({ id }) => id)).toEqual(['retry', 'retry with', 'cancel', 'details']);
    await choose(world, 'retry');
    expect(await world.task('a')).toMatchObject({ task: { state: 'running', attempts: 2 } });
    expect(await world.state('b')).toBe('pending');
    await refused(world.person.answer({ request: request.id, answer: 'retry' }), 'already_answered');
  });

  test.for([
    ['retry with claude:coder', 'claude', 'coder', null],
    ['retry with model opus', 'scripted', 'agent', 'opus'],
    ['Retry with @coder model opus', 'scripted', 'coder', 'opus'],
  ] as const)('[INB1.6] %s: the next attempt is by that one', async ([answer, backend, name, model]) => {
    await using world = await failure();
    await choose(world, answer);
    expect(await world.task('a')).toMatchObject({
      task: { state: 'running', attempts: 2, agent: { backend, name }, model },
    });
    expect(world.worker('a').spec.task.agent).toEqual({ backend, name });
  });

  test('[INB1.6] with one that does not exist, or none, nothing changes and it can be answered again', async () => {
    await using world = await failure();
    const { id: request } = await item(world);
    const unknown = await refused(
      world.person.answer({ request, answer: 'retry with kodder' }),
      'unknown_agent',
    );
    expect(unknown.message).toContain('coder');
    await refused(world.person.answer({ request, answer: 'retry with' }), 'invalid_input');
    const other = await refused(world.person.answer({ request, answer: 'bananas' }), 'invalid_input');
    expect(other.message).toContain('1. retry | 2. retry with: <');
    expect(await world.state('a')).toBe('failed');
    await choose(world, 'retry');
    expect(await world.state('a')).toBe('running');
  });

  test('[INB1.7] cancel: it stays failed, and nobody is asked again', async () => {
    await using world = await failure();
    await choose(world, 'cancel');
    expect(await world.states('a', 'b')).toEqual(['failed', 'blocked']);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[INB1.8] details: a look is no answer, it waits on', async () => {
    await using world = await failure();
    expect(await choose(world, 'details')).toMatchObject({ state: 'open', answer: null });
    expect((await item(world)).state).toBe('open');
  });

  test('[INB1.9] is an item if a person or a plan owns the task; a retry at another door closes it; an agent’s child is its own', async () => {
    await using world = await start();
    const terminal = await world.chat('terminal');
    const chat = await world.chat('chat');
    await terminal.spawns('of terminal');
    await chat.spawns('of chat');
    for (const name of ['of terminal', 'of chat']) await world.worker(name).fails('refusal');
    await quiet();
    expect(await item(world)).toMatchObject({ kind: 'failure', task: world.worker('of terminal').task });
    await world.person.retryTask(world.worker('of terminal').task);
    expect(await world.person.inbox()).toEqual([]);
  });
});

describe('a budget', () => {
  /** Whoever finds that a budget is used up asks like this. */
  async function spent(): Promise<World> {
    const world = await start();
    await world.plan({ a: { budget: { turns: 1 } } });
    const a = world.worker('a');
    await a.ends();
    await quiet();
    return world;
  }

  test('[INB1.10] raise: it goes on with twice as much, or with what is said', async () => {
    await using world = await spent();
    const { id, kind, from, task, options } = await item(world);
    expect([kind, options]).toEqual(['budget', optionsOf('budget')]);
    expect(from).toBe((await world.task('a')).task.session);
    await refused(world.person.answer({ request: id, answer: 'raise bananas=2' }), 'invalid_input');
    await choose(world, 'raise turns=5');
    expect(await world.task('a')).toMatchObject({ task: { state: 'running', attempts: 2 } });
    expect((await world.store.get('budget', task))?.doc.limits).toEqual({ turns: 5 });
  });
});

describe('a question', () => {
  test('[INB2.90] whoever waits for an answer costs nothing: no turn, no slot, no agent after a restart', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({ a: [], b: [] });
    const request = await world.worker('a').asks('which?');
    expect(world.working).toEqual(['a']);
    await world.worker('a').ends();
    expect(world.working).toEqual(['b']);
    expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'answer' });
    world.crash();
    await world.restart();
    expect(world.hasWorker('a')).toBe(false);
    await world.person.answer({ request, answer: 'the left one' });
    await quiet();
    expect(world.worker('a').last.text).toContain('the left one');
  });

  test('[INB2.91] an answer to a run that is over is refused kindly, and changes nothing', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const request = await world.worker('a').asks('which?');
    await world.worker('a').reports('found out myself');
    const before = await world.store.lastEvent();
    const late = await refused(world.person.answer({ request, answer: 'left' }), 'already_answered');
    expect(late.message).toMatch(/no longer needs an answer \(closed\). Nothing was changed/);
    expect(await world.store.lastEvent()).toBe(before);
  });

  test('[INB2.92] who holds it may pass it on at once, and only that one', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    const request = await world.worker('child').asks('which?');
    await world.worker('parent').orch.answer({ request, answer: 'Pass on' });
    expect(await item(world)).toMatchObject({ id: request, with: null, state: 'open' });
    await world.person.answer({ request, answer: 'pass on' });
    expect(await world.person.inbox()).toEqual([]);
  });
});

describe('an answer', () => {
  /** A worker that asks the person, with these choices. */
  async function asked(options: string[], more: { freeText?: boolean } = {}): Promise<World> {
    const world = await start();
    await world.plan({ a: [] });
    await world.worker('a').orch.notifyParent({ type: 'question', message: 'Which?', options, ...more });
    await world.worker('a').ends();
    return world;
  }

  test('[INB3.10] by number, label or id reaches the asker as the id', async () => {
    for (const answer of ['2', 'Red', 'red.']) {
      await using world = await asked(['blue', 'red']);
      expect((await choose(world, answer)).answer?.text).toBe('red');
      expect(world.worker('a').last.text).toContain('red');
    }
  });

  test('[INB3.12] that is none of the choices is refused with the list, and the request waits on', async () => {
    await using world = await asked(['blue', 'red']);
    for (const answer of ['3', 'neither', 'have blue', 'constructor']) {
      const { message } = await refused(
        world.person.answer({ request: (await item(world)).id, answer }),
        'invalid_input',
      );
      expect(message).toContain('1. blue | 2. red');
    }
    expect((await item(world)).state).toBe('open');
  });

  test('[INB3.12] in other words is taken where the asker wants it', async () => {
    await using world = await asked(['blue', 'red'], { freeText: true });
    expect((await choose(world, 'neither: green')).answer?.text).toBe('neither: green');
  });

  test('[INB3.12] to a review or a plan is a choice as well: a slip of the pen is no wish for changes', async () => {
    await using world = await start();
    await world.plan({ a: { review: 'person' } });
    await world.worker('a').reports();
    const { id: request } = await item(world);
    await refused(world.person.answer({ request, answer: 'aprove' }), 'invalid_input');
    const bare = await refused(world.person.answer({ request, answer: 'changes' }), 'invalid_input');
    expect(bare.message).toContain('changes: <what is to be different>');
    expect(await world.state('a')).toBe('review');
    await choose(world, '2: use tabs');
    expect(world.worker('a').last.text).toContain('use tabs');
  });

  test('[INB3.14] an option that has the name of an act of ours is only an option', async () => {
    await using world = await asked(['details', 'pass on']);
    expect(await choose(world, 'details')).toMatchObject({ state: 'answered', answer: { text: 'details' } });
  });
});
