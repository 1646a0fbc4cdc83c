import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '@reveille/stores';
import { storeContract, type Subject } from './contract.ts';
import { FakeClock } from './fake-clock.ts';

storeContract('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reveille-sqlite-'));
  return subject(folder, new FakeClock());
});

async function subject(folder: string, clock: FakeClock): Promise<Subject> {
  const backend = await openSqlite({ path: join(folder, 'reveille.db'), clock });
  return {
    backend,
    advance: async (ms) => clock.advance(ms),
    reopen: async () => {
      await backend.close();
      // The monotonic clock of a new process begins anew; the wall clock does not.
      return subject(folder, new FakeClock({ mono: 5, wall: clock.now() + 10 }));
    },
    dispose: async () => {
      await backend.close();
      await rm(folder, { recursive: true });
    },
  };
}
