import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Change, Outcome } from '@reveille/core';
import type { Backend } from '@reveille/stores';
import { dispatchContract } from './dispatch-contract.ts';
import type { OpenSubject, Subject } from './subject.ts';
import { budget, change, message, plan, request, run, session, task, writing } from './fixtures.ts';

/** What every store promises; run for each of them. */
export function storeContract(name: string, open: OpenSubject): void {
  describe(name, () => {
    changesContract(open);
    listsContract(open);
    eventsContract(open);
    dispatchContract(open);
  });
}

function useSubject(open: OpenSubject): { subject: Subject } {
  const use = {} as { subject: Subject };
  beforeEach(async () => {
    use.subject = await open();
  });
  afterEach(() => use.subject.dispose());
  return use;
}

const done = (lastEvent: number): Outcome => ({ committed: true, lastEvent });
const CONFLICT: Outcome = { committed: false };
const insertTask = (id: `task_${string}`, key: string | null = null): Change =>
  writing({ table: 'task', id, expect: 0, doc: task({ id, key }) });

function changesContract(open: OpenSubject): void {
  const use = useSubject(open);
  const store = () => use.subject.backend.store;

  it('[STO1] gives a written row back, the same, with its version', async () => {
    const one = task({
      id: 'task_1',
      prompt: 'quotes " \\ \u0000 🦋 \u2028',
      targetFiles: ['a', 'b'],
      createdAt: 1.5,
    });
    expect(await store().commit(writing({ table: 'task', id: 'task_1', expect: 0, doc: one }))).toEqual(
      done(1),
    );
    expect(await store().get('task', 'task_1')).toEqual({ version: 1, doc: one });
    const two = { ...one, state: 'running' as const };
    await store().commit(writing({ table: 'task', id: 'task_1', expect: 1, doc: two }));
    expect(await store().get('task', 'task_1')).toEqual({ version: 2, doc: two });
    expect(await store().get('task', 'task_2')).toBeUndefined();
  });

  it('[STO1] what is missing of a row stays missing, and null stays null', async () => {
    const whole = task({ id: 'task_1', key: null, model: 'm' });
    const { model: _model, attempts: _attempts, ...rest } = whole;
    const part = rest as typeof whole;
    await store().commit(writing({ table: 'task', id: 'task_1', expect: 0, doc: part }));
    if (use.subject.reopen) use.subject = await use.subject.reopen();
    expect((await store().get('task', 'task_1'))?.doc).toStrictEqual(part);
    await store().commit(writing({ table: 'task', id: 'task_1', expect: 1, doc: whole }));
    if (use.subject.reopen) use.subject = await use.subject.reopen();
    expect((await store().get('task', 'task_1'))?.doc).toStrictEqual(whole);
  });

  it('[STO28] has at hand what a read would answer with, or nothing', async () => {
    const atHand = (id: string) => store().atHand?.('task', id);
    expect(atHand('task_1')).toBeUndefined();
    const committing = store().commit(insertTask('task_1'));
    const applied = atHand('task_1');
    if (applied) expect(applied).toEqual(await store().get('task', 'task_1'));
    await committing;
    const last = (await store().get('task', 'task_1'))?.doc ?? task({ id: 'task_1' });
    await store().commit(writing({ table: 'task', id: 'task_1', expect: 1, doc: { ...last, why: 'anew' } }));
    expect(atHand('task_1')?.version ?? 2).toBe(2);
  });

  it('[STO1] keeps rows of every table apart', async () => {
    const writes = [
      { table: 'plan', id: 'x', expect: 0, doc: plan({ id: 'plan_x' }) },
      { table: 'task', id: 'x', expect: 0, doc: task({ id: 'task_x' }) },
      { table: 'session', id: 'x', expect: 0, doc: session({ id: 'session_x' }) },
      { table: 'run', id: 'x', expect: 0, doc: run({ id: 'run_x' }) },
      { table: 'message', id: 'x', expect: 0, doc: message({ id: 'msg_x' }) },
      { table: 'request', id: 'x', expect: 0, doc: request({ id: 'req_x' }) },
      { table: 'budget', id: 'x', expect: 0, doc: budget({ id: 'x' }) },
    ] as const;
    await store().commit(writing(...writes));
    for (const { table, doc } of writes) expect(await store().get(table, 'x')).toEqual({ version: 1, doc });
  });

  it('[STO2] refuses a write whose expected version does not hold', async () => {
    await store().commit(insertTask('task_1'));
    expect(await store().commit(insertTask('task_1'))).toEqual(CONFLICT);
    const ahead = writing({ table: 'task', id: 'task_1', expect: 2, doc: task({ id: 'task_1' }) });
    expect(await store().commit(ahead)).toEqual(CONFLICT);
    const missing = writing({ table: 'task', id: 'task_9', expect: 1, doc: task({ id: 'task_9' }) });
    expect(await store().commit(missing)).toEqual(CONFLICT);
    expect((await store().get('task', 'task_1'))?.version).toBe(1);
    expect(await store().lastEvent()).toBe(1);
  });

  it('[STO2] refuses a change whose guard does not hold, for rows that must be and rows that must not', async () => {
    await store().commit(insertTask('task_1'));
    const guarded = (id: string, version: number): Change => ({
      ...insertTask(`task_${Math.random().toString(36).slice(2)}`),
      guards: [{ table: 'task', id, version }],
    });
    expect((await store().commit(guarded('task_1', 1))).committed).toBe(true);
    expect(await store().commit(guarded('task_1', 2))).toEqual(CONFLICT);
    expect(await store().commit(guarded('task_1', 0))).toEqual(CONFLICT);
    expect((await store().commit(guarded('task_9', 0))).committed).toBe(true);
    expect(await store().commit(guarded('task_9', 1))).toEqual(CONFLICT);
  });

  it('[STO2] checks guards against the rows as they were before the change', async () => {
    await store().commit(insertTask('task_1'));
    const both = {
      ...writing({ table: 'task', id: 'task_1', expect: 1, doc: task({ id: 'task_1', state: 'running' }) }),
      guards: [{ table: 'task', id: 'task_1', version: 1 } as const],
    };
    expect((await store().commit(both)).committed).toBe(true);
  });

  it('[STO3] does all of a change or nothing of it', async () => {
    await store().commit(insertTask('task_1'));
    const half = change({
      writes: [
        { table: 'session', id: 'session_1', expect: 0, doc: session({ id: 'session_1' }) },
        { table: 'task', id: 'task_1', expect: 1, doc: task({ id: 'task_1', state: 'running' }) },
        { table: 'task', id: 'task_1', expect: 7, doc: task({ id: 'task_1' }) },
      ],
      facts: [{ type: 'never' }],
      offers: [{ task: 'task_1', rank: 1, delayMs: 0 }],
    });
    expect(await store().commit(half)).toEqual(CONFLICT);
    expect(await store().get('session', 'session_1')).toBeUndefined();
    expect((await store().get('task', 'task_1'))?.version).toBe(1);
    expect(await store().find('task', { list: 'open', equal: [1] })).toHaveLength(1);
    expect(await store().lastEvent()).toBe(1);
    expect(await use.subject.backend.dispatch.nextDueIn()).toBeNull();
  });

  it('[STO3] a change that fails leaves its neighbours in the same commit alone', async () => {
    await store().commit(insertTask('task_0'));
    const outcomes = await Promise.all([
      store().commit(insertTask('task_1', 'a')),
      store().commit({ ...insertTask('task_2', 'b'), guards: [{ table: 'task', id: 'task_0', version: 9 }] }),
      store().commit(insertTask('task_3', 'a')),
      store().commit(insertTask('task_4', 'c')),
      store().commit({ ...insertTask('task_5'), guards: [{ table: 'task', id: 'task_4', version: 1 }] }),
    ]);
    expect(outcomes).toEqual([done(2), CONFLICT, CONFLICT, done(3), done(4)]);
    const open = await store().find('task', { list: 'open', equal: [1] });
    expect(open.map(({ doc }) => doc.id)).toEqual(['task_0', 'task_1', 'task_4', 'task_5']);
  });

  it('[STO4] takes changes in the order of the calls', async () => {
    await store().commit(insertTask('task_1'));
    const step = (expected: number): Promise<Outcome> =>
      store().commit(
        writing({
          table: 'task',
          id: 'task_1',
          expect: expected,
          doc: task({ id: 'task_1', attempts: expected }),
        }),
      );
    const outcomes = await Promise.all([step(1), step(2), step(2), step(3)]);
    expect(outcomes).toEqual([done(2), done(3), CONFLICT, done(4)]);
    expect((await store().get('task', 'task_1'))?.doc.attempts).toBe(3);
  });

  it('[STO5] lets no two rows share a unique value, in one change, one commit or later', async () => {
    expect((await store().commit(insertTask('task_1', 'a'))).committed).toBe(true);
    expect(await store().commit(insertTask('task_2', 'a'))).toEqual(CONFLICT);
    const twice = writing(
      { table: 'task', id: 'task_3', expect: 0, doc: task({ id: 'task_3', key: 'b' }) },
      { table: 'task', id: 'task_4', expect: 0, doc: task({ id: 'task_4', key: 'b' }) },
    );
    expect(await store().commit(twice)).toEqual(CONFLICT);
    expect(await store().get('task', 'task_3')).toBeUndefined();
    const other = task({ id: 'task_5', key: 'a', owner: 'session_other' });
    expect(
      (await store().commit(writing({ table: 'task', id: 'task_5', expect: 0, doc: other }))).committed,
    ).toBe(true);
    expect((await store().commit(insertTask('task_6'))).committed).toBe(true);
    expect((await store().commit(insertTask('task_7'))).committed).toBe(true);
  });

  it('[STO5] frees a unique value when its row takes another', async () => {
    const move = (id: `task_${string}`, expected: number, key: string): Promise<Outcome> =>
      store().commit(writing({ table: 'task', id, expect: expected, doc: task({ id, key }) }));
    const outcomes = await Promise.all([
      move('task_1', 0, 'a'),
      move('task_1', 1, 'b'),
      move('task_2', 0, 'a'),
      move('task_1', 2, 'a'),
      move('task_2', 1, 'c'),
      move('task_1', 2, 'a'),
    ]);
    expect(outcomes.map(({ committed }) => committed)).toEqual([true, true, true, false, true, true]);
    const owner = async () =>
      (await store().find('task', { list: 'byKey', equal: ['session_owner/a'] })).map(({ doc }) => doc.id);
    expect(await owner()).toEqual(['task_1']);
    // Now from what is on disk.
    const later = await Promise.all([move('task_1', 3, 'z'), move('task_3', 0, 'a')]);
    expect(later.map(({ committed }) => committed)).toEqual([true, true]);
    expect(await owner()).toEqual(['task_3']);
  });

  it('[STO6] resolves the barrier, and reads agree afterwards', async () => {
    const committing = store().commit(insertTask('task_1'));
    if (store().readsOwnWrites) expect((await store().get('task', 'task_1'))?.version).toBe(1);
    else await committing;
    await store().barrier();
    expect(store().undone()).toBe(0);
    expect((await store().get('task', 'task_1'))?.version).toBe(1);
    await committing;
  });

  it('[STO1] keeps everything across a reopening', async () => {
    if (!use.subject.reopen) return;
    await store().commit({ ...insertTask('task_1', 'a'), offers: [{ task: 'task_1', rank: 1, delayMs: 0 }] });
    await store().commit(
      writing({ table: 'task', id: 'task_1', expect: 1, doc: task({ id: 'task_1', key: 'z' }) }),
    );
    use.subject = await use.subject.reopen();
    expect(await store().get('task', 'task_1')).toEqual({
      version: 2,
      doc: task({ id: 'task_1', key: 'z' }),
    });
    expect(await store().lastEvent()).toBe(2);
    expect(await store().commit(insertTask('task_2', 'z'))).toEqual(CONFLICT);
    expect(await store().commit(insertTask('task_2', 'a'))).toEqual(done(3));
  });
}

