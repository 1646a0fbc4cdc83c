import type { Orchestrator } from '@reveille/protocol';
import type { Life } from './life.ts';
import { asCaller } from './seats.ts';
import type { MoreDeed } from './steering.ts';
import type { World } from './world.ts';

const MOST = 2;

/** What people want, without saying how. */
export const GOALS: Readonly<Record<string, MoreDeed>> = {
  giveGoal: { habit: 'goals', weight: 5, act: giveGoal },
};

/** To an agent that makes plans of it, and may or may not start them by itself. */
async function giveGoal(world: World, person: Orchestrator, life: Life): Promise<void> {
  const { chance, auditor } = world;
  const given = [...auditor.ledger.rows.task.values()].filter(({ agent }) => agent.name === 'orchestrator');
  if (!world.mayGrow() || given.length >= MOST) return;
  const kind = chance.pick(['chat', 'terminal'] as const) ?? 'chat';
  const { id } = await person.openSession(kind, 'goal', world.files);
  const input = {
    prompt: `make it so ${world.nextPid()}`,
    name: `goal${world.nextPid()}`,
    agentType: 'orchestrator',
    ...(chance.hit(0.4) ? { plans: 'start' as const } : {}),
    ...(world.has('budgets') && chance.hit(0.3) ? { budget: { turns: chance.int(4, 30) } } : {}),
  };
  await asCaller(world, life, { kind: 'session', session: id }).spawnSubtasks([input]);
}
