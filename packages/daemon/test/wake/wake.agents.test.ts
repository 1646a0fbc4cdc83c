import { isRealAgent } from '@reveille/model-server';
import { describe, test } from 'vitest';
import { burst, straggler } from './bursts.ts';
import { daemonKilledBefore, daemonKilledBetween } from './endings.ts';
import { INSTALLED, WakeHouse } from './house.ts';

// Those that the registry refused are named by `npm run test:agents`.
describe.each(Object.keys(INSTALLED).filter(isRealAgent))('a parent on %s', (backend) => {
  test('[WAK6.10] [WAK6.11] of 19 children it is told each, once and in full, and of two while a third goes on', async () => {
    await using house = await WakeHouse.open({}, backend);
    await burst(house, { backend, children: 19 });
    await straggler(house, backend);
  });

  // OpenCode takes so long to start, four times, that a busy machine gives it up.
  test.skipIf(backend === 'opencode')(
    '[WAK6.13] the daemon is killed, before the child has ended or before its parent has heard: it hears once, by itself',
    async () => {
      await using house = await WakeHouse.open({}, backend);
      await daemonKilledBefore(house, backend);
      await daemonKilledBetween(house, backend);
    },
  );
});
