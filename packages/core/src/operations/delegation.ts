import {
  AwaitInput,
  ReveilleError,
  SpawnInput,
  parseInput,
  type Caller,
  type Delivery,
  type Orchestrator,
  type ParsedSpawn,
  type SessionId,
  type Spawned,
  type SpawnResult,
  type TaskId,
} from '@reveille/protocol';
import { authorize, checkCaller, ownSession } from '../authority.ts';
import { awaitTasks, checkUpdates, type Room } from '../calls.ts';
import { decideStart, type StartDecision } from '../checkout-start.ts';
import { deliveries } from '../briefing.ts';
import { decide } from '../decide.ts';
import { checkDelegation, checkSharing } from '../definitions.ts';
import type { CallExchange } from '../hand-overs.ts';
import type { Host } from '../host.ts';
import { checkGuards } from '../plan-approval.ts';
import { foundAgent, resolveAgent } from '../plan-rules.ts';
import { knownRepository } from '../repository-agents.ts';
import { spawn } from '../subtasks.ts';
import type { Tx } from '../tx.ts';

export const DELEGATION = ['spawnSubtask', 'spawnSubtasks', 'awaitSubtasks', 'checkUpdates'] as const;

export function delegation(
  host: Host,
  caller: Caller,
  call: CallExchange,
): Pick<Orchestrator, (typeof DELEGATION)[number]> {
  const { context } = host;
  const room: Room = {
    context,
    mailroom: host.mailroom,
    handedOver: host.handing(call),
    blocked: (who) => host.workerOf(who)?.blocked() ?? (() => undefined),
  };

  const spawnAll = (inputs: readonly SpawnInput[]): Promise<Spawned[]> => spawnTogether(host, caller, inputs);

  return {
    async spawnSubtask(input, options = {}) {
      const [spawned] = await spawnAll([input]);
      if (!spawned) throw new ReveilleError('internal', 'A spawn made nothing.');
      const { task, ended } = spawned;
      if (ended) return { state: 'ended', task, delivery: await endAgain(room, caller, task) };
      if (options.blocking === false) return { state: 'running', ...spawned };
      const wanted = {
        session: ownSession(caller),
        tasks: new Set([task]),
        mode: 'all',
        single: true,
      } as const;
      const timeoutMs = options.patienceMs ?? context.settings.patienceMs;
      const result = await awaitTasks(room, caller, wanted, { timeoutMs, signal: options.signal });
      return spawnResult(spawned, result);
    },
    async spawnSubtasks(inputs) {
      if (inputs.length === 0) throw new ReveilleError('invalid_input', 'Give at least one subtask.');
      return spawnAll(inputs);
    },
    async awaitSubtasks(input, options = {}) {
      const { taskIds, mode, timeoutMs } = parseInput(AwaitInput, input);
      const session = ownSession(caller);
      const named = taskIds.map((task) => ({ task }));
      await decide(context, (tx) =>
        authorize({ rows: tx, agents: context.agents }, caller, 'awaitSubtasks', named),
      );
      return awaitTasks(
        room,
        caller,
        { session, tasks: new Set(taskIds), mode },
        { timeoutMs, signal: options.signal },
      );
    },
    async checkUpdates(filter = {}) {
      return checkUpdates(
        room,
        caller,
        ownSession(caller),
        filter.taskIds ? new Set(filter.taskIds) : undefined,
      );
    },
  };
}

