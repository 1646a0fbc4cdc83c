import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withScript, type WrittenScript } from '@reveille/executors';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';

const SEAL = 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v';
const TOKENS = [`rvp_${SEAL}`, `rvr_run_1.session_2.3.${SEAL}`, `rvs_session_1.${SEAL}`, `rvb_0123.${SEAL}`];
const SAID = `stolen\\n${TOKENS.join(' and ')} ${'.'.repeat(1_970)}`;

test('[OBS1.7] a credential that an agent says, reports or sends is in no file, no event and no answer', async () => {
  await using house = new House();
  const client = await house.connect();
  const { session, credential } = await client.grantSession({ name: 'chat' });
  const script: WrittenScript = {
    steps: [
      { do: 'say', text: SAID },
      { do: 'report', output: SAID, structured: { [TOKENS[0]!]: TOKENS } },
    ],
  };
  const [child] = await client.as(credential).spawnSubtasks([{ prompt: withScript('do it', script) }]);
  await until(async () => (await client.getTask(child!.task)).task.state === 'completed');
  const view = await client.getTask(child!.task);
  expect(view.end?.output).toContain('stolen\\n[redacted] and [redacted] and [redacted] and [redacted]');
  const told = [await client.events(0, 10_000), view, await client.mailbox(session.id)];
  expect(JSON.stringify(told)).not.toContain(SEAL.slice(8));
  await house.kill('SIGTERM');
  for (const name of readdirSync(house.place.home, { recursive: true, encoding: 'utf8' })) {
    const path = join(house.place.home, name);
    if (statSync(path).isFile())
      expect([name, readFileSync(path, 'latin1').includes(SEAL.slice(8))]).toEqual([name, false]);
  }
});
