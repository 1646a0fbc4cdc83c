import { rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LANGUAGES, type Language } from '../src/languages.ts';
import type { ServerSession } from '../src/lsp/session.ts';
import { NAVIGATION_DEFAULTS } from '../src/index.ts';
import { ServerPool } from '../src/pool/pool.ts';
import type { PoolSettings } from '../src/pool/settings.ts';
import { findServer } from '../src/servers.ts';
import { until } from './processes.ts';
import { Rig, type Tree } from './rig.ts';
import { SCRIPTED, goFiles } from './scripted.ts';

const go = LANGUAGES.find(({ name }) => name === 'go')!;
const { signal } = new AbortController();
const patience = () => signal;

function poolWith(settings: Partial<PoolSettings>): ServerPool {
  const sources = { path: '', folders: [], configured: { go: [SCRIPTED] } };
  return new ServerPool({
    settings: { ...NAVIGATION_DEFAULTS, ...settings },
    find: (language) => findServer(language, sources),
    log: () => undefined,
  });
}

/** A pool, and trees whose launches are written down. */
async function setUp(settings: Partial<PoolSettings>, names: readonly string[]) {
  const rig = await Rig.open();
  const launched: string[] = [];
  const places = names.map((name) => {
    const { place } = rig.tree(name, goFiles);
    const launch: typeof place.launch = async (command, options) => {
      launched.push(name);
      return await place.launch(command, options);
    };
    return { ...place, launch };
  });
  const pool = poolWith(settings);
  const ask = async (i: number) =>
    await pool.use(places[i]!, go, {
      patience,
      act: (session) => session.references({ path: 'all.go', line: 3, column: 6 }),
    });
  return {
    pool,
    places,
    launched,
    ask,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** What one such server needs on this machine. */
async function sizeOfOne(): Promise<number> {
  await using one = await setUp({}, ['a']);
  await one.ask(0);
  return await one.pool.measure();
}

describe('one budget for all servers', () => {
  test('[NAV3.5] what was used longest ago makes room; what is used again is kept', async () => {
    const size = await sizeOfOne();
    await using world = await setUp({ budgetBytes: 2.5 * size }, ['a', 'b', 'c']);
    for (const i of [0, 1, 0, 2, 0, 1]) expect((await world.ask(i)).length).toBe(2);
    // b went for c, and then c, used before a, for b again.
    expect(world.launched).toEqual(['a', 'b', 'c', 'b']);
    expect(world.pool.figures).toMatchObject({ servers: 2, evicted: 2, failed: 0 });
  });

  test('[NAV3.6] ten trees at once are all answered, and what is measured stays under the budget', async () => {
    const size = await sizeOfOne();
    const names = Array.from({ length: 10 }, (_, i) => `t${i}`);
    await using world = await setUp({ budgetBytes: 3.9 * size, coldStarts: 2 }, names);
    const answers = await Promise.all(names.map((_, i) => world.ask(i)));
    expect(answers.map(({ length }) => length)).toEqual(names.map(() => 2));
    expect(world.pool.figures.highest).toBeLessThanOrEqual(3.9 * size);
    expect(world.pool.figures).toMatchObject({ failed: 0, started: 10 });
  });

  test('[NAV3.7] only so many load their project at once; the others wait in line', async () => {
    await using world = await setUp({ coldStarts: 1 }, ['a', 'b']);
    const gate = Promise.withResolvers<void>();
    const first = world.pool.use(world.places[0]!, go, { patience, act: () => gate.promise });
    const second = world.ask(1);
    await until(() => world.pool.figures.pids.length === 1);
    for (let i = 0; i < 5; i++) await world.pool.measure();
    expect(world.launched).toEqual(['a']);
    gate.resolve();
    await first;
    expect((await second).length).toBe(2);
    expect(world.launched).toEqual(['a', 'b']);
  });

  test('[NAV3.7] whoever gives up in line is told why, and starts nothing', async () => {
    await using world = await setUp({ coldStarts: 1 }, ['a', 'b']);
    const gate = Promise.withResolvers<void>();
    const first = world.pool.use(world.places[0]!, go, { patience, act: () => gate.promise });
    const leaving = new AbortController();
    const second = world.pool.use(world.places[1]!, go, {
      patience: () => leaving.signal,
      act: async () => undefined,
    });
    leaving.abort();
    await expect(second).rejects.toThrow('in use by others');
    gate.resolve();
    await first;
    expect(world.launched).toEqual(['a']);
  });

  test('[NAV3.29] with much of the budget in use, what was needed longest ago is closed, unless somebody else asks', async () => {
    const reading: Language = { ...go, opensAsked: false };
    await using world = await setUp({ pressShare: 0, reliefMs: 0 }, ['a']);
    const open = async (act: (session: ServerSession) => void = () => undefined) =>
      await world.pool.use(world.places[0]!, reading, {
        patience,
        act: async (session) => {
          const before = session.openFiles;
          act(session);
          return before;
        },
      });
    await open((session) => {
      for (const name of ['a', 'b', 'c', 'd']) session.open(`${name}.go`, '');
      session.needed('a.go');
    });
    await world.pool.measure();
    const [asks, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const other = world.pool.use(world.places[0]!, reading, {
      patience,
      act: () => (asks.resolve(), gate.promise),
    });
    await asks.promise;
    // The other one has closed two of them.
    expect(await open()).toEqual(['d.go', 'a.go']);
    gate.resolve();
    await other;
    expect(await open()).toEqual(['a.go']);
    expect(await open()).toEqual(['a.go']);
  });

  test('[NAV3.8] a server that nobody asks is ended after its time; so is one whose tree is gone', async () => {
    await using world = await setUp({ idleMs: 0, watchMs: 20 }, ['a']);
    await world.ask(0);
    await until(() => world.pool.figures.servers === 0);
    expect(world.pool.figures).toMatchObject({ failed: 0, evicted: 1 });
    expect((await world.ask(0)).length).toBe(2);
    await using gone = await setUp({ watchMs: 20 }, ['a']);
    await gone.ask(0);
    rmSync(gone.places[0]!.root, { recursive: true });
    await until(() => gone.pool.figures.servers === 0);
    expect(gone.pool.figures.failed).toBe(0);
  });
});

describe('one server for trees that are the same', () => {
  const options = { sources: { path: '', configured: { go: [SCRIPTED] } } };
  const ask = async (tree: Tree) =>
    await tree.ask.usages({ symbol: 'Good', file: 'all.go' }, { signal, waitMs: 300_000 });

  test('[NAV3.9] who only reads shares it as long as nothing that matters differs', async () => {
    await using rig = await Rig.open(options);
    const writer = rig.tree('writer', goFiles);
    const readers = ['one', 'two'].map((name) =>
      rig.tree(name, { ...goFiles, 'notes.md': name }, { readOnly: true }),
    );
    for (const tree of [writer, ...readers])
      expect(await ask(tree)).toMatchObject({ found: 'semantic', complete: true });
    expect(rig.navigation.figures.started).toBe(1);
    writer.write({ 'more.go': 'package all\n\nfunc more() { Good() }\n' });
    expect((await ask(writer)).usages.map(({ path }) => path)).toEqual(['more.go', 'use.go']);
    expect((await ask(readers[0]!)).usages.map(({ path }) => path)).toEqual(['use.go']);
    // The one that differs now has its own; the other reader is the same as that one.
    expect((await ask(readers[1]!)).usages.map(({ path }) => path)).toEqual(['use.go']);
    expect(rig.navigation.figures.started).toBe(2);
  });

  test('[NAV3.9] who writes has its own', async () => {
    await using rig = await Rig.open(options);
    for (const name of ['one', 'two'])
      expect(await ask(rig.tree(name, goFiles))).toMatchObject({ found: 'semantic' });
    expect(rig.navigation.figures.started).toBe(2);
  });
});
