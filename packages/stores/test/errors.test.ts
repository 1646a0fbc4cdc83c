import { expect, test } from 'vitest';
import { storeError } from '../src/sqlite/errors.ts';

test('[STO29] a disk that fails is told as that, whatever it failed at', () => {
  // IOERR alone, and of a write, a sync and a truncation.
  for (const errcode of [10, 778, 1034, 1546]) {
    const told = storeError('/state/x.db', Object.assign(new Error('disk I/O error'), { errcode }));
    expect(told.code).toBe('store_failed');
    expect(told.message).toBe(
      'The disk that holds /state/x.db fails. Nothing was changed; look at the log of the system, and try again. (disk I/O error)',
    );
  }
});
