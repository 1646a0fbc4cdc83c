import type { Board, ReveilleEvent, RunRow, TaskRow } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { fold, foldHistory } from '../src/store/fold.ts';
import { Store } from '../src/store/store.ts';

const run: RunRow = {
  id: 'run_1',
  state: 'open',
  paused: false,
  takenBy: null,
  inTurn: false,
  turns: 0,
  tokens: 0,
  usd: 0,
  estimated: false,
  startedAt: 0,
  status: null,
  error: null,
  doing: null,
};
const row = (id: TaskRow['id'], also: Partial<TaskRow> = {}): TaskRow => ({
  id,
  plan: null,
  key: null,
  name: id,
  agent: '@scripted:agent',
  model: null,
  owner: 'session_0',
  session: 'session_1',
  depth: 0,
  dependencies: [],
  priority: 'normal',
  review: 'none',
  state: 'running',
  why: '',
  since: 0,
  waitingOn: null,
  cancelling: false,
  attempts: 1,
  hasFiles: false,
  run,
  createdAt: 0,
  ...also,
});

async function loaded(...rows: TaskRow[]): Promise<Store> {
  const store = new Store();
  const board: Board = { event: 10, plans: [], rows, sessions: [], inbox: [] };
  await store.load(board);
  return store;
}

let number = 10;
const event = (type: string, also: Partial<ReveilleEvent> = {}): ReveilleEvent => ({
  number: ++number,
  at: 500,
  type,
  ...also,
});

test('[HLT2.31] what is wrong with a worker is read again when it begins and when it is over', async () => {
  for (const type of ['health.stuck', 'health.looping', 'health.recovered']) {
    const store = await loaded(row('task_1'));
    fold(store, [event(type, { task: 'task_1' })]);
    expect([...store.wanted], type).toEqual(['task_1']);
  }
});

test('[DSH1.14] events bring states, waits, turns and pauses up to date, without changing a row in place', async () => {
  const store = await loaded(row('task_1'), row('task_2'));
  const [before, other] = [store.rows.get('task_1'), store.rows.get('task_2')];
  const ids = { task: 'task_1', run: 'run_1' };
  fold(store, [
    event('task.waiting', { ...ids, data: { state: 'waiting', why: 'waits', on: 'children' } }),
    event('turn.opened', { ...ids, data: { turn: 3 } }),
    event('run.paused', ids),
    event('task.cancelling', { ...ids, data: { by: 'ann' } }),
  ]);
  expect(store.rows.get('task_1')).toMatchObject({
    state: 'waiting',
    waitingOn: 'children',
    since: 500,
    cancelling: true,
  });
  expect(store.rows.get('task_1')?.run).toMatchObject({ inTurn: true, turns: 3, paused: true });
  expect(before).toMatchObject({ state: 'running', cancelling: false });
  expect(store.rows.get('task_2')).toBe(other);
  expect(store.event).toBe(number);
  fold(store, [event('turn.ended', ids), event('run.resumed', ids)]);
  expect(store.rows.get('task_1')?.run).toMatchObject({ inTurn: false, paused: false });
});

test('[DSH1.14] what an event does not tell is read again: new tasks, runs and ends, other agents, who has taken over, plans, the inbox', async () => {
  const store = await loaded(row('task_1'));
  fold(store, [
    event('task.created', { task: 'task_9', data: { state: 'pending' } }),
    event('run.opened', { task: 'task_1', run: 'run_2' }),
    event('plan.created', { plan: 'plan_9', data: { state: 'draft' } }),
    event('request.opened', { request: 'req_1', task: 'task_1' }),
  ]);
  expect([...store.wanted]).toEqual(['task_9', 'task_1']);
  for (const type of ['task.swapped', 'work.taken_over']) {
    store.wanted.clear();
    fold(store, [event(type, { task: 'task_1', run: 'run_1' })]);
    expect([...store.wanted]).toEqual(['task_1']);
  }
  store.touched.clear();
  fold(store, [
    event('message.queued', { session: 'session_1', messages: ['msg_1'] }),
    event('turn.ended', { task: 'task_1', run: 'run_1' }),
  ]);
  expect([...store.touched]).toEqual(['task_1']);
  expect(store.stale).toEqual({ inbox: true, plans: true });
});

test('[DSH1.14] mail and conflicts follow from events, also from those before the rows were read', async () => {
  const store = await loaded(row('task_1'), row('task_2'));
  const mail = { session: 'session_1', messages: ['msg_1', 'msg_2'] };
  foldHistory(store, [
    event('message.queued', { ...mail, data: { kind: 'words' } }),
    event('conflict.began', { task: 'task_2', data: { with: 'task_1', files: ['a.ts'] } }),
  ]);
  expect(store.mail.get('session_1')).toEqual({ waiting: 2, last: 'words queued', at: 500 });
  expect([...store.conflicts.values()]).toEqual([{ a: 'task_2', b: 'task_1', files: ['a.ts'] }]);
  fold(store, [
    event('message.delivered', mail),
    event('conflict.ended', { task: 'task_1', data: { with: 'task_2', files: ['a.ts'] } }),
  ]);
  expect(store.mail.get('session_1')?.waiting).toBe(0);
  expect(store.conflicts.size).toBe(0);
});

test('[DSH1.14] what is remembered of events is bounded', async () => {
  const store = await loaded(row('task_1'));
  for (let i = 0; i < 20; i++)
    fold(
      store,
      Array.from({ length: 1_000 }, () => event('turn.opened', { task: 'task_1', run: 'run_1' })),
    );
  expect(store.events.length).toBeLessThanOrEqual(6_000);
  expect(store.events.at(-1)?.number).toBe(number);
});
