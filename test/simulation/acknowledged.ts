import type { StartSpec } from '@reveille/core';
import {
  isTerminal,
  type AwaitResult,
  type Delivery,
  type ReportResult,
  type SpawnInput,
  type SpawnResult,
  type TaskId,
} from '@reveille/protocol';
import type { World } from './world.ts';

// What an answer says must be on disk at the moment it is given. Each function remembers what was asked and when,
// and looks at the answer as it leaves the engine.

export function sawSpawn(
  world: World,
  session: string,
  input: SpawnInput,
  patienceMs: number,
): (result: SpawnResult) => void {
  const began = world.timeline.now;
  return (result) => {
    checkChild(world, session, input, result.task);
    if (result.state === 'ended') {
      const state = world.auditor.ledger.rows.task.get(result.task)?.state;
      world.check(
        (state !== undefined && isTerminal(state)) || goesOnAgain(world),
        'calls',
        () => `a blocking spawn says that ${result.task} has ended; it is ${state}`,
      );
      if (result.delivery) checkTaken(world, [result.delivery]);
      else checkToldElsewhere(world, result.task);
    }
    if (result.state === 'needs_you') checkTaken(world, result.deliveries);
    const waited = world.timeline.now - began;
    world.check(
      result.state !== 'running' || waited >= patienceMs,
      'calls',
      () => `a blocking spawn gave up after ${waited} ms, its patience is ${patienceMs}`,
    );
  };
}

export function sawSpawned(
  world: World,
  session: string,
  inputs: readonly SpawnInput[],
): (ids: readonly TaskId[]) => void {
  return (ids) => {
    world.check(
      ids.length === inputs.length,
      'calls',
      () => `${inputs.length} subtasks were asked for and ${ids.length} returned`,
    );
    for (const [i, input] of inputs.entries()) checkChild(world, session, input, ids[i]);
  };
}

/** What has ended may be under way once more: somebody tried it again, or raised the budget that had stopped it. */
const goesOnAgain = (world: World): boolean =>
  world.has('retry') || world.has('raise') || world.has('raise_stopped');

function checkChild(world: World, session: string, input: SpawnInput, id: TaskId | undefined): void {
  const task = id && world.auditor.ledger.rows.task.get(id);
  world.check(task !== undefined, 'durable', () => `the spawn of ${id} was acknowledged and is not on disk`);
  if (!task || task.owner !== session) return;
  world.check(
    input.key === undefined || task.key === input.key,
    'calls',
    () => `a spawn with key ${input.key} returned ${id}, whose key is ${task.key}`,
  );
}

export function sawAwait(
  world: World,
  taskIds: readonly TaskId[],
  mode: 'all' | 'any',
  timeoutMs: number,
): (result: AwaitResult) => void {
  const began = world.timeline.now;
  return (result) => {
    checkTaken(world, result.deliveries);
    const ended = taskIds.filter((id) =>
      isTerminal(world.auditor.ledger.rows.task.get(id)?.state ?? 'running'),
    );
    if (result.why === 'ended') {
      const enough = mode === 'all' ? ended.length === taskIds.length : ended.length > 0;
      // A task that was tried again since had ended all the same when the answer was made.
      world.check(
        enough || goesOnAgain(world),
        'calls',
        () => `await ${mode} of ${taskIds.join(' ')} says ended; ended are ${ended.join(' ') || 'none'}`,
      );
      for (const id of taskIds) {
        if (
          !result.open.includes(id) &&
          !result.deliveries.some((delivery) => delivery.message.kind === 'end' && delivery.task?.id === id)
        )
          checkToldElsewhere(world, id);
      }
    }
    const waited = world.timeline.now - began;
    world.check(
      result.why !== 'timeout' || waited >= timeoutMs,
      'calls',
      () => `an await timed out after ${waited} ms instead of ${timeoutMs}`,
    );
  };
}

export function sawDeliveries(world: World): (deliveries: readonly Delivery[]) => void {
  return (deliveries) => checkTaken(world, deliveries);
}

export function sawReport(world: World, spec: StartSpec, output: string): (result: ReportResult) => void {
  return (result) => {
    if (!result.accepted)
      return result.code === 'unread_ends' ? checkTaken(world, result.deliveries) : undefined;
    const run = world.auditor.ledger.rows.run.get(spec.run);
    world.check(
      run?.state === 'ended',
      'durable',
      () => `the report of ${spec.run} was accepted and its end is not on disk`,
    );
    world.check(
      run?.end?.output === output,
      'ends',
      () => `${spec.run} reported "${output}", on record is "${run?.end?.output}"`,
    );
    world.check(
      run?.epoch === spec.epoch,
      'one agent',
      () => `a report of epoch ${spec.epoch} ended ${spec.run}, which is at ${run?.epoch}`,
    );
  };
}

export function sawNotice(
  world: World,
  type: string,
): (result: { message: string | null; request: string | null }) => void {
  return ({ message, request }) => {
    const { rows } = world.auditor.ledger;
    const there = request === null ? rows.message.has(message ?? '') : rows.request.has(request);
    world.check(there, 'durable', () => `a ${type} was acknowledged and is not on disk`);
  };
}

/** MBX3: recorded as taken by this very call before it is handed over. */
export function checkTaken(world: World, deliveries: readonly Delivery[]): void {
  for (const { message, end } of deliveries) {
    const takers = world.auditor.ledger.takers.get(message.id);
    world.check(
      message.taken !== null && takers?.has(message.taken.id) === true,
      'durable',
      () => `message ${message.id} was handed over before that was on disk`,
    );
    if (message.kind !== 'end' || !message.run) continue;
    const run = world.auditor.ledger.rows.run.get(message.run);
    world.check(
      end !== null && run?.end?.output === end.output,
      'ends',
      () =>
        `the end of ${message.run} was handed over as "${end?.output}", on record is "${run?.end?.output}"`,
    );
  }
}

/** A call says "ended" and brings no end: then somebody has it, or it went with the recipient. */
function checkToldElsewhere(world: World, id: TaskId): void {
  const task = world.auditor.ledger.rows.task.get(id);
  if (!task || !isTerminal(task.state) || goesOnAgain(world)) return;
  const end = world.auditor.ledger
    .mailOf(task.owner)
    .find((message) => message.kind === 'end' && message.task === id && message.run === task.lastRun);
  // One that somebody took and gave back since is no longer this call's to bring.
  const taken = end && world.auditor.ledger.takers.has(end.id);
  world.check(
    end?.state !== 'queued' || taken === true,
    'calls',
    () => `a call says that ${id} has ended and leaves its end ${end?.id} in the mailbox`,
  );
}
