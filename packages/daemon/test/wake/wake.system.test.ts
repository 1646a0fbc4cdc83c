import { SHORT_PATIENCE, silences } from './silences.ts';
import { describe, test } from 'vitest';
import { bursts, straggler } from './bursts.ts';
import { IMPATIENT, daemonKilled, endings, parentKilled } from './endings.ts';
import { WakeHouse } from './house.ts';

describe.each(['builtin', 'played'])('a parent on %s', (backend) => {
  test('[WAK6.10] of 1, 5, 19 and 50 children that end while it rests it is told each, once and in full', async () => {
    await using house = await WakeHouse.open();
    await bursts(house, { backend, sizes: [1, 5, 19, 50] });
  });

  test('[WAK6.11] it hears of two that ended while a third goes on', async () => {
    await using house = await WakeHouse.open();
    await straggler(house, backend);
  });

  test('[WAK6.12] it hears once of a child that failed, was cancelled, said nothing, hung, or was killed', async () => {
    await using house = await WakeHouse.open(IMPATIENT);
    await endings(house, backend);
  });

  test('[WAK6.13] the daemon is killed, before the child has ended or before its parent has heard: it hears once, by itself', async () => {
    await using house = await WakeHouse.open();
    await daemonKilled(house, backend);
  });
});

test.each(['scripted', 'builtin', 'played'])(
  '[HLT1.40] a worker on %s that is asked and stays silent is given up, or is in the inbox',
  async (backend) => {
    await using house = await WakeHouse.open(SHORT_PATIENCE);
    await silences(house, backend);
  },
);

test('[WAK6.13] its own process is killed while it rests: it comes back and hears once', async () => {
  await using house = await WakeHouse.open();
  await parentKilled(house, 'played');
});