function listsContract(open: OpenSubject): void {
  const use = useSubject(open);
  const store = () => use.subject.backend.store;
  const ids = async (...args: Parameters<Backend['store']['find']>): Promise<string[]> =>
    (await store().find(...args)).map(({ doc }) => doc.id);

  it('[STO7] answers a list in its order, then by id, whatever the order of writing', async () => {
    const at = { plan_c: 5, plan_a: 7, plan_b: 5, plan_d: 1 } as const;
    for (const [id, createdAt] of Object.entries(at)) {
      const doc = plan({ id: id as 'plan_a', createdAt });
      await store().commit(writing({ table: 'plan', id, expect: 0, doc }));
    }
    expect(await ids('plan', { list: 'byState', equal: ['active'] })).toEqual([
      'plan_d',
      'plan_b',
      'plan_c',
      'plan_a',
    ]);
    expect(await ids('plan', { list: 'byState', equal: ['active'], after: 5 })).toEqual(['plan_a']);
    expect(await ids('plan', { list: 'byState', equal: ['active'], limit: 2 })).toEqual(['plan_d', 'plan_b']);
    expect(await ids('plan', { list: 'byState', equal: ['paused'] })).toEqual([]);
  });

  it('[STO7] pages through a list by the last value seen', async () => {
    const numbers = Array.from({ length: 25 }, (_, index) => index + 1);
    await store().commit(
      writing(
        ...numbers.map((number) => {
          const id = `msg_${String(97 - number).padStart(3, '0')}` as const;
          return { table: 'message', id, expect: 0, doc: message({ id, number }) } as const;
        }),
      ),
    );
    const seen: number[] = [];
    for (let after = 0; ; after = seen.at(-1) ?? 0) {
      const page = await store().find('message', {
        list: 'byState',
        equal: ['session_owner', 'queued'],
        after,
        limit: 10,
      });
      if (page.length === 0) break;
      seen.push(...page.map(({ doc }) => doc.number));
    }
    expect(seen).toEqual(numbers);
  });

  it('[STO7] moves a row between lists as it changes, and lists no row by a null column', async () => {
    const set = (expected: number, state: 'ready' | 'completed'): Promise<Outcome> =>
      store().commit(
        writing({ table: 'task', id: 'task_1', expect: expected, doc: task({ id: 'task_1', state }) }),
      );
    await set(0, 'ready');
    expect(await ids('task', { list: 'openByOwner', equal: ['session_owner', 1] })).toEqual(['task_1']);
    await set(1, 'completed');
    expect(await ids('task', { list: 'openByOwner', equal: ['session_owner', 1] })).toEqual([]);
    expect(await ids('task', { list: 'byOwner', equal: ['session_owner'] })).toEqual(['task_1']);
    expect(await ids('task', { list: 'byPlan', equal: [null] })).toEqual([]);
    await set(2, 'ready');
    expect(await ids('task', { list: 'open', equal: [1] })).toEqual(['task_1']);
  });

  it('[STO8] names the sessions with queued messages, each once', async () => {
    const put = (id: `msg_${string}`, to: `session_${string}`, number: number, state: 'queued' | 'read') =>
      ({ table: 'message', id, expect: 0, doc: message({ id, to, number, state }) }) as const;
    await store().commit(
      writing(
        put('msg_1', 'session_b', 1, 'queued'),
        put('msg_2', 'session_a', 1, 'queued'),
        put('msg_3', 'session_b', 2, 'queued'),
        put('msg_4', 'session_c', 1, 'read'),
      ),
    );
    expect(await store().sessionsWithMail(10)).toEqual(['session_a', 'session_b']);
    expect(await store().sessionsWithMail(1)).toEqual(['session_a']);
    const read = message({ id: 'msg_2', to: 'session_a', number: 1, state: 'read' });
    await store().commit(writing({ table: 'message', id: 'msg_2', expect: 1, doc: read }));
    expect(await store().sessionsWithMail(10)).toEqual(['session_b']);
  });
}