/** All of them or none: one change. */
async function spawnTogether(host: Host, caller: Caller, inputs: readonly SpawnInput[]): Promise<Spawned[]> {
  const parsed = inputs.map((input) => parseInput(SpawnInput, input));
  const repository = await knownRepository(host, caller, null);
  const agents = parsed.map(({ agentType, prompt }) =>
    foundAgent(resolveAgent(host.context, agentType, { repository, prompt })),
  );
  const session = ownSession(caller);
  const checkpoint = await checkpointOf(host.context, caller, parsed);
  const startOf = await startsOf(host.context, caller, parsed, repository);
  const spawnEach = async (tx: Tx): Promise<Spawned[]> => {
    await checkCaller(tx, caller);
    await checkDelegation(tx, host.context, caller, agents);
    await checkGuards(tx, host.context, { caller, operation: 'spawnSubtask', agents });
    await checkMayStartPlans(tx, session, parsed);
    const spawned: Spawned[] = [];
    const byKey = new Map<string, Spawned>();
    for (const [i, input] of parsed.entries()) {
      const agent = agents[i];
      if (!agent) continue;
      await checkSharing(tx, host.context, { owner: session, isolation: input.isolation }, agent);
      // What this change has made is in no list yet, for keys as for files.
      const same = input.key === undefined ? undefined : byKey.get(input.key);
      const made =
        same ??
        (await spawn(tx, host.context, session, {
          ...input,
          ...startOf(input),
          agent,
          checkpoint,
          beside: spawned,
        }));
      if (input.key !== undefined) byKey.set(input.key, made);
      spawned.push(made);
    }
    return spawned;
  };
  return decide(host.context, spawnEach, { lane: 'then', crowd: session });
}

/** Whether an orchestrator asks before its plans start is the person's choice, made at their own terminal. */
async function checkMayStartPlans(tx: Tx, session: SessionId, inputs: readonly ParsedSpawn[]): Promise<void> {
  if (inputs.every(({ plans }) => plans !== 'start')) return;
  if ((await tx.need('session', session)).kind === 'terminal') return;
  throw new ReveilleError(
    'not_allowed',
    'Only a person at their terminal lets plans start without being asked: leave `plans` out.',
  );
}

/** A worker's children start from its state as it is now; those that share its checkout need no copy of it (WKT7). */
async function checkpointOf(
  { workspaces, store }: Host['context'],
  caller: Caller,
  inputs: readonly ParsedSpawn[],
): Promise<string | null> {
  if (!workspaces || caller.kind !== 'worker' || inputs.every(({ isolation }) => isolation === 'shared'))
    return null;
  const run = (await store.get('run', caller.run))?.doc;
  const task = run?.state === 'open' ? (await store.get('task', run.task))?.doc : undefined;
  return task && task.repository !== null ? workspaces.checkpoint(task) : null;
}

/** Looks at the person's checkout once for each policy that the inputs name. */
async function startsOf(
  context: Host['context'],
  caller: Caller,
  inputs: readonly ParsedSpawn[],
  repository: string | null,
): Promise<(input: ParsedSpawn) => StartDecision | undefined> {
  const starts = new Map<ParsedSpawn['dirty'], StartDecision>();
  for (const { dirty } of inputs)
    if (!starts.has(dirty)) starts.set(dirty, await decideStart(context, caller, { repository, dirty }));
  return ({ dirty }) => starts.get(dirty);
}

/** How a child ended that is spawned once more: the end that waits for its owner, or the one that it was given. */
async function endAgain(room: Room, caller: Caller, task: TaskId): Promise<Delivery | null> {
  const wanted = { session: ownSession(caller), tasks: new Set([task]), mode: 'all', single: true } as const;
  const waiting = spawnResult({ task }, await awaitTasks(room, caller, wanted, { timeoutMs: 0 }));
  if (waiting.state === 'ended' && waiting.delivery) return waiting.delivery;
  const { store } = room.context;
  const given = (state: 'read' | 'delivered') =>
    store.find('message', { list: 'byState', equal: [wanted.session, state] });
  const ends = [...(await given('read')), ...(await given('delivered'))];
  const last = ends.findLast(({ doc }) => doc.kind === 'end' && doc.task === task)?.doc;
  const [again = null] = last ? await deliveries(store, [{ ...last, maybeSeen: last.maybeSeen + 1 }]) : [];
  return again;
}

function spawnResult(spawned: Spawned, result: Awaited<ReturnType<typeof awaitTasks>>): SpawnResult {
  if (result.why === 'ended')
    return {
      state: 'ended',
      ...spawned,
      delivery: result.deliveries.find((delivery) => delivery.message.kind === 'end') ?? null,
    };
  if (result.why === 'needs_you') return { state: 'needs_you', ...spawned, deliveries: result.deliveries };
  return { state: 'running', ...spawned };
}
