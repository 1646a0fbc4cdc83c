import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { openSqlite } from '@reveille/stores';
import { storeContract } from './contract.ts';
import { FakeClock } from './fake-clock.ts';
import { dispatchModel, storeModel } from './model.ts';
import type { Subject } from './subject.ts';

// Where memory can be used as a disk it is: hundreds of files are made here, and sqlite-file.system.test.ts has a real disk.
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const open = async (cachedRows?: number): Promise<Subject> => {
  const folder = await mkdtemp(join(place, 'reveille-sqlite-'));
  return subject(folder, new FakeClock(), cachedRows);
};

storeContract('sqlite', open);
describe('sqlite, against a model', () => {
  // With two rows cached, almost every look goes to the file.
  storeModel(() => open(2), 60);
  dispatchModel(open, 60);
});

async function subject(folder: string, clock: FakeClock, cachedRows?: number): Promise<Subject> {
  const backend = await openSqlite({
    path: join(folder, 'reveille.db'),
    clock,
    ...(cachedRows ? { cachedRows } : {}),
  });
  return {
    backend,
    advance: async (ms) => clock.advance(ms),
    reopen: async () => {
      await backend.close();
      // The monotonic clock of a new process begins anew; the wall clock does not.
      return subject(folder, new FakeClock({ mono: 5, wall: clock.now() + 10 }), cachedRows);
    },
    dispose: async () => {
      await backend.close();
      await rm(folder, { recursive: true });
    },
  };
}
