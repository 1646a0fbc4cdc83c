import { attempt } from './attempt.ts';
import type { Habit } from './options.ts';
import type { Process } from './process.ts';
import { asCaller } from './seats.ts';

/** Something an agent does in its turn if its seed has the habit. More of them go here. */
export interface MoreDoing {
  readonly habit: Habit;
  readonly weight: number;
  readonly act: (agent: Process) => Promise<void>;
}

export const MORE_DOINGS: Readonly<Record<string, MoreDoing>> = {
  leave: { habit: 'leave', weight: 6, act: askLeave },
  restToAsk: { habit: 'rest_to_ask', weight: 6, act: restToAsk },
  oddCalls: { habit: 'odd_calls', weight: 5, act: oddCalls },
  longWork: { habit: 'odd_calls', weight: 2, act: longWork },
  overspend: { habit: 'inner_budgets', weight: 4, act: overspend },
  shortTurn: { habit: 'short_turns', weight: 10, act: shortTurn },
  beside: { habit: 'calls_beside', weight: 14, act: callBeside },
};

const CHOICES = ['approve', 'deny'] as const;
const DENIED = 'Nobody answered in time. This counts as: denied.';

/**
 * Wants to do what needs leave, and stands still until somebody has answered; now and then it gives up. The same wish
 * again is the same request while that is open, and another one once it has been answered: leave is used once.
 */
async function askLeave(agent: Process): Promise<void> {
  const { world, mind } = agent;
  const key = mind.wish ?? `wish ${world.nextPid()}`;
  mind.wish = key;
  const patienceMs = world.chance.hit(0.3) ? world.chance.skewed(1, 20_000) : null;
  const answer = await agent.standStill({ text: `may I ${key}?`, options: [...CHOICES], key }, patienceMs);
  mind.wish = null;
  // The newest: an earlier one with the same words may have been given up, and its answer came by mail.
  const used = [...world.auditor.ledger.rows.request.values()].findLast(
    (request) =>
      request.task === mind.task &&
      request.key === key &&
      !world.leaveUsed.has(request.id) &&
      (request.state === 'expired' ? answer === DENIED : request.answer?.text === answer),
  );
  world.check(
    used !== undefined,
    'one answer',
    () => `${agent.identity} was told "${answer}" to "${key}", and nobody said that, or it was used before`,
  );
  if (used) world.leaveUsed.add(used.id);
}

/**
 * Several calls side by side, as of one message of a model or of agents of its own: one takes mail, the others say
 * something. Now and then nobody waits for them, and the turn may end meanwhile.
 */
async function callBeside(agent: Process): Promise<void> {
  const { world, mind } = agent;
  const { chance } = world;
  const taskIds = [...mind.children];
  const take = async (): Promise<void> => {
    const deliveries =
      taskIds.length > 0 && chance.hit(0.7)
        ? await agent.call('await', async (to, signal) => {
            const wanted = { taskIds, mode: 'any', timeoutMs: 5_000 } as const;
            return (await to.awaitSubtasks(wanted, { signal })).deliveries;
          })
        : await agent.call('checks updates beside', (to) => to.checkUpdates());
    if (deliveries.length > 0) world.auditor.sights.saw('mail given while another call was under way');
    world.absorbDeliveries(agent, deliveries);
  };
  const tell = async (): Promise<void> => {
    for (let i = chance.int(1, 8); i > 0; i--) {
      await agent.work(chance.skewed(0, 1_500));
      const message = `beside ${world.nextPid()}`;
      await agent.call('notifies beside', (to) => to.notifyParent({ type: 'info', message }));
    }
  };
  const settled = Promise.allSettled([take(), tell()]);
  if (chance.hit(0.4)) return;
  for (const one of await settled) if (one.status === 'rejected') throw one.reason;
}

/** Asks, and ends its turn: the answer wakes it. */
async function restToAsk(agent: Process): Promise<void> {
  const { world } = agent;
  const message = `which way, ${world.nextPid()}?`;
  await agent.call('asks and rests', (to) => to.notifyParent({ type: 'question', message }));
  agent.endTurn('waits for an answer');
  // The script of this turn is over; the next one begins with the next turn.
  await new Promise(() => {});
}

/** The same call again and again, or one that fails each time; who gave the work is told of it. */
async function oddCalls(agent: Process): Promise<void> {
  const { chance } = agent.world;
  const fails = chance.hit(0.5);
  agent.mind.memory.keep();
  for (let i = chance.int(4, 8); i > 0; i--) {
    const id = `t${agent.world.nextPid()}`;
    agent.tell({ type: 'tool_call', id, name: 'read_file', digest: fails ? id : 'the same' });
    await agent.work(chance.skewed(0, 200));
    agent.tell({ type: 'tool_end', id, failed: fails, news: fails });
  }
}

/** Says nothing for longer than anybody is used to. */
function longWork(agent: Process): Promise<void> {
  return agent.work(agent.world.chance.int(6_000, 12_000));
}

/** Uses more than it was given, perhaps, and goes on as if it had not. */
async function overspend(agent: Process): Promise<void> {
  const { world } = agent;
  world.use(agent, world.chance.int(20, 90));
  await agent.work(world.chance.int(3_500, 6_000));
}

/** Rests soon, and is woken soon: many short turns make a long time of work. */
async function shortTurn(agent: Process): Promise<void> {
  const { world, spec } = agent;
  const { chance, timeline } = world;
  await agent.work(chance.int(500, 3_500));
  timeline.after(chance.int(50, 1_500), () => {
    const life = world.anyLife();
    if (!life) return;
    void attempt(world, life, 'message', () =>
      asCaller(world, life, { kind: 'person', name: 'p' }).sendMessage({
        to: spec.task.id,
        message: 'go on',
      }),
    );
  });
  agent.endTurn('waits to be told to go on');
  await new Promise(() => {});
}
