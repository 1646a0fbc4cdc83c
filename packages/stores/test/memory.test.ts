import { describe, expect, it } from 'vitest';
import { ReveilleError } from '@reveille/protocol';
import { openMemory, type MemoryOptions } from '@reveille/stores';
import { storeContract } from './contract.ts';
import { FakeClock } from './fake-clock.ts';
import { change, task, writing } from './fixtures.ts';
import { openMemorySubject } from './subject.ts';

storeContract('memory', openMemorySubject);

describe('memory, for simulations', () => {
  const clock = new FakeClock();
  const insert = (id: `task_${string}`) => ({
    ...writing({ table: 'task', id, expect: 0, doc: task({ id, key: id }) }),
    offers: [{ task: id, rank: 1, delayMs: 0 }],
  });
  /** A disk that is written when the test says so. */
  const manual = (options: Partial<MemoryOptions> = {}) => {
    let sync = { resolve: (): void => {}, reject: (_error: Error): void => {} };
    const backend = openMemory({
      clock,
      sync: () => new Promise((resolve, reject) => (sync = { resolve, reject })),
      ...options,
    });
    return { ...backend, write: () => sync.resolve(), refuse: (error: Error) => sync.reject(error) };
  };
  const settledSoon = async (promise: Promise<unknown>): Promise<boolean> => {
    let settled = false;
    void promise.then(
      () => (settled = true),
      () => (settled = true),
    );
    await new Promise((resolve) => setImmediate(resolve));
    return settled;
  };

  it('[STO18] applies at once and acknowledges when the disk is written', async () => {
    const { store, write } = manual();
    const first = store.commit(insert('task_1'));
    const second = store.commit(insert('task_2'));
    const barrier = store.barrier();
    expect((await store.get('task', 'task_2'))?.version).toBe(1);
    expect(await settledSoon(first)).toBe(false);
    expect(await settledSoon(barrier)).toBe(false);
    write();
    expect(await Promise.all([first, second])).toEqual([
      { committed: true, lastEvent: 1 },
      { committed: true, lastEvent: 2 },
    ]);
    await barrier;
  });

  it('[STO18] undoes a batch that could not be written, and only that one', async () => {
    const { store, dispatch, write, refuse } = manual();
    const kept = store.commit(insert('task_1'));
    write();
    await kept;
    expect(await dispatch.claim({ host: 'h1', max: 1 })).toHaveLength(1);
    const lost = [store.commit(insert('task_2')), store.commit(change({ drops: ['task_1'] }))];
    refuse(new ReveilleError('store_full', 'full'));
    for (const each of lost) await expect(each).rejects.toMatchObject({ code: 'store_full' });
    expect(store.undone()).toBe(1);
    expect(await store.get('task', 'task_2')).toBeUndefined();
    expect(await store.lastEvent()).toBe(1);
    expect(await store.find('task', { list: 'open', equal: [1] })).toHaveLength(1);
    expect(await dispatch.claim({ host: 'h1', max: 9 })).toEqual([]);
    expect(await dispatch.renew({ host: 'h1', tasks: ['task_1'] })).toEqual([]);
    const again = store.commit(insert('task_2'));
    write();
    expect(await again).toEqual({ committed: true, lastEvent: 2 });
  });

  it('[STO18] a crash loses what is not on disk, and the dead life does nothing more', async () => {
    const dead = manual();
    const kept = dead.store.commit(insert('task_1'));
    dead.write();
    await kept;
    const lost = dead.store.commit(insert('task_2'));
    dead.crash();
    dead.write();
    const after = dead.store.commit(insert('task_3'));
    const { store, dispatch } = openMemory({ clock, memory: dead.memory });
    expect(
      await settledSoon(
        Promise.race([lost, after, dead.store.lastEvent(), dead.dispatch.claim({ host: 'h', max: 9 })]),
      ),
    ).toBe(false);
    expect((await store.find('task', { list: 'open', equal: [1] })).map(({ doc }) => doc.id)).toEqual([
      'task_1',
    ]);
    expect(await dispatch.claim({ host: 'h', max: 9 })).toEqual([{ task: 'task_1', rank: 1 }]);
    expect(await store.lastEvent()).toBe(1);
  });

  it('[STO19] tells other hosts whom to wake, and not the one that knows', async () => {
    const one = openMemory({ clock });
    const two = openMemory({ clock, memory: one.memory });
    const heard: string[] = [];
    one.store.onHint((sessions) => heard.push(`one: ${sessions.join()}`));
    const stop = two.store.onHint((sessions) => heard.push(`two: ${sessions.join()}`));
    await one.store.commit(change({ wakes: ['session_1', 'session_2'] }));
    stop();
    await one.store.commit(change({ wakes: ['session_3'] }));
    expect(heard).toEqual(['two: session_1,session_2']);
  });

  it('[STO1] shares rows that nobody can change', async () => {
    const { store } = openMemory({ clock });
    await store.commit(insert('task_1'));
    const row = await store.get('task', 'task_1');
    expect(() => row?.doc.dependencies.push('task_2')).toThrow(TypeError);
    expect(await store.get('task', 'task_1')).toBe(row);
  });
});
