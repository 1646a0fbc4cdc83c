import { openMemory } from '@reveille/stores';
import { storeContract, type Subject } from './contract.ts';
import { FakeClock } from './fake-clock.ts';

storeContract('memory', async (): Promise<Subject> => {
  const clock = new FakeClock();
  const backend = openMemory({ clock });
  return { backend, advance: async (ms) => clock.advance(ms), dispose: () => backend.close() };
});
