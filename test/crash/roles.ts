import { isReveilleError, type RequestId, type TaskId } from '@reveille/protocol';
import type { InnerAgent } from './inner-agent.ts';
import { childInput } from './world.ts';

type Role = (agent: InnerAgent) => Promise<void>;

/**
 * What the agents do in a turn. Any turn may be the first of a new life, so a role looks at what it knows and does what
 * is left to do; spawning again with the same key is harmless.
 */
export const ROLES: Readonly<Record<string, Role>> = {
  leaf,
  flaky,
  forgetful,
  crasher,
  asker,
  fan,
  busy,
  block,
};

async function leaf(agent: InnerAgent): Promise<void> {
  await agent.work();
  await report(agent, 'success');
}

/** Fails in its first run; its parent has it tried again. */
async function flaky(agent: InnerAgent): Promise<void> {
  await agent.work();
  await report(agent, agent.spec.task.attempts === 1 ? 'failed' : 'success');
}

/** Ends its first turn without a word and reports when it is asked why. */
async function forgetful(agent: InnerAgent): Promise<void> {
  await agent.work();
  const asked = agent.letters.some(({ kind }) => kind === 'inquiry');
  if (asked || agent.spec.epoch > 1) await report(agent, 'success');
}

async function crasher(agent: InnerAgent): Promise<void> {
  await agent.work();
  if (agent.spec.epoch === 1) agent.crash();
  await report(agent, 'success');
}

/** Asks its parent, rests, and goes on with the answer. */
async function asker(agent: InnerAgent): Promise<void> {
  await agent.work();
  const history = agent.history();
  if (history.some(([word, , , kind]) => word === 'got' && kind === 'answer'))
    return report(agent, 'success');
  if (history.some(([word, call]) => word === 'ack' && call === 'ask')) return;
  const asked = await agent.call((calls) => calls.notifyParent({ type: 'question', message: 'which one?' }));
  agent.note('ack', 'ask', asked.request ?? '-');
}

/** Spawns all its children at once, rests, and is woken by their ends. */
async function fan(agent: InnerAgent): Promise<void> {
  if (!agent.spawned) await spawnAll(agent);
  await care(agent);
  await report(agent, 'success');
}

/** The same, but it works on while they end, so that their ends reach it in the middle of its turn. */
async function busy(agent: InnerAgent): Promise<void> {
  if (!agent.spawned) await spawnAll(agent);
  for (let i = 0; i < 4; i++) await agent.work();
  await care(agent);
  await report(agent, 'success');
}

/** One child after the other, waiting in the call for each. */
async function block(agent: InnerAgent): Promise<void> {
  for (const [i, child] of agent.children.entries()) await delegate(agent, childInput(child, `c${i}`));
  await report(agent, 'success');
}

async function spawnAll(agent: InnerAgent): Promise<void> {
  const inputs = agent.children.map((child, i) => childInput(child, `c${i}`));
  const spawned = await agent.call((calls) => calls.spawnSubtasks(inputs));
  agent.spawned = spawned.map(({ task }) => task);
  for (const [i, task] of agent.spawned.entries()) agent.note('ack', 'spawn', `c${i}`, task);
}

async function delegate(
  agent: InnerAgent,
  input: { agentType: string; prompt: string; key: string },
): Promise<void> {
  const options = { blocking: true, patienceMs: 2_000, signal: agent.signal };
  const result = await agent.call((calls) => calls.spawnSubtask(input, options));
  agent.note('ack', 'spawn', input.key, result.task);
  if (result.state === 'needs_you') agent.takeDeliveries(result.deliveries);
  if (result.state === 'ended' && result.delivery) agent.takeDeliveries([result.delivery], 'spawn');
  for (;;) {
    await care(agent);
    const { task } = await agent.call((calls) => calls.getTask(result.task));
    if (task.state === 'completed') return;
    // It may have heard of the failure in a life that it does not remember.
    if (task.state === 'failed') await retry(agent, task.id);
    const wait = { taskIds: [result.task], timeoutMs: 2_000 };
    const awaited = await agent.call((calls) => calls.awaitSubtasks(wait, { signal: agent.signal }));
    agent.takeDeliveries(awaited.deliveries);
  }
}

/** Answers every question and has every failure tried again that nothing was done about yet. */
async function care(agent: InnerAgent): Promise<void> {
  const history = agent.history();
  const done = new Set(history.filter(([word]) => word === 'ack').map(([, what, of]) => `${what} ${of}`));
  for (const [word, , , kind, , task, status, request] of history) {
    if (word !== 'got') continue;
    if (kind === 'question' && !done.has(`answer ${request}`)) await answer(agent, request as RequestId);
    if (kind === 'end' && status === 'failed' && !done.has(`retry ${task}`))
      await retry(agent, task as TaskId);
  }
}

async function answer(agent: InnerAgent, request: RequestId): Promise<void> {
  const said = await unlessTooLate(agent.call((calls) => calls.answer({ request, answer: 'this one' })));
  agent.note('ack', 'answer', request, said ? 'ok' : 'late');
}

async function retry(agent: InnerAgent, task: TaskId): Promise<void> {
  const done = await unlessTooLate(agent.call((calls) => calls.retryTask(task)));
  agent.note('ack', 'retry', task, done ? 'ok' : 'late');
}

/** An earlier life did it, and died before it could note so. */
async function unlessTooLate(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (isReveilleError(error, 'wrong_state') || isReveilleError(error, 'already_answered')) return false;
    throw error;
  }
}

async function report(agent: InnerAgent, status: 'success' | 'failed'): Promise<void> {
  for (;;) {
    const result = await agent.call((calls) =>
      calls.reportCompletion({ status, output: `${agent.spec.task.name}: ${status}` }),
    );
    if (result.accepted) return agent.note('ack', 'report', agent.spec.run, status);
    if (result.code !== 'unread_ends') return;
    agent.takeDeliveries(result.deliveries);
    await care(agent);
  }
}