function eventsContract(open: OpenSubject): void {
  const use = useSubject(open);
  const store = () => use.subject.backend.store;
  const facts = (...types: string[]): Change =>
    change({ facts: types.map((type) => ({ type, data: { of: types } })), at: 42 });

  it('[STO9] numbers facts from 1, without gaps, in the order of the changes', async () => {
    expect(await store().lastEvent()).toBe(0);
    const outcomes = await Promise.all([
      store().commit(facts('a', 'b', 'c')),
      store().commit({ ...facts('never'), guards: [{ table: 'task', id: 'none', version: 1 }] }),
      store().commit(facts()),
      store().commit(facts('d', 'e')),
    ]);
    expect(outcomes).toEqual([done(3), CONFLICT, done(3), done(5)]);
    const events = await store().events(0, 100);
    expect(events.map(({ number, type }) => `${number}${type}`)).toEqual(['1a', '2b', '3c', '4d', '5e']);
    expect(events[0]).toEqual({ number: 1, at: 42, type: 'a', data: { of: ['a', 'b', 'c'] } });
    expect(await store().lastEvent()).toBe(5);
  });

  it('[STO9] reads on from any number, also from the middle of a change', async () => {
    for (const change of [facts('a', 'b', 'c'), facts('d'), facts('e', 'f')]) await store().commit(change);
    const all = await store().events(0, 100);
    for (let after = 0; after <= 7; after++) {
      for (const limit of [0, 1, 2, 3, 100])
        expect(await store().events(after, limit)).toEqual(all.slice(after, after + limit));
    }
  });

  it('[STO9] goes on with the numbers after a reopening', async () => {
    if (!use.subject.reopen) return;
    await store().commit(facts('a', 'b'));
    use.subject = await use.subject.reopen();
    expect(await store().commit(facts('c'))).toEqual(done(3));
    expect((await store().events(1, 9)).map(({ number, type }) => `${number}${type}`)).toEqual(['2b', '3c']);
  });
}
