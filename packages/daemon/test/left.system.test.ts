import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { processIdentity } from '../src/place/process-identity.ts';
import { House } from './house.ts';

test('[LIM2.81] a daemon that starts ends the agents that earlier ones of its place left, known to a run or not', async () => {
  await using house = new House();
  const left = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void left.kill('SIGKILL'));
  const gone = once(left, 'exit');
  const { pid = 0 } = left;
  const processes = join(house.place.home, 'processes');
  mkdirSync(processes, { recursive: true, mode: 0o700 });
  writeFileSync(join(processes, 'run_left.1.json'), JSON.stringify({ pid, identity: processIdentity(pid) }));
  await house.connect();
  expect(await gone).toEqual([null, 'SIGKILL']);
});
