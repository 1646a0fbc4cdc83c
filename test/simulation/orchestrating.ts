import { ReveilleError, type Orchestrator, type Plan, type Request, type Task } from '@reveille/protocol';
import type { TurnInput } from '@reveille/core';
import { checkSituation } from './audit-orchestrator.ts';
import { makePlan } from './plans.ts';
import type { Process } from './process.ts';
import { wordsFor } from './wishes.ts';
import type { World } from './world.ts';

/** What one that decides may be told no with, besides what any agent may. */
const NO: ReadonlySet<string> = new Set([
  'already_answered',
  'not_allowed',
  'wrong_state',
  'invalid_input',
  'unknown_agent',
  'not_found',
  'limit_reached',
]);
type Report = (agent: Process, status: 'success') => Promise<'accepted' | 'children' | 'again'>;

export const isOrchestrator = ({ world, spec }: Process): boolean =>
  world.auditor.ledger.rows.session.get(spec.session)?.kind === 'orchestrator';

/** A turn of an agent that makes plans of a goal and decides what comes up, well or badly. */
export async function orchestrate(agent: Process, input: TurnInput, report: Report): Promise<void> {
  const { world, mind } = agent;
  checkSituation(agent, input);
  for (;;) {
    await agent.work(world.chance.skewed(0, world.options.workMs));
    const saved = plansOf(agent);
    const more = saved.length === 0 || (saved.length < 2 && world.chance.hit(0.1));
    if (more && world.mayGrow()) await savePlan(agent);
    for (const request of mind.toDecide) await decide(agent, request);
    if (world.quiet) await startDrafts(agent);
    else if (world.chance.hit(0.5)) await meddle(agent);
    const waits = plansOf(agent).some(({ state }) => ['draft', 'active', 'paused'].includes(state));
    if (waits && !world.quiet) return agent.endTurn('waits for its plans');
    const outcome = await report(agent, 'success');
    if (outcome === 'again') continue;
    return agent.endTurn(outcome === 'accepted' ? 'reported' : 'waits for its plans');
  }
}

function plansOf({ world, spec }: Process): Plan[] {
  const { rows } = world.auditor.ledger;
  return (rows.session.get(spec.session)?.plans ?? []).flatMap((id) => rows.plan.get(id) ?? []);
}

async function savePlan(agent: Process): Promise<void> {
  const input = makePlan(agent.world);
  const start = agent.world.chance.hit(0.8);
  await agent.call('saves a plan', (to) =>
    to.savePlan({ ...input, tasks: input.tasks.slice(0, 4) }, { start }),
  );
}

/** Whatever it tries may be refused, and then nothing has happened. */
async function attempt(
  agent: Process,
  what: string,
  make: (to: Orchestrator) => Promise<unknown>,
  verify?: () => void,
): Promise<void> {
  try {
    await agent.call(what, make, verify);
  } catch (error) {
    if (!(error instanceof ReveilleError) || !NO.has(error.code)) throw error;
    agent.world.say(agent.life, `${agent.identity} is told no (${what}): ${error.code}`);
  }
}

/** Those that a person is to approve wait for that. */
async function startDrafts(agent: Process): Promise<void> {
  for (const { id, state } of plansOf(agent))
    if (state === 'draft') await attempt(agent, 'starts a plan', (to) => to.startPlan(id));
}

const WELL: { readonly [K in Request['kind']]?: string } = {
  failure: 'cancel',
  review: 'approve',
  idle: 'mark complete',
};
const ANYHOW: { readonly [K in Request['kind']]?: readonly string[] } = {
  failure: ['retry', 'retry', 'retry with coder', 'retry with model large', 'cancel', 'pass on', 'details'],
  review: ['approve', 'changes: more of it', 'reject', 'pass on'],
  idle: ['keep waiting', 'remind', 'mark complete', 'cancel', 'pass on'],
};
const NONSENSE = ['banana', 'retry with nobody', 'raise tokens=banana', 'approve the other one'];

