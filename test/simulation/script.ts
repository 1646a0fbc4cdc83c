import type { TurnInput } from '@reveille/core';
import { ReveilleError, type ErrorClass, type ErrorCode } from '@reveille/protocol';
import { sawReport } from './acknowledged.ts';
import { answer, waitFor, work } from './doing.ts';
import { ConnectionLost } from './connection-lost.ts';
import { isOrchestrator, orchestrate } from './orchestrating.ts';
import type { Process } from './process.ts';

/** What an agent may be told no with. Anything else is a defect. */
const EXPECTED: ReadonlySet<ErrorCode> = new Set([
  'stale_caller',
  'limit_reached',
  'budget_exhausted',
  'wrong_state',
  'not_allowed',
  'store_failed',
  'store_full',
  'contention',
  'aborted',
  'already_answered',
  'stopping',
  'workspace_failed',
]);
const FAULTS: readonly ErrorClass[] = [
  'rate_limit',
  'network',
  'overload',
  'crash',
  'auth',
  'refusal',
  'unknown',
];

/** One turn of an agent, from its input to its rest. It never throws: whatever it meets, it copes with. */
export async function script(agent: Process, input: TurnInput): Promise<void> {
  for (let mistakes = 0; ; mistakes++) {
    try {
      return await live(agent, input);
    } catch (error) {
      if (!(await cope(agent, error, mistakes))) return;
    }
  }
}

async function cope(agent: Process, error: unknown, mistakes: number): Promise<boolean> {
  const { world } = agent;
  if (error instanceof ConnectionLost) {
    await agent.work(world.chance.int(10, 4_000));
    if (mistakes < 5) return true;
    agent.exit('the engine is gone');
    return false;
  }
  if (!(error instanceof ReveilleError) || !EXPECTED.has(error.code)) {
    world.fail(
      'engine',
      `an agent was answered with ${error instanceof Error ? error.stack : String(error)}`,
    );
    return false;
  }
  world.say(agent.life, `${agent.identity} is told no: ${error.code}: ${error.message}`);
  await agent.work(world.chance.int(1, 500));
  if (error.code === 'stale_caller' || (mistakes > 8 && !world.quiet)) {
    agent.endTurn(`gave up: ${error.code}`);
    return false;
  }
  return true;
}

async function live(agent: Process, input: TurnInput): Promise<void> {
  const { world, mind } = agent;
  if (isOrchestrator(agent)) return orchestrate(agent, input, report);
  if (agent.spec.task.reviews) return judge(agent);
  for (;;) {
    await agent.work(world.chance.skewed(0, world.options.workMs));
    if (world.quiet) return wrapUp(agent);
    if (mind.toAnswer.size > 0 && world.chance.hit(0.6)) await answer(agent);
    if (mind.appetite > 0) {
      mind.appetite--;
      await work(agent);
      continue;
    }
    if (await finish(agent, input)) return;
  }
}

/** A reviewer looks at the work for a while and says what it thinks of it, if it can. */
async function judge(agent: Process): Promise<void> {
  const { world, spec } = agent;
  const { chance, quiet } = world;
  await agent.work(chance.skewed(0, world.options.workMs));
  const verdict = quiet ? 'approve' : chance.weighted({ approve: 4, changes: 4, none: 1 });
  if (spec.task.agent.name === 'speaker')
    return agent.endTurn(verdict === 'none' ? 'I cannot tell' : `look\nverdict: ${verdict}`);
  if (verdict === 'none') {
    await report(agent, 'failed');
  } else {
    const structured = { verdict, comments: `more of it ${world.nextPid()}` };
    await report(agent, 'success', { structured });
  }
  if (agent.turnOpen !== null) agent.endTurn('reported');
}

