import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Ledger } from '../src/acp/ledger.ts';
import { identityOf } from './acp/bench.ts';

/** In a group of its own, as agents are. */
function sleeper(): ChildProcess & { readonly pid: number } {
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.pid === undefined) throw new Error('sleep could not be started');
  return Object.assign(child, { pid: child.pid });
}

test('[EXE4.90] a new life ends all that earlier ones recorded, and nobody else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [one, two, stranger] = [sleeper(), sleeper(), sleeper()];
  const gone = [once(one, 'exit'), once(two, 'exit')];
  const before = new Ledger(folder, identityOf);
  before.record('run_one.1', one.pid);
  before.record('claude-run_two-3', two.pid);
  await new Ledger(folder, identityOf).reapAll();
  await Promise.all(gone);
  expect(identityOf(stranger.pid)).not.toBeNull();
  expect(readdirSync(folder)).toEqual([]);
  await new Ledger(folder, identityOf).reapAll();
});
