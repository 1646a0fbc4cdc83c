import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Store } from '@reveille/core';
import type { ReveilleEvent } from '@reveille/protocol';
import { openMemory } from '@reveille/stores';
import { EventFeed } from '../src/events/feed.ts';

const clock = { mono: () => 0 };
const change = (types: readonly string[]): Parameters<Store['commit']>[0] => ({
  writes: [],
  guards: [],
  facts: types.map((type) => ({ type })),
  drops: [],
  offers: [],
  wakes: [],
  at: 1,
});

function feedOn(store: Store): { feed: EventFeed; commit: (types: readonly string[]) => Promise<void> } {
  const feed = new EventFeed({
    store,
    batchMs: 1,
    encode: (events) => Buffer.from(JSON.stringify(events)),
    failed: () => undefined,
  });
  return {
    feed,
    async commit(types) {
      const outcome = await store.commit(change(types));
      if (outcome.committed) feed.committed(outcome.lastEvent);
    },
  };
}

const eventsOf = ({ bytes }: { bytes: Uint8Array }): ReveilleEvent[] =>
  JSON.parse(Buffer.from(bytes).toString()) as ReveilleEvent[];

/** Reads until it has `wanted` events, pausing as often as told. */
async function read(
  feed: EventFeed,
  from: number,
  wanted: number,
  pauses: readonly number[],
): Promise<number[]> {
  const gone = new AbortController();
  const next = feed.reader(gone.signal);
  const numbers: number[] = [];
  for (let after = from, i = 0; numbers.length < wanted; i++) {
    const chunk = await next(after);
    if (!chunk) break;
    numbers.push(...eventsOf(chunk).map(({ number }) => number));
    after = chunk.last;
    for (let n = 0; n < (pauses[i % pauses.length] ?? 0); n++) await nextTurn();
  }
  gone.abort();
  return numbers;
}

test('[DMN2.1] readers of any speed, from anywhere, get every event once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(40), { minLength: 1, maxLength: 60 }),
      fc.array(fc.tuple(fc.nat(100), fc.array(fc.nat(8), { minLength: 1, maxLength: 4 })), {
        minLength: 1,
        maxLength: 5,
      }),
      async (bursts, readers) => {
        const { store } = openMemory({ clock });
        const { feed, commit } = feedOn(store);
        const total = bursts.reduce((sum, size) => sum + size, 0);
        const reading = readers.map(([from, pauses]) => {
          const after = Math.min(from, total);
          return { after, numbers: read(feed, after, total - after, pauses) };
        });
        for (const size of bursts) {
          await commit(Array<string>(size).fill('x'));
          if (size % 3 === 0) await nextTurn();
        }
        for (const { after, numbers } of reading)
          expect(await numbers).toEqual(Array.from({ length: total - after }, (_, i) => after + 1 + i));
      },
    ),
    { numRuns: 40 },
  );
});

test('[DMN2.4] an event that is lost with its commit is never given out; its number is another’s', async () => {
  const syncs: { succeed: () => void; fail: (error: Error) => void }[] = [];
  const sync = (): Promise<void> => new Promise((succeed, fail) => syncs.push({ succeed, fail }));
  const { store } = openMemory({ clock, sync });
  const { feed, commit } = feedOn(store);
  const gone = new AbortController();
  const chunk = feed.reader(gone.signal)(0);
  const lost = commit(['lost']);
  expect(await store.events(0, 10)).toMatchObject([{ number: 1, type: 'lost' }]);
  syncs[0]!.fail(new Error('disk full'));
  await expect(lost).rejects.toThrow('disk full');
  const kept = commit(['kept', 'also']);
  syncs[1]!.succeed();
  await kept;
  expect(eventsOf((await chunk)!)).toMatchObject([
    { number: 1, type: 'kept' },
    { number: 2, type: 'also' },
  ]);
  gone.abort();
});

test('[DMN2.4] the newest number is not one that was undone while it was looked at', async () => {
  const syncs: ((error: Error) => void)[] = [];
  const sync = (): Promise<void> => new Promise((_, fail) => syncs.push(fail));
  const { store } = openMemory({ clock, sync });
  const lost = store.commit(change(['lost']));
  const lastEvent = async (): Promise<number> => {
    const last = await store.lastEvent();
    syncs.shift()?.(new Error('disk full'));
    await nextTurn();
    return last;
  };
  const { feed } = feedOn({ ...store, lastEvent });
  const [last] = await Promise.all([feed.last(), expect(lost).rejects.toThrow('disk full')]);
  expect(last).toBe(0);
});

test('[DMN2.2] what comes together goes out together, and is encoded once for all', async () => {
  const { store } = openMemory({ clock });
  let encoded = 0;
  const feed = new EventFeed({
    store,
    batchMs: 1,
    encode: (events) => {
      encoded++;
      return Buffer.from(JSON.stringify(events));
    },
    failed: () => undefined,
  });
  const gone = new AbortController();
  const readers = Array.from({ length: 5 }, () => feed.reader(gone.signal)(0));
  for (let i = 0; i < 100; i++) {
    const outcome = await store.commit(change(['x']));
    if (outcome.committed) feed.committed(outcome.lastEvent);
  }
  const chunks = await Promise.all(readers);
  expect(new Set(chunks).size).toBe(1);
  expect(eventsOf(chunks[0]!)).toHaveLength(100);
  expect(encoded).toBe(1);
  gone.abort();
});

test('[DMN2.1] events of another host are found without being told of them', async () => {
  const { store } = openMemory({ clock });
  const { feed } = feedOn(store);
  const gone = new AbortController();
  const next = feed.reader(gone.signal);
  const first = next(0);
  await store.commit(change(['theirs']));
  expect(eventsOf((await first)!)).toMatchObject([{ number: 1, type: 'theirs' }]);
  gone.abort();
});
