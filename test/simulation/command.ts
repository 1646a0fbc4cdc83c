import { ACTION_KINDS, isTerminal, type Orchestrator, type RetryInput, type Task } from '@reveille/protocol';
import type { Life } from './life.ts';
import { makeAction } from './wishes.ts';
import type { MoreDeed } from './steering.ts';
import type { World } from './world.ts';

/** What people decide about who works and where. */
export const COMMANDS: Readonly<Record<string, MoreDeed>> = {
  swapWorker: { habit: 'swap', weight: 3, act: swapWorker },
  sendBack: { habit: 'swap', weight: 2, act: sendBack },
  retryWith: { habit: 'swap', weight: 1, act: retryWith },
  newRules: { habit: 'new_rules', weight: 6, act: newRules },
  takeOver: { habit: 'take_over', weight: 3, act: takeOver },
  integrateAgain: { habit: 'integrate_again', weight: 2, act: integrateAgain },
  workThere: { habit: 'take_over', weight: 2, act: workThere },
};

const AGENTS = ['agent', 'coder', 'speaker'];

function another(world: World): RetryInput {
  const { chance } = world;
  const agent = chance.pick(AGENTS) ?? 'agent';
  const model = chance.pick(['small', 'large']) ?? 'small';
  return chance.pick<RetryInput>([{ agent }, { model }, { agent, model }]) ?? { agent };
}

function anyTask(world: World, fits: (task: Task) => boolean): Task | undefined {
  return world.chance.pick([...world.auditor.ledger.rows.task.values()].filter(fits));
}

/** In the middle of a turn, between two, before it began, or while it is paused. */
async function swapWorker(world: World, person: Orchestrator): Promise<void> {
  const busy = world.chance.hit(0.7);
  const task = anyTask(world, ({ state, run }) => (busy ? run !== null : !isTerminal(state)));
  if (!task) return;
  const swaps = swapsOf(world, task.id);
  await person.swapWorker(task.id, another(world));
  world.check(
    swapsOf(world, task.id) > swaps,
    'durable',
    () => `the swap of ${task.id} was acknowledged and is not on record`,
  );
}

const swapsOf = (world: World, task: string): number =>
  world.auditor.ledger.facts.filter((fact) => fact.type === 'task.swapped' && fact.task === task).length;

/** A review asks for changes, and somebody else is to make them. */
async function sendBack(world: World, person: Orchestrator): Promise<void> {
  const task = anyTask(world, ({ state }) => state === 'review');
  if (!task) return;
  await person.reviewTask({ task: task.id, verdict: 'changes', comment: 'not like this' });
  await person.swapWorker(task.id, another(world));
}

async function retryWith(world: World, person: Orchestrator): Promise<void> {
  const task = anyTask(world, ({ state }) => state === 'failed' || state === 'cancelled');
  if (task) await person.retryTask(task.id, another(world));
}

/** Something else is said of somebody, and holds at once for all that are at work, below it too. */
async function newRules(world: World, _person: Orchestrator, life: Life): Promise<void> {
  if (!world.has('permits')) return;
  world.rules.change();
  const { rows } = world.auditor.ledger;
  const since = world.timeline.now;
  const open = [...rows.run.values()].filter(({ state }) => state === 'open').slice(0, 6);
  for (const { id, session, epoch, task } of open) {
    const caller = { kind: 'worker', session, run: id, epoch } as const;
    for (const kind of ACTION_KINDS) {
      const action = { ...makeAction(world), kind, tool: kind };
      const { verdict } = await life.engine.permits.judge(caller, action);
      const row = rows.task.get(task);
      world.check(
        verdict !== 'auto' || !row || world.rules.mayBy(row, action, since),
        'families',
        () => `${task} may do what one above it may not (${kind})`,
      );
    }
  }
}

/** Two steps: its turn is stopped, and when that has happened it is the person's. */
async function takeOver(world: World, person: Orchestrator): Promise<void> {
  const task = anyTask(world, ({ run, repository }) => run !== null && repository !== null);
  if (!task) return;
  const { ready } = await person.takeOver(task.id);
  if (!ready) return;
  world.trees.edit(task);
  if (world.chance.hit(0.5)) await person.resumeWorker(task.id);
}

/** A plan whose integration was given up gets another task, and with it another integration. */
async function integrateAgain(world: World, person: Orchestrator): Promise<void> {
  const { rows } = world.auditor.ledger;
  const plan = world.chance.pick([...rows.plan.values()].filter(({ integration }) => integration !== null));
  if (!plan?.integration || !world.mayGrow()) return;
  if (!isTerminal(rows.task.get(plan.integration)?.state ?? 'completed'))
    await person.cancelTask(plan.integration);
  await person.addPlanTask(plan.id, { id: `after${world.nextPid()}`, prompt: 'this too' });
}

/** Edits where somebody was taken over, and lets it go on; now and then twice in a row. */
async function workThere(world: World, person: Orchestrator): Promise<void> {
  const task = anyTask(world, ({ run }) => world.auditor.ledger.rows.run.get(run ?? '')?.paused === true);
  if (!task) return;
  await person.resumeWorker(task.id);
  if (task.repository === null || world.chance.hit(0.5)) return;
  const { ready } = await person.takeOver(task.id);
  if (!ready) return;
  world.trees.edit(task);
  await person.resumeWorker(task.id);
}
