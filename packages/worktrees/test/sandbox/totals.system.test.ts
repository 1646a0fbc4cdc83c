import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { usedByTree } from '@reveille/navigation/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { confinementIn, makeScene, type Scene } from '../../src/doctor/scene.ts';
import { Groups, findGroups } from '../../src/sandbox/cgroup.ts';
import type { Totals } from '../../src/sandbox/totals.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { hasSandbox } from './here.ts';

const MB = 2 ** 20;
/** Each below any limit of a process. */
const HOGS = `for i in 1 2 3 4 5 6; do perl -e 'my $x = "x" x 50_000_000; sleep 1 while 1' & done; wait`;
const FORKS = `perl -e 'for (1..60) { my $pid = fork; if (!$pid) { sleep 1 while 1 } } sleep 1 while 1'`;
const WRITES = 'for i in 1 2 3 4 5 6 7 8; do head -c 20000000 /dev/zero > big$i; done; sleep 1000';

const SETTINGS = [...(hasSandbox ? (['require'] as const) : []), 'off' as const];

describe.each(SETTINGS)('what a run takes in sum, with the sandbox set to %s', (setting) => {
  let scene: Scene;
  let sandbox: Sandbox;
  beforeEach(async () => {
    scene = await makeScene();
    const options = { setting, warn: () => {}, home: scene.home, env: scene.env, measure: usedByTree };
    sandbox = await openSandbox(options);
  });
  afterEach(async () => {
    await sandbox.close();
    await scene[Symbol.asyncDispose]();
  });
  const run = (script: string, totals: Partial<Totals>) =>
    sandbox.run(script, confinementIn(scene, { totals }));

  test('[BND7.2] memory of many processes counts together', async () => {
    expect(await run(HOGS, { memoryBytes: 150 * MB })).toMatchObject({
      ended: 'limit',
      output: expect.stringMatching(/memory together, and may take 0\.15 GB \(sandbox\.memoryMb\)/),
    });
  });

  test('[BND7.2] several commands of one run count together, and all of them are ended', async () => {
    const half = HOGS.replace('1 2 3 4 5 6', '1 2 3');
    const totals = { memoryBytes: 220 * MB };
    const ended = await Promise.all([run(half, totals), run(half, totals)]);
    expect(ended.map((ran) => ran.ended)).toEqual(['limit', 'limit']);
  });

  test('[BND7.2] processes are counted, for root too', async () => {
    expect(await run(FORKS, { processes: 32 })).toMatchObject({
      ended: 'limit',
      output: expect.stringContaining('(sandbox.processes)'),
    });
  });

  // Others use the disk too: at the latest after a minute the files themselves are looked at.
  test('[BND7.2] what is written to disk is counted', { timeout: 300_000 }, async () => {
    expect(await run(WRITES, { diskBytes: 64 * MB })).toMatchObject({
      ended: 'limit',
      output: expect.stringContaining('(sandbox.diskMb)'),
    });
  });

  test('[BND7.2] memory that processes share counts once, and what stays below is left alone', async () => {
    const share = `perl -e 'my $x = "x" x 60_000_000; for (1..5) { my $pid = fork; if (!$pid) { sleep 3; exit } } 1 while wait > 0; print "fine\\n"'`;
    expect(await run(share, { memoryBytes: 200 * MB })).toMatchObject({ ended: null, output: 'fine\n' });
  });
});

test('[BND7.2] a place in which memory and processes are counted is preferred, and bounds a run as a whole', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-groups-'));
  try {
    // As the kernel would show it; nothing is killed or counted here.
    const session = join(folder, 'user.slice', 'session.scope');
    mkdirSync(session, { recursive: true });
    for (const [at, enabled] of [
      [session, ''],
      [join(folder, 'user.slice'), 'cpu memory pids'],
      [folder, 'memory pids'],
    ] as const) {
      writeFileSync(join(at, 'cgroup.subtree_control'), enabled);
      writeFileSync(join(at, 'cgroup.procs'), '');
    }
    const mounts = `29 23 0:26 / ${folder} rw,nosuid - cgroup2 cgroup2 rw\n`;
    // A folder of an ordinary file system has no cgroup.kill: nothing is promised.
    expect(findGroups(mounts, '0::/user.slice/session.scope\n')).toBeNull();
    expect(findGroups('', '0::/\n')).toBeNull();
    const groups = new Groups({ folder: join(folder, 'user.slice'), limits: true }, null);
    const member = groups.enter('run', { memoryBytes: 1_000, processes: 20, diskBytes: 1 });
    const group = join(folder, 'user.slice', `reveille-${process.pid}-1`);
    const said = (name: string): string => readFileSync(join(group, name), 'utf8');
    expect([said('memory.max'), said('memory.oom.group'), said('pids.max')]).toEqual(['1000', '1', '20']);
    expect(member?.argv(['make', 'all']).slice(3)).toEqual([join(group, '1', 'cgroup.procs'), 'make', 'all']);
    expect(member?.isOverrun()).toBe(false);
    writeFileSync(join(group, 'memory.events'), 'low 0\nmax 7\noom 1\noom_kill 3\n');
    expect(member?.isOverrun()).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