async function decide(agent: Process, id: Request['id']): Promise<void> {
  const { world, mind } = agent;
  mind.toDecide.delete(id);
  const request = world.auditor.ledger.rows.request.get(id);
  if (request?.state !== 'open') return;
  const answer = wordsOf(world, request);
  if (answer === 'pass on') world.auditor.toldToPassOn.add(id);
  const verify = (): void => {
    if (answer !== 'pass on' && answer !== 'details') world.acknowledged(id, answer);
  };
  await attempt(agent, 'decides', (to) => to.answer({ request: id, answer }), verify);
}

function wordsOf(world: World, request: Request): string {
  const { chance, quiet } = world;
  if (quiet) return WELL[request.kind] ?? wordsFor(world, request, `decision ${world.nextPid()}`);
  const bound = request.action !== undefined || ANYHOW[request.kind] !== undefined;
  if (bound && world.has('nonsense') && chance.hit(0.2)) return chance.pick(NONSENSE) ?? 'banana';
  const choice = chance.pick(ANYHOW[request.kind] ?? []);
  if (choice) return choice;
  return chance.hit(0.2) ? 'pass on' : wordsFor(world, request, `decision ${world.nextPid()}`);
}

/** Does something to its plans that nobody asked it to. */
async function meddle(agent: Process): Promise<void> {
  const { world } = agent;
  const { chance, auditor } = world;
  const given = plansOf(agent).filter(({ state }) => state === 'cancelled');
  if (given.length > 0 && chance.hit(0.6)) return tryAgain(agent, given);
  const plan = chance.pick(plansOf(agent));
  const task = chance.pick(plan ? auditor.ledger.tasksIn(plan.id) : []);
  if (!plan || !task) return;
  const act = chance.pick(Object.keys(MEDDLING)) ?? 'retry';
  if (world.has('own_subtasks') && chance.hit(0.4)) return spawn(agent);
  if (act === 'deploy') return deploy(agent, plan, task);
  await attempt(agent, `${act}s`, async (to) => MEDDLING[act]?.(to, task, plan, world));
}

/** What was given up, perhaps because the person did not agree to it. */
async function tryAgain(agent: Process, plans: readonly Plan[]): Promise<void> {
  const tasks = plans.flatMap(({ id }) => agent.world.auditor.ledger.tasksIn(id));
  const task = agent.world.chance.pick(tasks);
  if (task) await attempt(agent, 'tries again', (to) => to.retryTask(task.id));
}

type Meddle = (to: Orchestrator, task: Task, plan: Plan, world: World) => Promise<unknown>;
const MEDDLING: Readonly<Record<string, Meddle>> = {
  retry: (to, task) => to.retryTask(task.id, { agent: 'coder' }),
  cancel: (to, task) => to.cancelTask(task.id),
  start: (to, _task, plan) => to.startPlan(plan.id),
  deploy: (to, task) => to.deployTask(task.id),
  add: async (to, _task, plan, world) =>
    world.mayGrow() && to.addPlanTask(plan.id, { id: `more${world.nextPid()}`, prompt: 'more' }),
};

/** Has something done that is in no plan. */
async function spawn(agent: Process): Promise<void> {
  const { world } = agent;
  if (!world.mayGrow()) return;
  const input = { prompt: 'look into it', name: `own${world.nextPid()}` };
  await attempt(agent, 'spawns', (to) => to.spawnSubtask(input, { blocking: false }));
}

/** Starting the tasks one by one is no way around the person's approval. */
async function deploy(agent: Process, plan: Plan, task: Task): Promise<void> {
  const { world, spec } = agent;
  await attempt(
    agent,
    'deploys',
    (to) => to.deployTask(task.id),
    () => {
      const now = world.auditor.ledger.rows.plan.get(plan.id);
      world.check(
        now?.state !== 'draft' || spec.task.plans === 'start',
        'permits',
        () => `${agent.identity} started ${task.id} of ${plan.id}, which nobody has approved`,
      );
    },
  );
}
