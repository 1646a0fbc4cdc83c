import { writeSync } from 'node:fs';
import { openSqlite, type CrashPoint } from '@reveille/stores';
import { task, writing } from './fixtures.ts';

/**
 * A process that writes tasks until it is killed, or kills itself at a crash point: `sqlite-child.ts <path> [<point>
 * <how many times it may pass>]`. It says on stdout which tasks were acknowledged, with a write that is over before
 * it goes on.
 */
const [path = '', point, passes = '0'] = process.argv.slice(2);
let left = Number(passes);
const crashPoint: CrashPoint = (name) => {
  if (name === point && left-- <= 0) process.kill(process.pid, 'SIGKILL');
};
const clock = { now: Date.now, mono: () => performance.now(), after: () => () => {} };

const { store } = await openSqlite({ path, clock, crashPoint });
writeSync(1, 'open\n');
let next = (await store.lastEvent()) + 1;
for (;;) {
  // Several in one commit, the next ones while the first are on their way.
  const commits = Array.from({ length: 5 }, async () => {
    const id = `task_${String(next++).padStart(9, '0')}` as const;
    const offers = [{ task: id, rank: 1, delayMs: 0 }];
    await store.commit({ ...writing({ table: 'task', id, expect: 0, doc: task({ id, key: id }) }), offers });
    writeSync(1, `${id}\n`);
  });
  await Promise.all(commits);
}
