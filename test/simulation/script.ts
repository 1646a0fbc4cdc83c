import type { TurnInput } from '@reveille/core';
import {
  ReveilleError,
  type ErrorClass,
  type ErrorCode,
  type SpawnInput,
  type TaskId,
} from '@reveille/protocol';
import { ConnectionLost, type Process } from './process.ts';
import { sawAwait, sawDeliveries, sawNotice, sawReport, sawSpawn, sawSpawned } from './acknowledged.ts';

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

type Doing =
  | 'output'
  | 'spawn'
  | 'blocking'
  | 'parallel'
  | 'await'
  | 'check'
  | 'progress'
  | 'ask'
  | 'approval'
  | 'message'
  | 'usage'
  | 'reserve';

async function work(agent: Process): Promise<void> {
  const { world, mind } = agent;
  const on = (habit: Parameters<typeof world.has>[0], weight: number): number =>
    world.has(habit) ? weight : 0;
  const room = world.mayGrow();
  const children = mind.children.size > 0;
  const doing = world.chance.weighted<Doing>({
    output: 2,
    spawn: room ? on('spawn', 3) : 0,
    blocking: room ? on('blocking_spawn', 3) : 0,
    parallel: room ? on('spawn', 2) : 0,
    await: children ? on('await', 4) : 0,
    check: on('check_updates', 2),
    progress: on('progress', 2),
    ask: on('ask', 1),
    approval: on('approval', 1),
    message: on('messages', 2),
    usage: on('usage', 2),
    reserve: on('reserve', 2),
  });
  await DO[doing](agent);
}

const DO: { readonly [D in Doing]: (agent: Process) => Promise<void> } = {
  output: async (agent) => {
    agent.mind.memory.keep();
    agent.tell({ type: 'output', text: `thinking about ${agent.spec.task.name}` });
    agent.tell({
      type: 'tool_call',
      id: `t${agent.world.nextPid()}`,
      name: 'read_file',
      digest: `d${agent.world.nextPid()}`,
    });
  },
  spawn: (agent) => spawnOne(agent, false),
  blocking: (agent) => spawnOne(agent, true),
  parallel: async (agent) => {
    const inputs = [childInput(agent), childInput(agent)];
    const ids = await agent.call(
      'spawns two',
      (to) => to.spawnSubtasks(inputs),
      sawSpawned(agent.world, agent.spec.session, inputs),
    );
    for (const id of ids) agent.mind.children.add(id);
  },
  await: (agent) => {
    const { chance } = agent.world;
    const all = [...agent.mind.children];
    const some = all.filter(() => chance.hit(0.7));
    return waitFor(
      agent,
      some.length > 0 ? some : all,
      chance.hit(0.5) ? 'all' : 'any',
      chance.pick([0, 300, 5_000, 20_000]) ?? 300,
    );
  },
  check: async (agent) => {
    const filter = agent.world.chance.hit(0.4)
      ? { taskIds: [...agent.mind.children].slice(0, 2) }
      : undefined;
    const deliveries = await agent.call(
      'checks updates',
      (to) => to.checkUpdates(filter),
      sawDeliveries(agent.world),
    );
    agent.world.absorbDeliveries(agent, deliveries);
  },
  progress: async (agent) => {
    for (let i = agent.world.chance.skewed(1, 8); i > 0; i--) await notify(agent, 'progress');
  },
  ask: (agent) => notify(agent, 'question'),
  approval: (agent) => notify(agent, 'approval_request'),
  message: (agent) => sendMessage(agent),
  usage: (agent) => use(agent),
  reserve: (agent) => reserve(agent),
};

function childInput(agent: Process): SpawnInput {
  const { world, mind } = agent;
  const number = mind.spawned++;
  const again = world.has('same_key') && world.chance.hit(0.3) ? world.chance.pick(mind.keys) : undefined;
  const key = again ?? (world.chance.hit(0.5) ? `k${number}` : undefined);
  if (key !== undefined && again === undefined) mind.keys.push(key);
  const speaker = world.chance.hit(0.15) ? { agentType: 'speaker' } : {};
  const budget =
    world.has('budgets') && world.chance.hit(0.3)
      ? { budget: { tokens: world.chance.int(10, 80), turns: world.chance.int(2, 9) } }
      : {};
  return {
    prompt: `${mind.task} part ${number}`,
    name: `${agent.spec.task.name}.${number}`,
    ...(key === undefined ? {} : { key }),
    ...speaker,
    ...budget,
  };
}

