import type { Client, Request } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { AcpHouse, endOf, play, report } from './acp-house.ts';
import { until } from './house.ts';

async function budgetItem(client: Client, task: string): Promise<Request> {
  let found: Request | undefined;
  await until(async () => {
    found = (await client.inbox()).find((request) => request.task === task && request.kind === 'budget');
    return found !== undefined;
  });
  return found!;
}

test('[LIM1.20] an agent that only says what it used is stopped at its first word past the limit, with what it has; raised, it goes on', async () => {
  await using house = new AcpHouse();
  const client = await house.connect();
  const half = { path: 'half.txt', content: 'half\n' };
  const view = await house.run(
    client,
    play([
      { do: 'usage', cost: 0.4, usage: { totalTokens: 10 } },
      { do: 'call', tool: 'create_file', args: half },
      { do: 'usage', cost: 1.25, usage: { totalTokens: 20 } },
      // Nobody but the budget ends this turn.
      { do: 'hang' },
      report('the other half'),
    ]),
    { budget: { usd: 1 } },
  );
  const { id } = view.task;
  expect(await endOf(client, view)).toMatchObject({
    status: 'partial',
    cause: 'budget',
    error: { class: 'budget', message: expect.stringContaining('$1.25 of $1 used, $0.25 over') },
    work: { files: [{ path: 'half.txt' }], problem: null },
  });
  const item = await budgetItem(client, id);
  const before = (await client.getTask(id)).run!;
  await client.answer({ request: item.id, answer: 'raise' });
  await until(async () => (await client.getTask(id)).task.state === 'completed');
  // The same session, the same worktree: what it had done is there.
  const { run, end } = await client.getTask(id);
  expect(run).toMatchObject({ session: before.session, attempt: 2 });
  expect(end).toMatchObject({ output: 'the other half', work: { files: [{ path: 'half.txt' }] } });
  // Of its last call it said nothing: that is an estimate, and marked.
  expect((await client.getBudget(id)).chain[0]).toMatchObject({
    limits: { usd: 2 },
    used: { usd: 1.35 },
    estimated: { usd: 0.1 },
  });
});

test('[LIM1.23] an agent that says nothing of what it uses is stopped by an estimate in its turn; the person was told before', async () => {
  await using house = new AcpHouse({ engine: { budgets: { callTokens: 1_000 } } });
  const client = await house.connect();
  const calls = Array.from({ length: 30 }, (_, i) => ({
    do: 'sh',
    command: `echo ${i} >> n.txt; sleep 0.3`,
  }));
  const prompt = play([...calls, report('all of it')]);
  const view = await house.run(client, prompt, { budget: { tokens: 2_500 } });
  expect(view.warning).toContain('an estimated 1000 tokens');
  expect((await client.views.runs({ task: view.task.id })).notes).toEqual([view.warning]);
  const end = await endOf(client, view);
  expect(end).toMatchObject({ status: 'partial', cause: 'budget', work: { files: [{ path: 'n.txt' }] } });
  expect(end.work!.files[0]!.insertions).toBeLessThanOrEqual(5);
  const item = await budgetItem(client, view.task.id);
  expect(item.text).toMatch(/of it estimated/);
  const { notes } = await client.views.runs({ task: view.task.id });
  expect(notes).toEqual([expect.stringMatching(/^Over budget: used an estimated \d+ of 2500 tokens\.$/)]);
  await client.answer({ request: item.id, answer: 'raise tokens=1m' });
  await until(async () => (await client.getTask(view.task.id)).task.state === 'completed');
  const [node] = (await client.getBudget(view.task.id)).chain;
  expect(node!.estimated!.tokens).toBe(node!.used.tokens);
});
