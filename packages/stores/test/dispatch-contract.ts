import { afterEach, beforeEach, expect, it } from 'vitest';
import { LEASE, type Claim, type Dispatch, type Offer } from '@reveille/core';
import type { OpenSubject, Subject } from './subject.ts';
import { change } from './fixtures.ts';

/** What every dispatch promises. Part of the store's contract, because offers are part of changes. */
export function dispatchContract(open: OpenSubject): void {
  let subject: Subject;
  beforeEach(async () => {
    subject = await open();
  });
  afterEach(() => subject.dispose());

  const dispatch = (): Dispatch => subject.backend.dispatch;
  const offer = async (...offers: (Partial<Offer> & { task: string })[]): Promise<void> => {
    await subject.backend.store.commit(
      change({ offers: offers.map((each) => ({ rank: 1, delayMs: 0, ...each })) }),
    );
  };
  const drop = (...drops: string[]) => subject.backend.store.commit(change({ drops }));
  const claim = async (host: string, max = 10, maxRank?: number): Promise<string[]> => {
    const claims: Claim[] = await dispatch().claim({
      host,
      max,
      ...(maxRank === undefined ? {} : { maxRank }),
    });
    return claims.map(({ task }) => task);
  };

  it('[STO10] claims by rank, then by age, up to the number asked for', async () => {
    await offer({ task: 'b', rank: 2 });
    await offer({ task: 'a', rank: 2 }, { task: 'd', rank: 1 });
    await offer({ task: 'c', rank: 0 });
    expect(await dispatch().claim({ host: 'h1', max: 2 })).toEqual([
      { task: 'c', rank: 0 },
      { task: 'd', rank: 1 },
    ]);
    expect(await claim('h1')).toEqual(['b', 'a']);
    expect(await claim('h1')).toEqual([]);
    expect(await claim('h2')).toEqual([]);
  });

  it('[STO10] leaves ranks above the greatest wanted', async () => {
    await offer({ task: 'a', rank: 3 }, { task: 'b', rank: 0 }, { task: 'c', rank: 1 });
    expect(await claim('h1', 10, 0)).toEqual(['b']);
    expect(await claim('h1', 10, 1)).toEqual(['c']);
    expect(await claim('h1', 10, 2)).toEqual([]);
    expect(await claim('h1')).toEqual(['a']);
  });

  it('[STO10] offers nothing of a change that fails', async () => {
    const failing = change({
      offers: [{ task: 'a', rank: 1, delayMs: 0 }],
      guards: [{ table: 'task', id: 'none', version: 1 }],
    });
    await subject.backend.store.commit(failing);
    expect(await claim('h1')).toEqual([]);
  });

  it('[STO11] does not give out an offer before its delay is over', async () => {
    await offer({ task: 'a', delayMs: 5_000 }, { task: 'b' });
    expect(await claim('h1')).toEqual(['b']);
    const due = (await dispatch().nextDueIn()) ?? Infinity;
    expect(due).toBeGreaterThan(4_000);
    expect(due).toBeLessThanOrEqual(5_000);
    await subject.advance(5_001);
    expect(await dispatch().nextDueIn()).toBe(0);
    expect(await claim('h1')).toEqual(['a']);
  });

  it('[STO11] says when the next offer or lapsed lease can be claimed', async () => {
    expect(await dispatch().nextDueIn()).toBeNull();
    await offer({ task: 'a' });
    expect(await dispatch().nextDueIn()).toBe(0);
    await claim('h1');
    const due = (await dispatch().nextDueIn()) ?? Infinity;
    expect(due).toBeGreaterThan(LEASE.lastsMs - 3_000);
    expect(due).toBeLessThanOrEqual(LEASE.lastsMs);
    await drop('a');
    expect(await dispatch().nextDueIn()).toBeNull();
  });

  it('[STO12] gives a lease that is not renewed to somebody else, and tells who lost it', async () => {
    await offer({ task: 'a' }, { task: 'b' });
    expect(await claim('h1')).toEqual(['a', 'b']);
    await subject.advance(LEASE.lastsMs + 1);
    expect(await claim('h2', 1)).toEqual(['a']);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a', 'b'] })).toEqual(['a', 'b']);
    expect(await claim('h2')).toEqual(['b']);
    expect(await dispatch().renew({ host: 'h2', tasks: ['a', 'b'] })).toEqual([]);
  });

  it('[STO12] keeps a lease that is renewed', async () => {
    await offer({ task: 'a' }, { task: 'b' });
    await claim('h1');
    for (let times = 0; times < 4; times++) {
      await subject.advance(LEASE.renewEveryMs);
      expect(await dispatch().renew({ host: 'h1', tasks: ['a', 'b', 'c'] })).toEqual(['c']);
      expect(await claim('h2')).toEqual([]);
    }
  });

  it('[STO12] offers again what a host holds and does not know of', async () => {
    await offer({ task: 'a' }, { task: 'b' });
    await claim('h1');
    // As if the answer about b had been lost; but it may still be under way.
    await subject.advance(LEASE.lastsMs - 5_000);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a'] })).toEqual([]);
    expect(await claim('h2')).toEqual([]);
    await subject.advance(5_001);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a'] })).toEqual([]);
    expect(await claim('h2')).toEqual(['b']);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a', 'b'] })).toEqual(['b']);
  });

  it('[STO12] a host that lapsed and claims again does not get back what it held', async () => {
    await offer({ task: 'a', rank: 5 });
    await claim('h1');
    await subject.advance(LEASE.lastsMs + 1);
    await offer({ task: 'b', rank: 1 });
    expect(await claim('h1', 1)).toEqual(['b']);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a', 'b'] })).toEqual(['a']);
    expect(await claim('h2')).toEqual(['a']);
  });

  it('[STO13] offers again what is given back, after the delay', async () => {
    await offer({ task: 'a' }, { task: 'b' });
    await claim('h1');
    await dispatch().giveBack({ host: 'h1', task: 'a', delayMs: 1_000 });
    await dispatch().giveBack({ host: 'h1', task: 'b', delayMs: 0 });
    expect(await claim('h2')).toEqual(['b']);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a', 'b'] })).toEqual(['a', 'b']);
    await subject.advance(1_001);
    expect(await claim('h2')).toEqual(['a']);
  });

  it('[STO13] takes nothing back from a host that does not hold it', async () => {
    await offer({ task: 'a' });
    await claim('h1');
    await dispatch().giveBack({ host: 'h2', task: 'a', delayMs: 0 });
    await dispatch().giveBack({ host: 'h1', task: 'none', delayMs: 0 });
    expect(await claim('h2')).toEqual([]);
    expect(await dispatch().renew({ host: 'h1', tasks: ['a'] })).toEqual([]);
  });

  it('[STO14] offers at once what an earlier life of the host held', async () => {
    await offer({ task: 'a' }, { task: 'b' }, { task: 'c' });
    await claim('h1', 2);
    await claim('h2', 1);
    expect(await dispatch().reclaim('h1')).toBe(2);
    expect(await dispatch().reclaim('h1')).toBe(0);
    expect(await claim('h1')).toEqual(['a', 'b']);
    expect(await dispatch().renew({ host: 'h2', tasks: ['c'] })).toEqual([]);
  });

  it('[STO15] an offer of a held task changes nothing; of a free one, its time, and its rank if it is better', async () => {
    await offer({ task: 'a', rank: 3 }, { task: 'b', rank: 3, delayMs: 60_000 }, { task: 'c', rank: 1 });
    expect(await claim('h1', 1)).toEqual(['c']);
    await offer({ task: 'c', rank: 0 }, { task: 'b', rank: 2 }, { task: 'a', rank: 4 });
    expect(await dispatch().claim({ host: 'h2', max: 10 })).toEqual([
      { task: 'b', rank: 2 },
      { task: 'a', rank: 3 },
    ]);
    expect(await dispatch().renew({ host: 'h1', tasks: ['c'] })).toEqual([]);
  });

  it('[STO15] a drop ends an offer and a lease; drop and offer in one change make it free', async () => {
    await offer({ task: 'a' }, { task: 'b' }, { task: 'c' });
    await claim('h1', 2);
    await drop('a', 'c', 'unknown');
    expect(await dispatch().renew({ host: 'h1', tasks: ['a', 'b'] })).toEqual(['a']);
    await subject.backend.store.commit(
      change({ drops: ['b'], offers: [{ task: 'b', rank: 1, delayMs: 0 }] }),
    );
    expect(await dispatch().renew({ host: 'h1', tasks: ['b'] })).toEqual(['b']);
    expect(await claim('h2')).toEqual(['b']);
  });

  it('[STO16] calls who waits for offers, until they take it back', async () => {
    let calls = 0;
    const called = (): Promise<void> =>
      expect.poll(() => calls, { interval: 5, timeout: 5_000 }).toBeGreaterThan(0) as Promise<void>;
    const stop = dispatch().onOffer(() => calls++);
    await offer({ task: 'a' });
    await called();
    await claim('h1');
    calls = 0;
    await dispatch().giveBack({ host: 'h1', task: 'a', delayMs: 0 });
    await called();
    stop();
    calls = 0;
    await offer({ task: 'b' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls).toBe(0);
  });

  it('[STO11] the delay of what is given back survives a reopening, whatever it was offered with', async () => {
    if (!subject.reopen) return;
    await offer({ task: 'a' }, { task: 'b', delayMs: 60_000 });
    expect(await claim('h1')).toEqual(['a']);
    await dispatch().giveBack({ host: 'h1', task: 'a', delayMs: 60_000 });
    subject = await subject.reopen();
    expect(await claim('h1')).toEqual([]);
    await subject.advance(60_001);
    expect((await claim('h1')).toSorted()).toEqual(['a', 'b']);
  });

  it('[STO14] nothing offered is forgotten across a reopening, nor given out much earlier than asked', async () => {
    if (!subject.reopen) return;
    await offer(
      { task: 'a', rank: 2 },
      { task: 'b', rank: 1 },
      { task: 'c', delayMs: 60_000 },
      { task: 'd', rank: 0 },
    );
    await drop('d');
    await claim('h1', 1);
    subject = await subject.reopen();
    await dispatch().reclaim('h1');
    expect(await claim('h1')).toEqual(['b', 'a']);
    await subject.advance(60_001);
    expect(await claim('h1')).toContain('c');
  });
}