async function spawnOne(agent: Process, blocking: boolean): Promise<void> {
  const { world, mind } = agent;
  const input = childInput(agent);
  const patienceMs = world.chance.hit(0.3) ? { patienceMs: world.chance.int(0, 3_000) } : {};
  const result = await agent.call(
    blocking ? 'spawn and wait' : 'spawns',
    (to, signal) => to.spawnSubtask(input, { blocking, signal, ...patienceMs }),
    sawSpawn(
      world,
      agent.spec.session,
      input,
      blocking ? (patienceMs.patienceMs ?? world.options.settings.patienceMs) : 0,
    ),
  );
  mind.children.add(result.task);
  if (result.state === 'ended' && result.delivery) world.absorbDeliveries(agent, [result.delivery]);
  if (result.state === 'needs_you') world.absorbDeliveries(agent, result.deliveries);
}

async function waitFor(
  agent: Process,
  taskIds: TaskId[],
  mode: 'all' | 'any',
  timeoutMs: number,
): Promise<void> {
  if (taskIds.length === 0) return;
  const { world, mind } = agent;
  try {
    const result = await agent.call(
      'await',
      (to, signal) => to.awaitSubtasks({ taskIds, mode, timeoutMs }, { signal }),
      sawAwait(world, taskIds, mode, timeoutMs),
    );
    world.absorbDeliveries(agent, result.deliveries);
    if (result.why === 'needs_you') await answer(agent);
    // Those that have ended need no more waiting for, whoever got their ends.
    for (const id of taskIds) if (!result.open.includes(id)) mind.children.delete(id);
  } catch (error) {
    if (!(error instanceof ReveilleError) || (error.code !== 'not_allowed' && error.code !== 'not_found'))
      throw error;
    // Handed to somebody else meanwhile.
    for (const id of taskIds) mind.children.delete(id);
  }
}

async function notify(agent: Process, type: 'progress' | 'question' | 'approval_request'): Promise<void> {
  const { world } = agent;
  await agent.call(
    `notifies (${type})`,
    (to) => to.notifyParent({ type, message: `${type} of ${agent.spec.task.name}` }),
    sawNotice(world, type),
  );
}

async function sendMessage(agent: Process): Promise<void> {
  const { world, spec, mind } = agent;
  const child = world.chance.pick([...mind.children]);
  const to = child ?? spec.task.owner;
  await agent.call(
    'sends a message',
    (orchestrator) => orchestrator.sendMessage({ to, message: `from ${spec.task.name}` }),
    (id) => {
      world.check(
        world.auditor.ledger.rows.message.has(id),
        'durable',
        () => `message ${id} was acknowledged and is not on disk`,
      );
    },
  );
}

async function reserve(agent: Process): Promise<void> {
  const { world } = agent;
  const held: [string, number][] = [];
  for (let i = world.chance.int(1, 4); i > 0; i--) {
    const tokens = world.chance.int(1, 40);
    const id = `u${world.nextPid()}`;
    const { granted } = await agent.call('reserves', (to) => to.reserve(id, { tokens }));
    if (granted) held.push([id, tokens]);
  }
  for (const [id, tokens] of held) {
    // What is not used is given back when the run ends.
    if (world.chance.hit(0.3)) continue;
    await agent.work(world.chance.skewed(1, 1_000));
    world.use(agent, world.chance.int(0, tokens), id);
  }
}

/** Several reports of use, one right after the other, as backends send them. */
async function use(agent: Process): Promise<void> {
  for (let i = agent.world.chance.int(1, 4); i > 0; i--) {
    agent.world.use(agent, agent.world.chance.int(1, 30));
    await agent.work(agent.world.chance.int(0, 3));
  }
}

async function answer(agent: Process): Promise<void> {
  const { world, mind } = agent;
  for (const request of mind.toAnswer) {
    mind.toAnswer.delete(request);
    if (world.auditor.ledger.rows.request.get(request)?.kind === 'review') continue;
    try {
      await agent.call('answers', (to) =>
        to.answer({ request, answer: `answered by ${agent.spec.task.name}` }),
      );
    } catch (error) {
      if (
        !(error instanceof ReveilleError) ||
        !['already_answered', 'not_allowed', 'wrong_state'].includes(error.code)
      )
        throw error;
    }
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
  const outcome = await report(agent, status, world.has('give_up_children') && world.chance.hit(0.3));
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
  giveUpChildren = false,
): Promise<'accepted' | 'children' | 'again'> {
  const { world, mind, spec } = agent;
  const output = `result ${world.nextPid()} of ${spec.task.name}`;
  const result = await agent.call(
    `reports ${status}`,
    (to) => to.reportCompletion({ status, output, giveUpChildren }),
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
