import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  INDEX,
  LEASE,
  type Change,
  type Claim,
  type Outcome,
  type Store,
  type TableName,
  type Tables,
  type Write,
} from '@reveille/core';
import type { OpenSubject, Subject } from './subject.ts';
import { change, message, plan, session, task } from './fixtures.ts';

/** A store so simple that it can be believed: an array of rows, searched from end to end. */
class ModelStore {
  rows: { table: TableName; id: string; version: number; doc: Tables[TableName] }[] = [];
  events: { number: number; type: string }[] = [];

  version(table: TableName, id: string): number {
    return this.rows.find((row) => row.table === table && row.id === id)?.version ?? 0;
  }

  commit({ writes, guards, facts }: Change): boolean {
    const before = this.rows;
    if (guards.some(({ table, id, version }) => this.version(table, id) !== version)) return false;
    if (!writes.every((write) => this.#write(write))) {
      this.rows = before;
      return false;
    }
    for (const { type } of facts) this.events.push({ number: this.events.length + 1, type });
    return true;
  }

  get sessionsWithMail(): string[] {
    const queued = this.rows.flatMap(({ table, doc }) =>
      table === 'message' && 'to' in doc && doc.state === 'queued' ? [doc.to] : [],
    );
    return [...new Set(queued)].toSorted();
  }

  #write({ table, id, expect: expected, doc }: Write): boolean {
    if (this.version(table, id) !== expected) return false;
    const others = this.rows.filter((row) => !(row.table === table && row.id === id));
    for (const name of INDEX[table].unique ?? []) {
      const value = column(table, name, doc);
      if (
        value !== null &&
        others.some((row) => row.table === table && column(table, name, row.doc) === value)
      )
        return false;
    }
    this.rows = [...others, { table, id, version: expected + 1, doc }];
    return true;
  }

  find(
    table: TableName,
    list: string,
    equal: readonly unknown[],
  ): { version: number; doc: Tables[TableName] }[] {
    const shape = (INDEX[table].lists as Record<string, { equal: readonly string[]; order: string }>)[list]!;
    const matches = this.rows.filter(
      (row) =>
        row.table === table && shape.equal.every((name, at) => column(table, name, row.doc) === equal[at]),
    );
    const order = (row: { id: string; doc: Tables[TableName] }) =>
      shape.order === 'id' ? row.id : column(table, shape.order, row.doc);
    const sorted = matches.toSorted((a, b) => compare(order(a), order(b)) || compare(a.id, b.id));
    return sorted.map(({ version, doc }) => ({ version, doc }));
  }
}

const column = (table: TableName, name: string, doc: Tables[TableName]): string | number | null =>
  (INDEX[table].columns as unknown as Record<string, (doc: Tables[TableName]) => string | number | null>)[
    name
  ]!(doc);
const compare = (a: string | number | null, b: string | number | null): number =>
  a! < b! ? -1 : a! > b! ? 1 : 0;

/** A change as drawn: `right` expects the version the row has when its turn comes. */
interface DrawnWrite {
  readonly kind: number;
  readonly id: number;
  readonly right: boolean;
  readonly wrong: number;
  readonly key: number;
  readonly state: number;
}
const drawnWrite: fc.Arbitrary<DrawnWrite> = fc.record({
  kind: fc.nat(3),
  id: fc.nat(4),
  right: fc.boolean().chain((odd) => (odd ? fc.constant(true) : fc.boolean())),
  wrong: fc.nat(3),
  key: fc.nat(3),
  state: fc.nat(2),
});
const drawnChange = fc.record({
  writes: fc.array(drawnWrite, { maxLength: 4 }),
  guards: fc.array(drawnWrite, { maxLength: 2 }),
  facts: fc.nat(3),
});
type DrawnChange = typeof drawnChange extends fc.Arbitrary<infer T> ? T : never;

const TABLES_DRAWN = ['task', 'message', 'session', 'plan'] as const;
const KEYS = [null, 'a', 'b', 'c'] as const;

function toWrite({ kind, id: n, key, state }: DrawnWrite, expected: number): Write {
  const table = TABLES_DRAWN[kind]!;
  const id = `${n}`;
  const docs = {
    task: () =>
      task({
        id: `task_${n}`,
        key: KEYS[key]!,
        state: (['ready', 'running', 'completed'] as const)[state]!,
        attempts: expected,
      }),
    message: () =>
      message({
        id: `msg_${n}`,
        to: n < 3 ? 'session_owner' : 'session_other',
        key: `${key}`,
        number: key + 1,
        state: (['queued', 'delivered', 'read'] as const)[state]!,
      }),
    session: () => session({ id: `session_${n}`, kind: state === 0 ? 'worker' : 'chat', mail: expected }),
    plan: () =>
      plan({
        id: `plan_${n}`,
        state: (['active', 'paused', 'failed'] as const)[state]!,
        createdAt: key * 1.5,
      }),
  };
  return { table, id, expect: expected, doc: docs[table]() };
}

