import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { withScript } from '@reveille/executors';
import { findProgram } from '@reveille/executors/acp';
import { expect, test } from 'vitest';
import { hasSandbox } from '../../../test/sandbox.ts';
import { House } from './house.ts';
import { run } from './io.ts';

const SPAWN = ['spawn', '-a', 'scripted:coder', withScript('Do.', { steps: [{ do: 'report' }] })];

/** A PATH with git on it, and nothing else that the machine has installed. */
function onlyGit(house: House): string {
  const bin = join(house.folder, 'bin');
  mkdirSync(bin);
  symlinkSync(findProgram(['git'], process.env['PATH'] ?? '')!, join(bin, 'git'));
  return bin;
}

test('[BND2.90] without a sandbox the person is told before work begins, once in the life of a daemon', async () => {
  await using house = new House();
  house.env['PATH'] = onlyGit(house);
  const plan = house.plan('P', { it: { steps: [{ do: 'report' }] } });
  const warning = /^Warning: Agents and commands run without a sandbox: .*bubblewrap/;
  const ran = async (...args: string[]) => {
    const { code, out, err } = await run(args, { cwd: house.repository, env: house.env });
    expect(code, out + err).toBe(0);
    return err;
  };
  expect(await ran('status')).toBe('');
  expect(await ran(...SPAWN)).toMatch(warning);
  expect(await ran(...SPAWN)).not.toMatch(warning);
  expect(await ran('plan', 'run', plan)).not.toMatch(warning);
  await house.run(['daemon', 'stop']);
  expect(await ran('plan', 'run', plan)).toMatch(warning);
});

test.skipIf(!hasSandbox)('[BND2.90] with a sandbox nothing is said', async () => {
  await using house = new House();
  expect((await house.run(SPAWN)).err).toBe('');
});
