import { ReveilleError, type Orchestrator, type Plan, type Request, type Task } from '@reveille/protocol';
import type { Life } from './life.ts';
import type { Habit } from './options.ts';
import { wordsFor } from './wishes.ts';
import type { World } from './world.ts';

/** Something a person does if the seed has the habit. More of them go here. */
export interface MoreDeed {
  readonly habit: Habit;
  readonly weight: number;
  readonly act: (world: World, person: Orchestrator, life: Life) => Promise<void>;
}

export const MORE_DEEDS: Readonly<Record<string, MoreDeed>> = {
  raiseBudget: { habit: 'raise', weight: 4, act: raiseBudget },
  raiseStopped: { habit: 'raise_stopped', weight: 12, act: raiseStopped },
  answerTwice: { habit: 'answer_again', weight: 3, act: answerTwice },
  answerLate: { habit: 'answer_again', weight: 2, act: answerLate },
  pauseBusy: { habit: 'pause_busy', weight: 3, act: pauseBusy },
  endHolder: { habit: 'rest_to_ask', weight: 3, act: endHolder },
  stopPlan: { habit: 'stop_part', weight: 0.3, act: stopPlan },
  stopTree: { habit: 'stop_part', weight: 1, act: stopTree },
};

/** More of it, or less; also less than has been used already, or for a plan or task that had none. */
async function raiseBudget(world: World, person: Orchestrator): Promise<void> {
  const { chance, auditor } = world;
  const { rows } = auditor.ledger;
  const node = chance.hit(0.4) ? chance.pick([...rows.plan.values()]) : chance.pick([...rows.task.values()]);
  if (!node) return;
  const limits = {
    tokens: chance.int(5, 400),
    ...(chance.hit(0.5) ? { turns: chance.int(3, 60) } : {}),
    ...(world.has('money') ? { usd: chance.int(1, 80) / 4 } : {}),
    ...(world.has('raise_stopped') && chance.hit(0.5) ? { wallMs: chance.int(3_000, 30_000) } : {}),
  };
  if (!(await tryToRaise(() => person.raiseBudget(node.id, limits)))) return;
  const now = rows.budget.get(node.id)?.limits;
  // Somebody else may have set it again since.
  world.check(
    now !== undefined,
    'durable',
    () => `the budget of ${node.id} was acknowledged and is not there`,
  );
}

/** False: it was refused, because more has been used by now. */
async function tryToRaise(raise: () => Promise<unknown>): Promise<boolean> {
  try {
    await raise();
    return true;
  } catch (error) {
    if (error instanceof ReveilleError && error.code === 'invalid_input') return false;
    throw error;
  }
}

/** Whoever stopped for its budget goes on with a little more of it, and soon stops again. */
async function raiseStopped(world: World, person: Orchestrator): Promise<void> {
  const { rows } = world.auditor.ledger;
  const request = pick(world, ({ state, kind }) => state === 'open' && kind === 'budget');
  const run = rows.run.get(request?.run ?? '');
  if (!request || !run?.raises?.length) return;
  if (world.chance.hit(0.3)) {
    const raised = await tryToRaise(() => person.answer({ request: request.id, answer: 'raise' }));
    if (raised) world.acknowledged(request.id, 'raise');
    return;
  }
  for (const { node, key, to } of run.raises) {
    const limit = rows.budget.get(node)?.limits[key] ?? 0;
    const more = key === 'wallMs' || key === 'usd' ? to : Math.max(limit + 1, to - limit);
    await tryToRaise(() => person.raiseBudget(node as Plan['id'] | Task['id'], { [key]: more }));
  }
}

/** Two answer at the same time: one of them counts. */
async function answerTwice(world: World, person: Orchestrator): Promise<void> {
  const asked = ({ state, kind }: Request): boolean =>
    state === 'open' && ['question', 'approval'].includes(kind);
  const request = pick(world, asked);
  if (request) await answerByTwo(world, person, request);
}

export async function answerByTwo(world: World, person: Orchestrator, request: Request): Promise<void> {
  const answer = async (): Promise<void> => {
    const words = wordsFor(world, request, `answer ${world.nextPid()}`);
    await person.answer({ request: request.id, answer: words });
    world.acknowledged(request.id, words);
  };
  const both = await Promise.allSettled([answer(), answer()]);
  for (const one of both) if (one.status === 'rejected' && !isRefusal(one.reason)) throw one.reason;
}

/** What no longer needs an answer takes none, and says so. */
async function answerLate(world: World, person: Orchestrator): Promise<void> {
  const request = pick(world, ({ state }) => state !== 'open');
  if (!request) return;
  let refused = false;
  try {
    await person.answer({ request: request.id, answer: 'late' });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    refused = true;
  }
  const now = world.auditor.ledger.rows.request.get(request.id);
  world.check(
    refused && now === request,
    'one answer',
    () => `a late answer to ${request.id}, which was ${request.state}, was ${refused ? 'refused' : 'taken'}`,
  );
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ReveilleError && error.code === 'already_answered';

function pick(world: World, fits: (request: Request) => boolean): Request | undefined {
  return world.chance.pick([...world.auditor.ledger.rows.request.values()].filter(fits));
}

/** Whoever was asked is called done before it has answered. */
async function endHolder(world: World, person: Orchestrator): Promise<void> {
  const request = pick(world, ({ state, with: holder }) => state === 'open' && holder !== null);
  const task = world.auditor.ledger.rows.session.get(request?.with ?? '')?.task;
  if (task) await person.completeTask(task, 'done by hand');
}

/** In the middle of its turn; until it has been stopped it goes on with what it does. */
async function pauseBusy(world: World, person: Orchestrator): Promise<void> {
  const { rows } = world.auditor.ledger;
  const busy = world.chance.pick(
    [...rows.run.values()].filter(({ state, turn }) => state === 'open' && turn),
  );
  if (!busy) return;
  await person.pauseWorker(busy.task);
  const agent = world.hosts
    .flatMap((host) => [...host.processes.values()])
    // One that has not read its input yet makes no call.
    .find(({ spec, atWork }) => spec.run === busy.id && atWork);
  if (!agent || !world.mayGrow()) return;
  // It has not heard of it yet, and wants to hand something on.
  const input = { prompt: 'one more thing', name: `late${world.nextPid()}` };
  void agent
    .call('spawns', (to) => to.spawnSubtask(input, { blocking: false }))
    .catch((error: unknown) => world.say(agent.life, `the late spawn is refused: ${String(error)}`));
}

async function stopPlan(world: World, person: Orchestrator): Promise<void> {
  const plan = world.chance.pick([...world.auditor.ledger.rows.plan.values()]);
  if (!plan) return;
  const since = world.auditor.ledger.facts.length;
  const open = world.auditor.ledger.tasksIn(plan.id);
  await person.stop({ scope: 'plan', plan: plan.id }, 'stop this plan');
  world.checkStopped(plan.state === 'draft' ? [] : open, since);
}

async function stopTree(world: World, person: Orchestrator): Promise<void> {
  const task = world.chance.pick([...world.auditor.ledger.rows.task.values()]);
  if (!task) return;
  const since = world.auditor.ledger.facts.length;
  await person.stop({ scope: 'tree', task: task.id }, 'stop this tree');
  world.checkStopped([task], since);
}
