import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { usedByTree } from '@reveille/navigation/memory';
import { expect, onTestFinished, test } from 'vitest';
import { freeNow } from '../src/machine/free.ts';
import { Gauge } from '../src/machine/gauge.ts';
import { keepNeeds, knownNeeds } from '../src/machine/needs.ts';
import { AcpHouse, endOf, play, report, worktreeWith } from './acp-house.ts';
import { until } from './house.ts';

const MB = 2 ** 20;

/** A parent, and a child of it that holds memory and burns CPU, each saying when it is so far. */
const CHILD = `const held = Buffer.alloc(120 * 2 ** 20, 1);
  const until = process.cpuUsage().user + 300_000;
  while (process.cpuUsage().user < until) held[0]++;
  console.log('grown');
  setInterval(() => held[0]++, 1_000);`;
const PARENT = `const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: 'inherit' });
  process.on('SIGTERM', () => { child.kill('SIGKILL'); process.exit(0); });`;

test('[LIM2.18] memory and CPU are those of an agent and everything beneath it, and stay known when it is gone', async () => {
  const parent = spawn(process.execPath, ['-e', PARENT], { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = once(parent, 'exit');
  onTestFinished(() => void parent.kill('SIGTERM'));
  await once(parent.stdout, 'data');
  const { pid = 0 } = parent;
  const agents = [{ name: 'run_1.1', pid }];
  const gauge = new Gauge({
    lookMs: 1_000,
    freeNow: () => freeNow([tmpdir()]),
    living: () => agents,
    usedByTree,
    learned: new Map(),
    keep: () => undefined,
    failed: (error) => expect.unreachable(String(error)),
  });
  await gauge.look();
  const used = gauge.used('run_1.1');
  expect(used?.rssBytes).toBeGreaterThan(120 * MB);
  expect(used?.cpuMs).toBeGreaterThanOrEqual(290);
  parent.kill('SIGTERM');
  await gone;
  await gauge.look();
  expect(gauge.used('run_1.1')?.peakBytes).toBe(used?.peakBytes);
  expect(gauge.free()).toMatchObject({ cores: expect.any(Number) as number });
  expect(gauge.free()?.memoryBytes).toBeGreaterThan(0);
  expect(gauge.free()?.diskBytes).toBeGreaterThan(0);
  expect(await usedByTree(pid)).toEqual({ rssBytes: 0, cpuMs: 0, processes: 0 });
});

test('[LIM2.14] what agents need survives a restart; what cannot be read is learned again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-needs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'needs.json');
  expect(knownNeeds(file)).toEqual(new Map());
  keepNeeds(file, new Map([['claude', 300 * MB]]));
  expect(knownNeeds(file)).toEqual(new Map([['claude', 300 * MB]]));
  writeFileSync(file, '{"claude": "much"}', { mode: 0o600 });
  expect(knownNeeds(file)).toEqual(new Map());
});

test('[LIM2.10][LIM2.18] on a machine without room real agents run one after the other, the second says why it waits, and what they took is on record', async () => {
  // Nobody has so much memory.
  await using house = new AcpHouse({
    governor: { reserveMb: 10_000_000, maxLoad: null, minDiskMb: 0, lookMs: 100 },
  });
  house.env['REVEILLE_GOVERNOR_ENABLED'] = 'true';
  const client = await house.connect();
  const steps = [{ do: 'waitFile', path: 'go', ready: 'ready' }, report('done')];
  const first = await house.run(client, play(steps));
  const worktree = await worktreeWith(client, first, 'ready');
  const second = await house.run(client, play([report('done too')]));
  await until(async () => (await client.getTask(second.task.id)).task.waitingOn === 'memory');
  const { task, run } = await client.getTask(second.task.id);
  expect(task.state).toBe('ready');
  expect(task.why).toMatch(/^waits for memory: needs about \d+ MB, 0 MB free$/);
  expect(run).toBeNull();
  await until(async () => ((await client.getTask(first.task.id)).run?.resources?.rssBytes ?? 0) > 20 * MB);
  const { agents } = await client.views.host();
  expect(agents).toMatchObject({ waiting: 1 });
  writeFileSync(join(worktree, 'go'), '');
  expect(await endOf(client, first)).toMatchObject({ status: 'success', output: 'done' });
  expect(await endOf(client, second)).toMatchObject({ status: 'success', output: 'done too' });
  const ended = (await client.getTask(first.task.id)).run?.resources;
  expect(ended?.peakBytes).toBeGreaterThan(20 * MB);
  expect(ended?.cpuMs).toBeGreaterThan(0);
  await until(() => knownNeeds(join(house.place.home, 'needs.json')).has('played'));
  expect(readFileSync(join(house.place.home, 'needs.json'), 'utf8')).toContain('played');
});
