import type { Client, Request, TaskView } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { AgentsHouse, endOf, report, scripted, until } from './house.ts';
import { VENDORS } from './vendors.ts';

/** Codex asks only with a sandbox of its own, which root's cannot have inside ours. */
const ASKING = VENDORS.filter(({ name }) => name !== 'codex' || process.getuid?.() !== 0);

async function asked(client: Client, { task }: TaskView, command: string): Promise<Request> {
  let found: Request | undefined;
  await until(async () => {
    found = (await client.inbox()).find(
      (request) => request.task === task.id && request.action?.command?.includes(command),
    );
    return found !== undefined || (await client.getTask(task.id)).end !== null;
  });
  expect(found, `nobody was asked about ${command}`).toBeDefined();
  return found!;
}

describe.each(ASKING)('$name', ({ name, shell }) => {
  test('[EXE10.20] is held to a rule about commands: what it runs with its own shell is asked, done once, or not done', async () => {
    await using house = await AgentsHouse.open();
    house.env['REVEILLE_APPROVALS_RULES'] = '[{ command: "touch*", verdict: ask }]';
    const client = await house.connect();
    const steps = [shell('touch one.txt'), shell('touch two.txt'), report('done')];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    const one = await asked(client, view, 'touch one.txt');
    expect(one.action).toMatchObject({ tool: 'run_command', kind: 'command', held: true });
    await client.answer({ request: one.id, answer: 'approve' });
    const two = await asked(client, view, 'touch two.txt');
    await client.answer({ request: two.id, answer: 'deny: one is enough' });
    const end = await endOf(client, view);
    expect(end).toMatchObject({ status: 'success', output: 'done' });
    expect(end.work?.files.map(({ path }) => path)).toEqual(['one.txt']);
  });
});

describe('opencode', () => {
  const opencode = VENDORS.filter(({ name }) => name === 'opencode');
  test.each(opencode)('[EXE10.21] is asked once about a write', async ({ name, write }) => {
    await using house = await AgentsHouse.open();
    house.env['REVEILLE_APPROVALS_PRESET'] = 'careful';
    const client = await house.connect();
    const steps = [write('one.txt', 'one\n'), report('done')];
    const view = await house.run(client, { agent: `${name}:coder`, prompt: scripted({ steps }) });
    const seen: (string | undefined)[] = [];
    await until(async () => {
      for (const request of await client.inbox()) {
        seen.push(request.action?.tool);
        await client.answer({ request: request.id, answer: 'approve' });
      }
      return (await client.getTask(view.task.id)).end !== null;
    });
    expect(seen).toEqual(['edit_file']);
    const end = await endOf(client, view);
    expect(end.work?.files.map(({ path }) => path)).toEqual(['one.txt']);
  });
});