/** In the quiet phase everybody is well-behaved: answers what it was asked, waits for its children, reports. */
async function wrapUp(agent: Process): Promise<void> {
  const { world, mind } = agent;
  for (;;) {
    await answer(agent);
    const outcome = await report(agent, 'success');
    if (outcome === 'accepted') return agent.endTurn('reported');
    if (outcome === 'again') continue;
    if (world.chance.hit(0.5)) return agent.endTurn('waits for its children');
    await waitFor(agent, [...mind.children], 'all', 20_000);
  }
}

/** How the turn ends. False: it goes on after all. */
async function finish(agent: Process, input: TurnInput): Promise<boolean> {
  const { world, mind } = agent;
  const end = world.chance.weighted({
    report: 8,
    rest: mind.children.size > 0 ? 5 : world.has('no_report') ? 2 : 0,
    silent: world.strikes('agent_silent', 1) ? 1 : 0,
    crash: world.strikes('agent_crash', 1) ? 1 : 0,
    fault: world.strikes('agent_fault', 1) ? 1.5 : 0,
  });
  if (end === 'silent') {
    await agent.hush();
    return false;
  }
  if (end === 'crash') {
    agent.exit('crashed');
    return true;
  }
  if (end === 'fault') {
    agent.tell({ type: 'failed', class: world.chance.pick(FAULTS) ?? 'unknown', message: 'simulated' });
    agent.exit('failed');
    return true;
  }
  if (end === 'rest') {
    agent.endTurn(`rests after turn ${input.turn}`);
    return true;
  }
  return reportAsUsual(agent);
}

async function reportAsUsual(agent: Process): Promise<boolean> {
  const { world, mind } = agent;
  const status = world.chance.weighted({
    success: 6,
    failed: world.has('report_failed') ? 2 : 0,
    partial: world.has('report_partial') ? 1 : 0,
  });
  const giveUpChildren = world.has('give_up_children') && world.chance.hit(0.3);
  const outcome = await report(agent, status, { giveUpChildren });
  if (outcome === 'again') return false;
  if (outcome === 'children') {
    if (world.chance.hit(0.5)) agent.endTurn('waits for its children');
    else await waitFor(agent, [...mind.children], 'all', 5_000);
    return agent.turnOpen === null;
  }
  if (world.has('report_twice') && world.chance.hit(0.5)) await reportLate(agent);
  if (agent.turnOpen !== null) agent.endTurn('reported');
  return true;
}

async function report(
  agent: Process,
  status: 'success' | 'partial' | 'failed',
  more: {
    readonly giveUpChildren?: boolean;
    readonly structured?: { verdict: string; comments: string };
  } = {},
): Promise<'accepted' | 'children' | 'again'> {
  const { world, mind, spec } = agent;
  const output = `result ${world.nextPid()} of ${spec.task.name}`;
  if (more.giveUpChildren) world.auditor.givesUp.add(spec.run);
  const result = await agent.call(
    `reports ${status}`,
    (to) => to.reportCompletion({ status, output, ...more }),
    sawReport(world, spec, output),
  );
  if (result.accepted) return 'accepted';
  if (result.code === 'open_children') {
    for (const id of result.open) mind.children.add(id);
    return 'children';
  }
  if (result.code === 'unread_ends') world.absorbDeliveries(agent, result.deliveries);
  return 'again';
}

/** The run has ended; what is said now must be refused. */
async function reportLate(agent: Process): Promise<void> {
  const { world, spec } = agent;
  await agent.work(world.chance.int(0, 300));
  const before = world.auditor.ledger.facts.length;
  try {
    const result = await agent.call('reports again', (to) =>
      to.reportCompletion({ status: 'failed', output: 'late' }),
    );
    world.check(!result.accepted, 'one agent', () => `a second report of ${spec.run} was accepted`);
  } catch (error) {
    if (!(error instanceof ReveilleError)) throw error;
    if (error.code !== 'stale_caller') throw error;
    const recorded = world.auditor.ledger.facts
      .slice(before)
      .some((fact) => fact.type === 'report.refused' && fact.run === spec.run);
    world.check(recorded, 'one agent', () => `a late report of ${spec.run} was refused and not recorded`);
  }
}
