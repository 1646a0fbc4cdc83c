import { NO_COUNTS } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { RunTally } from '../src/run-counts.ts';
import { quiet, start } from './world.ts';

test('[NAV3.20] what a run does is counted on its record with each turn, through a new life of the engine, and shown with its end', async () => {
  const lives: RunTally[] = [];
  const tally = (): RunTally => {
    lives.push(new RunTally());
    return lives.at(-1)!;
  };
  await using world = await start({ tally });
  const chat = await world.chat();
  const id = await chat.spawns('look');
  const { run } = world.worker(id).spec;
  lives[0]!.add(run, 'navigation', 2);
  lives[0]!.add(run, 'search');
  const request = await world.worker(id).asks('which?');
  await world.worker(id).ends();
  expect((await world.task(id)).run?.counts).toEqual({ ...NO_COUNTS, navigation: 2, search: 1 });
  // What was counted since the last turn ended is lost with this life, and nothing else is.
  lives[0]!.add(run, 'search', 5);
  world.crash();
  await world.restart();
  await world.person.answer({ request, answer: 'that one' });
  await quiet();
  lives[1]!.add(run, 'spawns');
  lives[1]!.add(run, 'navigation');
  lives[1]!.add(run, 'fromText');
  await world.worker(id).reports('Found.');
  const counts = { ...NO_COUNTS, navigation: 3, fromText: 1, search: 1, spawns: 1 };
  expect((await world.task(id)).run?.counts).toEqual(counts);
  expect(await world.events('run.counted')).toMatchObject([{ run, data: counts }]);
  // A chat of an earlier life is reached through the engine of this one.
  const mail = await world.as({ kind: 'session', session: chat.id }).checkUpdates();
  expect(mail.at(-1)?.text).toContain(
    'looked up and handed on: 3 by navigation (1 answered from text), 1 by search; 1 handed on, 0 × asked for a specialist, 0 suggested',
  );
});

test('[NAV3.20] counting again what was decided again, or under the next epoch, counts nothing twice', () => {
  const tally = new RunTally();
  const run = { id: 'run_1', epoch: 1 } as const;
  expect(tally.total(run)).toBeUndefined();
  tally.add('run_1', 'search');
  expect(tally.total(run)).toMatchObject({ search: 1 });
  expect(tally.total(run)).toMatchObject({ search: 1 });
  const counts = tally.total(run)!;
  tally.add('run_1', 'search');
  // Another host had it meanwhile, and counted three more.
  const later = { ...run, epoch: 3, counts: { ...counts, search: counts.search + 3 } };
  expect(tally.total(later)).toMatchObject({ search: 5 });
  expect(tally.total(later)).toMatchObject({ search: 5 });
  expect(tally.total({ id: 'run_2', epoch: 1, counts })).toEqual(counts);
});
