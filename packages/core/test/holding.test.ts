import type { RunId } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { decide } from '../src/decide.ts';
import { held } from '../src/holding.ts';
import { quiet, start, type World } from './world.ts';

/** Another host claims the run, whose lease this one has lost without knowing it. */
const overtake = ({ engine }: World, id: RunId): Promise<void> =>
  decide(engine.context, async (tx) => {
    const run = await tx.need('run', id);
    tx.put('run', { ...run, epoch: run.epoch + 1, host: 'there', identity: 'process there' });
  });

test('[ID4] what a host decides about a run that another has gone on with meanwhile comes to nothing', async () => {
  let looks = 0;
  const look = async () => {
    // Between the look at the rows and the commit of the turn's end.
    if (looks++ === 0) await overtake(world, a.spec.run);
    return { escapes: [], conflicts: [] };
  };
  await using world = await start({ workspaces: { look } });
  await world.plan({ a: [] }, { integrate: false });
  const a = world.worker('a');
  await a.ends('words of the one before');
  await quiet();
  expect(looks).toBe(1);
  // Nobody has the words: the turn did not end here. Whoever holds it goes on, in another epoch.
  const { run } = await world.person.getTask(a.task);
  expect(run?.lastWords).toBe('');
  expect(run?.epoch).toBeGreaterThanOrEqual(2);
  expect(a.alive).toBe(false);
});

test('[ID4] only the epoch itself holds a run, neither the one before nor one after', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  const { run } = world.worker('a').spec;
  const holds = (epoch: number): Promise<boolean> =>
    decide(world.engine.context, async (tx) => (await held(tx, run, epoch)) !== null);
  expect([await holds(0), await holds(1), await holds(2)]).toEqual([false, true, false]);
  await world.worker('a').reports();
  expect(await holds(1)).toBe(false);
});
