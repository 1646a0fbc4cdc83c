import { startModelServer } from '@reveille/model-server';
import type { Client, Request, TaskView } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { House } from '../house.ts';
import { asking } from '../model.ts';
import { makeShop } from '../shop.ts';
import { AgentsHouse, endOf, report, scripted, until } from './house.ts';
import { VENDORS, type Vendor } from './vendors.ts';

/** What a call uses, and when nobody but the budget ends the turn. */
const CALL = { usage: { input: 10_000, output: 500 }, waitMs: 100, until: 'It has been raised' };

/**
 * A limit that is passed at the third call: by what the agent says after each request, by what Copilot takes its own
 * conversation for, or, where a vendor says nothing in a turn, by three estimates of 20,000.
 */
const LIMITS: { readonly [K in Vendor['name']]: number } = {
  claude: 25_000,
  codex: 25_000,
  copilot: 45_000,
  gemini: 50_000,
  opencode: 50_000,
};
const TOLD_BEFORE: ReadonlySet<string> = new Set(['gemini', 'opencode']);

async function budgetItem(client: Client, { task }: TaskView): Promise<Request> {
  let found: Request | undefined;
  await until(async () => {
    found = (await client.inbox()).find((request) => request.task === task.id && request.kind === 'budget');
    return found !== undefined;
  });
  return found!;
}

/** Stopped by the fifth call, with what it had done; raised to what the request says, it goes on and ends well. */
async function stopsAndGoesOn(client: Client, view: TaskView, limit: number): Promise<void> {
  const { id, session } = view.task;
  const stopped = await endOf(client, view);
  expect(stopped).toMatchObject({ status: 'partial', cause: 'budget' });
  const [file] = stopped.work?.files ?? [];
  expect(file?.path).toBe('n.txt');
  expect(file?.insertions).toBeGreaterThanOrEqual(1);
  expect(file?.insertions).toBeLessThanOrEqual(5);
  // What it said while it was stopped is counted before the person is asked with the last numbers.
  await until(async () => (await client.getTask(id)).run?.identity === null);
  const item = await budgetItem(client, view);
  const to = Number(/raise: tokens to (\d+)/.exec(item.text)?.[1]);
  expect(to).toBeGreaterThan(limit);
  await client.answer({ request: item.id, answer: 'raise' });
  expect((await client.getBudget(id)).chain[0]?.limits).toEqual({ tokens: to });
  await until(async () => (await client.getTask(id)).task.state === 'completed');
  const { run, end } = await client.getTask(id);
  expect(end).toMatchObject({ status: 'success', output: 'after all' });
  expect(run).toMatchObject({ session, attempt: 2 });
}

describe.each(VENDORS)('$name under a budget', ({ name, shell }) => {
  test('[LIM1.22] a turn that would go on for ever is stopped by the fifth call; raised, it goes on', async () => {
    await using house = await AgentsHouse.open();
    const client = await house.connect();
    const steps = [{ ...shell('echo one >> n.txt'), ...CALL }, report('after all')];
    const view = await house.run(client, {
      agent: `${name}:coder`,
      prompt: scripted({ steps }),
      budget: { tokens: LIMITS[name] },
    });
    // Where the vendor cannot be held to it exactly, the person is told so before anything runs.
    expect(view.warning === undefined).toBe(!TOLD_BEFORE.has(name));
    if (TOLD_BEFORE.has(name)) expect(view.warning).toMatch(/only when a turn ends.* estimated 20000 tokens/);
    await stopsAndGoesOn(client, view, LIMITS[name]);
    // Of the run that reported it is counted too, or estimated, when it has stopped.
    await until(async () => (await client.getTask(view.task.id)).run?.identity === null);
    expect((await client.getTask(view.task.id)).run?.used.tokens).toBeGreaterThan(0);
  });
});

test('[LIM1.22] the built-in loop is refused the call that would pass its limit; raised, it goes on', async () => {
  await using model = await startModelServer();
  await using house = new House(asking(model));
  const root = `${house.folder}/shop`;
  makeShop(root);
  const client = await house.connect();
  const command = { call: 'run_command', input: { command: 'echo one >> n.txt' } };
  const prompt = scripted({ steps: [{ ...command, ...CALL }, report('after all')] });
  const tasks = [{ id: 'a', agent: 'builtin:coder', prompt, budget: { tokens: 45_000 } }];
  const { tasks: views } = await client.savePlan({ name: 'p', repository: root, tasks }, { start: true });
  await stopsAndGoesOn(client, views[0]!, 45_000);
});
