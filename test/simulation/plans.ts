import type { PlanInput } from '@reveille/protocol';
import type { World } from './world.ts';

/** A plan of the shape the seed wants. */
export function makePlan(world: World): PlanInput {
  const { chance, options } = world;
  const count = chance.int(1, options.planTasks + 1);
  const tasks = Array.from({ length: count }, (_, i) => ({
    id: `t${i}`,
    prompt: `do t${i}`,
    dependencies: before(world, i, count).map((at) => `t${at}`),
    priority: chance.pick(['critical', 'high', 'normal', 'low'] as const) ?? 'normal',
    ...reviewIn(world),
    ...(world.has('budgets') && chance.hit(0.3)
      ? {
          budget: {
            tokens: chance.int(10, 120),
            turns: chance.int(2, 12),
            spawns: chance.int(0, 4),
            ...moneyAndTime(world),
          },
        }
      : {}),
  }));
  const budget =
    world.has('budgets') && chance.hit(0.5)
      ? { budget: { tokens: chance.int(30, 400), turns: chance.int(5, 60), ...moneyAndTime(world) } }
      : {};
  // Its time is over in the middle of a turn that begins after a clock was set back.
  const time = options.faults.has('wall_set_back') ? { budget: { wallMs: chance.int(4_000, 20_000) } } : {};
  return { name: `plan ${world.nextPid()}`, tasks, ...budget, ...time, ...world.files };
}

/** By nobody, its owner, the person, or an agent, in a few rounds. */
function reviewIn(world: World): Pick<PlanInput['tasks'][number], 'review' | 'reviewRounds'> {
  const { chance } = world;
  const review = world.has('reviews')
    ? (chance.pick(['none', 'none', 'owner', 'person'] as const) ?? 'none')
    : 'none';
  if (!world.has('agent_reviews') || chance.hit(0.4)) return { review };
  return { review: chance.pick(['coder', 'agent', 'speaker']) ?? 'coder', reviewRounds: chance.int(1, 3) };
}

export function moneyAndTime({ chance, options }: World): { usd?: number; wallMs?: number } {
  if (!options.habits.has('money')) return {};
  return {
    usd: chance.int(1, 40) / 4,
    ...(chance.hit(0.4) ? { wallMs: chance.pick([2_000, 10_000, 30_000]) ?? 2_000 } : {}),
  };
}

function before({ chance, options }: World, i: number, count: number): number[] {
  if (i === 0) return [];
  const earlier = Array.from({ length: i }, (_, at) => at);
  switch (options.shape) {
    case 'chain':
      return [i - 1];
    case 'diamond':
      return i === count - 1 ? earlier.filter((at) => at > 0 || count === 2) : [0];
    case 'layers':
      return earlier.filter((at) => Math.floor(at / 3) === Math.floor(i / 3) - 1);
    case 'wide':
      return [];
    case 'random':
      return earlier.filter(() => chance.hit(0.3));
    default:
      return options.shape satisfies never;
  }
}
