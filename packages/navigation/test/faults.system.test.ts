import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { NavigationOptions } from '../src/index.ts';
import { until } from './processes.ts';
import { IMPATIENT, PATIENT, Rig, at, type Tree } from './rig.ts';
import { SCRIPTED, goFiles } from './scripted.ts';

async function open(settings: NavigationOptions['settings'] = {}, mode = ''): Promise<Rig> {
  return await Rig.open({
    settings: { ...settings },
    sources: { path: '', configured: { go: [SCRIPTED, mode] } },
  });
}

const usesOf = async ({ ask }: Tree, symbol: string) => await ask.usages({ symbol, file: 'all.go' }, PATIENT);

describe('a server that fails', () => {
  test.for([
    { word: 'Crash', says: 'it ended with code 3' },
    { word: 'Hang', says: 'it did not answer' },
    { word: 'Garbage', says: 'it does not speak the protocol' },
    { word: 'Nonsense', says: 'makes no sense' },
  ])(
    '[NAV3.1] $word: the answer is from text with a note, the server is replaced, no other is touched',
    async ({ word, says }) => {
      await using rig = await open({ hangMs: 8_000 });
      const [tree, other] = [rig.tree('a', goFiles), rig.tree('b', goFiles)];
      expect(await usesOf(other, 'Good')).toMatchObject({ found: 'semantic', complete: true });
      expect(await usesOf(tree, 'Good')).toMatchObject({ found: 'semantic' });
      const [pid] = rig.navigation.figures.pids;
      const failed = await usesOf(tree, word);
      expect(failed).toMatchObject({ found: 'text', complete: false });
      expect(failed.notes.join('\n')).toContain(says);
      expect(at(failed.usages)).toEqual(['use.go:3']);
      expect(await usesOf(tree, 'Good')).toMatchObject({ found: 'semantic', complete: true });
      expect(await usesOf(other, 'Good')).toMatchObject({ found: 'semantic' });
      expect(rig.navigation.figures).toMatchObject({ started: 3, failed: 1, servers: 2 });
      expect(rig.navigation.figures.pids).toContain(pid);
    },
  );

  test('[NAV3.2][NAV3.29] one that grows without end is ended at the budget, and the question is answered from text', async () => {
    await using rig = await open({ budgetBytes: 600 * 2 ** 20, watchMs: 20 });
    const [tree, other] = [rig.tree('a', goFiles), rig.tree('b', goFiles)];
    await usesOf(tree, 'Good');
    const grown = await usesOf(tree, 'Grow');
    expect(grown).toMatchObject({ found: 'text', complete: false });
    expect(grown.notes.join('\n')).toContain('more memory than there is');
    await until(async () => (await rig.navigation.measure()) < 600 * 2 ** 20);
    expect(await usesOf(tree, 'Good')).toMatchObject({ found: 'semantic' });
    expect(await usesOf(other, 'Good')).toMatchObject({ found: 'semantic' });
  });

  test('[NAV3.2] one that is too large for its first question is left alone for a while', async () => {
    await using rig = await open({ budgetBytes: 600 * 2 ** 20, watchMs: 20 });
    const tree = rig.tree('a', goFiles);
    expect(await usesOf(tree, 'Grow')).toMatchObject({ found: 'text', complete: false });
    const { found, notes } = await usesOf(tree, 'Good');
    expect([found, notes.join('\n')]).toEqual(['text', expect.stringContaining('left alone')]);
  });

  test('[NAV3.3] one that fails three times in a row is left alone for a while, and every question is answered', async () => {
    await using rig = await open({}, 'dies');
    const tree = rig.tree('a', goFiles);
    for (let i = 0; i < 5; i++)
      expect(await usesOf(tree, 'Good')).toMatchObject({ found: 'text', complete: false });
    expect(rig.navigation.figures).toMatchObject({ started: 3, failed: 3, servers: 0 });
    const { notes } = await usesOf(tree, 'Good');
    expect(notes.join('\n')).toMatch(/left alone .*code 7: Error: Cannot find module "x"/);
  });

  test('[NAV3.1] one that never begins to answer is ended, too', async () => {
    await using rig = await open({ startMs: 200 }, 'hangs-at-start');
    const answer = await usesOf(rig.tree('a', goFiles), 'Good');
    expect(answer).toMatchObject({ found: 'text', complete: false });
    expect(answer.notes.join('\n')).toContain('it did not answer initialize');
  });

  test('[NAV2.2] a first answer that is partial is asked for again until it is stable', async () => {
    await using rig = await open();
    const answer = await usesOf(rig.tree('a', goFiles), 'Partial');
    expect(answer).toMatchObject({ found: 'semantic', complete: true });
    expect(at(answer.usages)).toEqual(['use.go:3']);
  });

  test('[NAV2.2] one that says that it is loading is asked until it is not', async () => {
    await using rig = await open({}, 'loads');
    const answer = await usesOf(rig.tree('a', goFiles), 'Good');
    expect(answer).toMatchObject({ found: 'semantic', complete: true });
    expect(at(answer.usages)).toEqual(['use.go:3']);
  });

  test('[NAV2.2] of one that does not come to an end with it the answer says so', async () => {
    await using rig = await open({ loadMs: 300 }, 'never-loads');
    const tree = rig.tree('a', goFiles);
    for (let i = 0; i < 2; i++) {
      const answer = await usesOf(tree, 'Good');
      expect(answer).toMatchObject({ found: 'semantic', complete: false });
      expect(answer.notes.join('\n')).toContain('still loading');
    }
  });

  test('[NAV3.4] while a server is cold the answer is from text and says so; it goes on loading for the next question', async () => {
    await using rig = await open();
    const tree = rig.tree('a', goFiles);
    const first = await tree.ask.usages({ symbol: 'Good', file: 'all.go' }, IMPATIENT);
    expect(first).toMatchObject({ found: 'text', complete: false });
    expect(first.notes.join('\n')).toContain('still loading');
    expect(await usesOf(tree, 'Good')).toMatchObject({ found: 'semantic', complete: true });
    expect(rig.navigation.figures.started).toBe(1);
  });

  test('[NAV1.9] a server in the user’s config is used, with the folder of a script it names', async () => {
    await using rig = await open();
    const copy = join(rig.home, 'own', 'server.mjs');
    cpSync(SCRIPTED, copy);
    await using second = await Rig.open({
      sources: { path: '', configured: { go: [process.execPath, copy] } },
    });
    expect(await usesOf(second.tree('a', goFiles), 'Good')).toMatchObject({ found: 'semantic' });
  });
});
