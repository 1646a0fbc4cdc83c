import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkAfterKill, checkAtEnd } from './checks.ts';
import { livingIn } from './processes.ts';
import { startProgram, type Running } from './program-process.ts';
import { takeSnapshot } from './snapshot.ts';

describe('an orderly stop', () => {
  let folder: string;
  let running: Running[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reveille-crash-stop-'));
    running = [];
  });
  afterEach(async () => {
    for (const { child, ended } of running) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true });
  });

  function start(life: number, ...mode: string[]): Running {
    const program = startProgram('victim', [folder, String(life), '3', ...mode]);
    running.push(program);
    return program;
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`[HLT4][MBX5] ${signal} in the middle of everything: the agents are gone, the next start goes on`, async () => {
      for (let life = 1; life <= 3; life++) {
        const { child, up, ended } = start(life);
        expect(await up).toBe('first\n');
        await later(60 * life);
        child.kill(signal);
        expect(await ended).toMatchObject({ code: 0, stderr: '' });
        expect(livingIn(folder)).toEqual([]);
        expect(checkAfterKill(folder, takeSnapshot(folder))).toEqual([]);
      }
      expect(await start(4, 'finish').ended).toMatchObject({ code: 0, stderr: '' });
      const snapshot = takeSnapshot(folder);
      expect([...checkAfterKill(folder, snapshot), ...checkAtEnd(folder, snapshot)]).toEqual([]);
      expect(snapshot?.plans.size).toBeGreaterThan(0);
    }, 60_000);
  }

  test('[STO25] after it no timer, handle or process is left, and the event loop ends by itself', async () => {
    const { child, up, ended } = start(1);
    await up;
    await later(150);
    child.kill('SIGTERM');
    const stopped = new Promise<number>((resolve) => {
      child.stdout?.on('data', (data: Buffer) => data.includes('stopped') && resolve(performance.now()));
    });
    const last = await stopped;
    const { code, stdout } = await ended;
    expect(performance.now() - last).toBeLessThan(1_000);
    expect(code).toBe(0);
    // Whether its own stdout is among them depends on what it is connected to.
    const held = stdout.split('stopped ')[1]?.trim().split(' ') ?? ['nothing was said'];
    expect(held.filter((name) => name !== '' && name !== 'PipeWrap')).toEqual([]);
    expect(livingIn(folder)).toEqual([]);
  }, 30_000);
});
