import type { Client, TaskView } from '@reveille/protocol';
import { expect } from 'vitest';
import { PADDING, report, task, until, type WakeHouse } from './house.ts';

/** So that an asked worker has not long to answer; "stuck" would be in the same inbox before. */
export const SHORT_PATIENCE = { health: { inactiveAfterMs: 300, graceMs: 100, inquiryTimeoutMs: 3_000 } };

const WORDS = 'These are its last words.';
const ASKED = 'appear to be idle';

/** It says something, and when it is asked whether it is done its model never answers. */
function silentAfterWords(backend: string, hold: string): string {
  if (backend === 'scripted') {
    const steps = [{ do: 'say', text: WORDS }, { do: 'rest' }, { do: 'silent' }];
    return `${PADDING}\n\n\`\`\`reveille-script\n${JSON.stringify({ steps })}\n\`\`\``;
  }
  const onMail = [{ when: ASKED, steps: [{ hold, say: 'never' }] }];
  return task({ steps: [{ say: WORDS }], onMail });
}

/** The contract of every backend with HLT1: a worker that is asked and stays silent is given up, or is in the inbox. */
export async function silences(house: WakeHouse, backend: string): Promise<void> {
  const client = await house.connect();
  const hold = `${backend} is silent`;
  const agent = `${backend}:coder`;
  const prompt = silentAfterWords(backend, hold);
  const input = { agentType: agent, key: 'child', prompt, blocking: false };
  const parent = await house.parent(client, 'builtin', [
    { call: 'a2a_spawn_subtask', input },
    { say: 'I wait.', until: 'unresponsive' },
    report('heard'),
  ]);
  const { tasks } = await client.savePlan(
    { name: 'silent', tasks: [{ id: 'own', agent, prompt }] },
    { start: true },
  );
  await Promise.all([ofAgent(client, parent), ofPlan(client, tasks[0]!)]);
  house.model.release(hold);
}

/** An agent's child fails, and its parent is told with its last words. */
async function ofAgent(client: Client, parent: Awaited<ReturnType<WakeHouse['parent']>>): Promise<void> {
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: 'heard' });
  const [child] = await parent.children(client);
  expect(child).toMatchObject({
    task: { state: 'failed' },
    end: { cause: 'unresponsive', output: expect.stringContaining(WORDS), error: { class: 'unresponsive' } },
  });
  expect(parent.times(WORDS)).toBe(1);
}

/** The task of a plan stays and is shown as silent, and the person decides. */
async function ofPlan(client: Client, { task: { id } }: TaskView): Promise<void> {
  const asked = async () => (await client.inbox()).find(({ task }) => task === id);
  await until(async () => (await asked()) !== undefined);
  const request = (await asked())!;
  expect(request).toMatchObject({
    kind: 'idle',
    options: ['keep waiting', 'remind', 'mark complete', 'cancel'],
    text: expect.stringContaining(WORDS),
  });
  expect(await client.getTask(id)).toMatchObject({
    task: { state: 'running' },
    health: { what: 'silent', lastWords: expect.stringContaining(WORDS) },
  });
  await client.answer({ request: request.id, answer: 'mark complete' });
  await until(async () => (await client.getTask(id)).end !== null);
  expect((await client.getTask(id)).end?.output).toContain(WORDS);
}