function toChange(model: ModelStore, drawn: DrawnChange, number: number): Change {
  const pick = (each: DrawnWrite, seen: number): number =>
    each.right ? model.version(TABLES_DRAWN[each.kind]!, `${each.id}`) + seen : each.wrong;
  const writes = drawn.writes.map((each, at) => {
    const earlier = drawn.writes
      .slice(0, at)
      .filter((other) => other.kind === each.kind && other.id === each.id);
    return toWrite(each, pick(each, earlier.length));
  });
  const guards = drawn.guards.map((each) => ({
    table: TABLES_DRAWN[each.kind]!,
    id: `${each.id}`,
    version: pick(each, 0),
  }));
  const facts = Array.from({ length: drawn.facts }, (_, at) => ({ type: `fact ${number}.${at}` }));
  return change({ writes, guards, facts });
}

const LOOKUPS: [TableName, string, (string | number)[]][] = [
  ['task', 'byOwner', ['session_owner']],
  ['task', 'openByOwner', ['session_owner', 1]],
  ['task', 'open', [1]],
  ['task', 'byKey', ['session_owner/a']],
  ['message', 'byState', ['session_owner', 'queued']],
  ['message', 'byKey', ['session_owner/1']],
  ['session', 'byKind', ['chat']],
  ['plan', 'byState', ['active']],
];

async function compareAll({ backend: { store } }: Subject, model: ModelStore): Promise<void> {
  for (const [table, list, equal] of LOOKUPS) {
    expect(await store.find(table, { list, equal }), `${table} ${list}`).toEqual(
      model.find(table, list, equal),
    );
  }
  for (const table of TABLES_DRAWN) {
    for (let id = 0; id < 5; id++) {
      expect((await store.get(table, `${id}`))?.version ?? 0, `${table} ${id}`).toBe(
        model.version(table, `${id}`),
      );
    }
  }
  await compareLog(store, model);
}

/** What is not asked of one table: the events, and who has mail. */
async function compareLog(store: Store, model: ModelStore): Promise<void> {
  await lookAtMail(store, model);
  await lookAtEvents(store, model);
}

// The model is looked at before anything is awaited.

async function lookAtMail(store: Store, { sessionsWithMail }: ModelStore): Promise<void> {
  expect(await store.sessionsWithMail(9)).toEqual(sessionsWithMail);
}

async function lookAtEvents(store: Store, model: ModelStore): Promise<void> {
  const wanted = [...model.events];
  const [events, last] = await Promise.all([store.events(0, 1_000), store.lastEvent()]);
  expect(events.map(({ number, type }) => ({ number, type }))).toEqual(wanted);
  expect(last).toBe(wanted.length);
}

/** Random changes, several at a time, against the model. */
export function storeModel(open: OpenSubject, runs: number): void {
  const rounds = fc.array(
    fc.record({
      changes: fc.array(drawnChange, { maxLength: 5 }),
      look: fc.nat(LOOKUPS.length),
      reopen: fc.nat(9),
    }),
    {
      maxLength: 10,
    },
  );
  it('[STO17] does what a simple model does, for random changes', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(rounds, async (drawn) => {
        let subject = await open();
        try {
          const model = new ModelStore();
          for (const { changes, look, reopen } of drawn) {
            await playRound(subject, model, changes, LOOKUPS[look]);
            if (reopen === 0 && subject.reopen) subject = await subject.reopen();
            await compareAll(subject, model);
          }
        } finally {
          await subject.dispose();
        }
      }),
      { numRuns: runs },
    );
  });
}

async function playRound(
  { backend: { store } }: Subject,
  model: ModelStore,
  drawn: DrawnChange[],
  look: (typeof LOOKUPS)[number] | undefined,
): Promise<void> {
  const expected: boolean[] = [];
  const outcomes: Promise<Outcome>[] = [];
  const looks: Promise<void>[] = [];
  for (const [at, each] of drawn.entries()) {
    const next = toChange(model, each, at);
    expected.push(model.commit(next));
    outcomes.push(store.commit(next));
    if (!look || !store.readsOwnWrites) continue;
    const [table, list, equal] = look;
    // Asked before it is on disk, answered as of now.
    const wanted = model.find(table, list, equal);
    // One look after each change, because each brings all that is pending into the file.
    const turn = (at + list.length) % 3;
    if (turn === 0) looks.push(lookAtMail(store, model));
    else if (turn === 1) looks.push(lookAtEvents(store, model));
    else looks.push(store.find(table, { list, equal }).then((rows) => expect(rows).toEqual(wanted)));
  }
  await Promise.all(looks);
  expect((await Promise.all(outcomes)).map(({ committed }) => committed)).toEqual(expected);
}

