import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { AgentsHouse, scripted, until } from './house.ts';
import { VENDORS } from './vendors.ts';

/** A chat that hands a task to an agent, and what it hears of it. */
async function delegated(client: Client, house: AgentsHouse, agentType: string, prompt: string) {
  const { session, credential } = await client.grantSession({ name: 'chat', repository: house.root });
  const [spawned] = await client.as(credential).spawnSubtasks([{ agentType, prompt }]);
  const heard = async (kind: 'end' | 'error'): Promise<string> => {
    let text: string | undefined;
    await until(async () => {
      text = (await client.mailbox(session.id)).find((mail) => mail.kind === kind)?.text;
      return text !== undefined;
    });
    return text!;
  };
  return { task: spawned!.task, heard };
}

describe.each(VENDORS)('$name in trouble', ({ name }) => {
  test('[EXE10.13] a key that is refused ends it, a model that cannot be reached is tried again: its parent is told with the fix', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const prompt = scripted({ steps: [{ fail: 'auth' }] });
    const refused = await delegated(client, house, `${name}:coder`, prompt);
    await refused.heard('end');
    const { end } = await client.getTask(refused.task);
    expect(end?.error).toMatchObject({ class: 'auth', message: expect.stringMatching(/log in|login|key/i) });

    await house.model.stop();
    const alone = await delegated(client, house, `${name}:coder`, prompt);
    expect(await alone.heard('error')).toMatch(/network: [\s\S]*endpoint/);
    await client.cancelTask(alone.task);
    await alone.heard('end');
  });
});

test.runIf(VENDORS.some(({ name }) => name === 'claude'))(
  '[EXE10.14] a Claude Code that crashes, is too old, writes garbage, wants a login or hangs: the parent is told with the fix',
  async () => {
    await using house = await AgentsHouse.open({ acp: { initializeMs: 3_000 }, claude: 'claude' });
    const client = await house.connect();
    const bad = [
      ['crashing', 'echo "left-pad is missing" >&2; exit 3', 'invalid', /left-pad[\s\S]*npm install/],
      ['old', 'echo "error: unknown option" >&2; exit 1', 'invalid', /unknown option[\s\S]*up to date/],
      ['garbage', 'echo hello; echo "{ no"; exit 0', 'invalid', /npm install/],
      ['login', 'echo "Please run /login" >&2; exit 1', 'auth', /Log in with/],
      ['hanging', 'exec sleep 600', 'unresponsive', /did not answer[\s\S]*by hand/],
    ] as const;
    const program = join(house.folder, 'claude');
    for (const [, source, errorClass, message] of bad) {
      writeFileSync(program, `#!/bin/sh\n${source}\n`);
      chmodSync(program, 0o755);
      const { task, heard } = await delegated(client, house, 'claude:coder', 'Do it.');
      await heard('end');
      const { end } = await client.getTask(task);
      expect(end?.error).toMatchObject({ class: errorClass, message: expect.stringMatching(message) });
    }
  },
);
