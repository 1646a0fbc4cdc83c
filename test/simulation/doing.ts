import { ReveilleError, type SpawnInput, type TaskId } from '@reveille/protocol';
import { sawAwait, sawDeliveries, sawNotice, sawSpawn, sawSpawned } from './acknowledged.ts';
import { moneyAndTime } from './plans.ts';
import type { Process } from './process.ts';
import { MORE_DOINGS } from './steered.ts';
import { WISHES, wordsFor } from './wishes.ts';

const MORE = { ...MORE_DOINGS, ...WISHES };

type Doing =
  | 'output'
  | 'edit'
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

/** One thing an agent does in its turn, as the seed's habits allow. */
export async function work(agent: Process): Promise<void> {
  const { world, mind } = agent;
  const on = (habit: Parameters<typeof world.has>[0], weight: number): number =>
    world.has(habit) ? weight : 0;
  const room = world.mayGrow();
  const children = mind.children.size > 0;
  const doing = world.chance.weighted<string>({
    output: 2,
    edit: world.options.files ? 3 : 0,
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
    ...mapValues(MORE, ({ habit, weight }) => on(habit, weight)),
  });
  await (MORE[doing]?.act ?? DO[doing as Doing])(agent);
}

const mapValues = <A, B>(table: Readonly<Record<string, A>>, of: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [key, of(value)]));

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
  edit: async (agent) => agent.world.trees.edit(agent.spec.task),
  spawn: (agent) => spawnOne(agent, false),
  blocking: (agent) => spawnOne(agent, true),
  parallel: async (agent) => {
    const inputs = [childInput(agent), childInput(agent)];
    const ids = await agent.call(
      'spawns two',
      async (to) => (await to.spawnSubtasks(inputs)).map(({ task }) => task),
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
  const other = world.has('permits') && world.chance.hit(0.4) ? { agentType: 'coder' } : {};
  const speaker = world.chance.hit(0.15) ? { agentType: 'speaker' } : other;
  const budget =
    (world.has('budgets') && world.chance.hit(0.3)) || (world.has('inner_budgets') && world.chance.hit(0.5))
      ? {
          budget: {
            tokens: world.chance.int(10, 80),
            turns: world.chance.int(2, 9),
            ...moneyAndTime(world),
          },
        }
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

export async function waitFor(
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
  const held: { readonly id: string; readonly tokens: number; readonly usd: number }[] = [];
  for (let i = world.chance.int(1, 4); i > 0; i--) {
    const tokens = world.chance.int(1, 40);
    const usd = world.has('money') ? world.chance.int(0, 8) / 4 : 0;
    const id = `u${world.nextPid()}`;
    // Only the life that started an agent sets anything aside for it: its loop dies with that.
    if (agent.born.dead) return;
    const { granted } = await agent.call('reserves', () =>
      agent.born.dead ? Promise.resolve({ granted: false }) : agent.spec.reserve(id, { tokens, usd }),
    );
    if (granted) held.push({ id, tokens, usd });
  }
  for (const one of held) {
    // What is not used is given back when the run ends.
    if (world.chance.hit(0.3)) continue;
    await agent.work(world.chance.skewed(1, 1_000));
    world.use(agent, world.chance.int(0, one.tokens), one);
  }
}

/** Several reports of use, one right after the other, as backends send them. */
async function use(agent: Process): Promise<void> {
  for (let i = agent.world.chance.int(1, 4); i > 0; i--) {
    agent.world.use(agent, agent.world.chance.int(1, 30));
    await agent.work(agent.world.chance.int(0, 3));
  }
}

export async function answer(agent: Process): Promise<void> {
  const { world, mind } = agent;
  for (const request of mind.toAnswer) {
    mind.toAnswer.delete(request);
    const asked = world.auditor.ledger.rows.request.get(request);
    if (asked?.kind === 'review') continue;
    const words = wordsFor(world, asked, `answer ${world.nextPid()} of ${agent.spec.task.name}`);
    try {
      await agent.call(
        'answers',
        (to) => to.answer({ request, answer: words }),
        () => world.acknowledged(request, words),
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
