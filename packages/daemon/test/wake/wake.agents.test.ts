import { isRealAgent } from '@reveille/model-server';
import { SHORT_PATIENCE, silences } from './silences.ts';
import { describe, test } from 'vitest';
import { bursts, straggler } from './bursts.ts';
import { IMPATIENT, daemonKilled, endings, parentKilled } from './endings.ts';
import { INSTALLED, WakeHouse } from './house.ts';

// Those that the registry refused are named by `npm run test:agents`.
describe.each(Object.keys(INSTALLED).filter(isRealAgent))('a parent on %s', (backend) => {
  test.concurrent('[WAK6.10] [WAK6.11] of 1, 5, 19 and 50 children it is told each, once and in full, and of two while a third goes on', async () => {
    await using house = await WakeHouse.open({}, backend);
    await bursts(house, { backend, sizes: [1, 5, 19, 50] });
    await straggler(house, backend);
  });

  test.concurrent('[WAK6.12] it hears once of a child that failed, was cancelled, said nothing, hung, or was killed', async () => {
    await using house = await WakeHouse.open(IMPATIENT, backend);
    await endings(house, backend);
  });

  test.concurrent('[WAK6.13] it or the daemon is killed, before its child has ended or before it has heard: it hears once, by itself', async () => {
    await using house = await WakeHouse.open({}, backend);
    await parentKilled(house, backend);
    await daemonKilled(house, backend);
  });

  test.concurrent('[HLT1.40] as a worker that is asked and stays silent it is given up, or is in the inbox', async () => {
    await using house = await WakeHouse.open(SHORT_PATIENCE, backend);
    await silences(house, backend);
  });
});