/** Leases so simple that they can be believed. */
class ModelLeases {
  now = 0;
  seq = 0;
  leases: { task: string; rank: number; seq: number; due: number; host: string | null }[] = [];
  until: Record<string, number> = {};

  expire(): void {
    for (const lease of this.leases) {
      if (lease.host === null || this.until[lease.host]! > this.now) continue;
      lease.host = null;
      lease.due = this.now;
    }
  }

  offer(name: string, rank: number, delayMs: number): void {
    this.expire();
    const known = this.leases.find((lease) => lease.task === name);
    if (known?.host) return;
    if (known) Object.assign(known, { rank: Math.min(rank, known.rank), due: this.now + delayMs });
    else this.leases.push({ task: name, rank, seq: this.seq++, due: this.now + delayMs, host: null });
  }

  drop(name: string): void {
    this.leases = this.leases.filter((lease) => lease.task !== name);
  }

  claim(host: string, max: number, maxRank: number): Claim[] {
    this.expire();
    this.until[host] = this.now + LEASE.lastsMs;
    const due = this.leases.filter(
      (lease) => lease.host === null && lease.due <= this.now && lease.rank <= maxRank,
    );
    const taken = due.toSorted((a, b) => a.rank - b.rank || a.seq - b.seq).slice(0, max);
    for (const lease of taken) Object.assign(lease, { host, due: this.now });
    return taken.map(({ task: name, rank }) => ({ task: name, rank }));
  }

  renew(host: string, tasks: string[]): string[] {
    this.expire();
    this.until[host] = this.now + LEASE.lastsMs;
    for (const lease of this.leases) {
      const unknown =
        lease.host === host && !tasks.includes(lease.task) && lease.due <= this.now - LEASE.lastsMs;
      if (unknown) Object.assign(lease, { host: null, due: this.now });
    }
    return tasks.filter((name) => this.leases.find((lease) => lease.task === name)?.host !== host);
  }

  giveBack(host: string, name: string, delayMs: number): void {
    this.expire();
    const lease = this.leases.find((each) => each.task === name && each.host === host);
    if (lease) Object.assign(lease, { host: null, due: this.now + delayMs });
  }

  reclaim(host: string): void {
    for (const lease of this.leases)
      if (lease.host === host) Object.assign(lease, { host: null, due: this.now });
  }
}

// Delays and steps of time are multiples of whole seconds that never meet a due time within the time the test itself
// takes, because one of the stores looks at a real clock.
const ALL = ['a', 'b', 'c', 'd', 'e', 'f'];
const host = fc.constantFrom('h1', 'h2');
const name = fc.constantFrom(...ALL);
const delayMs = fc.constantFrom(0, 0, 60_000, 300_000);
const step = fc.oneof(
  fc.record({ do: fc.constant('offer' as const), name, rank: fc.nat(3), delayMs }),
  fc.record({ do: fc.constant('offer' as const), name, rank: fc.nat(3), delayMs }),
  fc.record({ do: fc.constant('drop' as const), name }),
  fc.record({
    do: fc.constant('claim' as const),
    host,
    max: fc.integer({ min: 1, max: 4 }),
    maxRank: fc.nat(4),
  }),
  fc.record({ do: fc.constant('renew' as const), host, tasks: fc.subarray(ALL) }),
  fc.record({ do: fc.constant('giveBack' as const), host, name, delayMs }),
  fc.record({ do: fc.constant('reclaim' as const), host }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(5_000, 40_000, 200_000) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

export function dispatchModel(open: OpenSubject, runs: number): void {
  it('[STO17] dispatches as a simple model does, for random steps', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const subject = await open();
        try {
          const model = new ModelLeases();
          for (const each of steps) await playStep(subject, model, each);
        } finally {
          await subject.dispose();
        }
      }),
      { numRuns: runs },
    );
  });
}

async function playStep(subject: Subject, model: ModelLeases, each: Step): Promise<void> {
  const { store, dispatch } = subject.backend;
  switch (each.do) {
    case 'offer':
      model.offer(each.name, each.rank, each.delayMs);
      await store.commit(change({ offers: [{ task: each.name, rank: each.rank, delayMs: each.delayMs }] }));
      return;
    case 'drop':
      model.drop(each.name);
      await store.commit(change({ drops: [each.name] }));
      return;
    case 'claim':
      expect(await dispatch.claim(each)).toEqual(model.claim(each.host, each.max, each.maxRank));
      return;
    case 'renew':
      expect(await dispatch.renew(each)).toEqual(model.renew(each.host, each.tasks));
      return;
    case 'giveBack':
      model.giveBack(each.host, each.name, each.delayMs);
      await dispatch.giveBack({ host: each.host, task: each.name, delayMs: each.delayMs });
      return;
    case 'reclaim':
      model.reclaim(each.host);
      await dispatch.reclaim(each.host);
      return;
    case 'advance':
      model.now += each.ms;
      await subject.advance(each.ms);
      return;
    default:
      each satisfies never;
  }
}
