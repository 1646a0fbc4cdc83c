import { isTerminal, type Message, type Task } from '@reveille/protocol';
import type { TableName } from '@reveille/core';
import type { World } from './world.ts';

const TABLES: readonly TableName[] = ['plan', 'task', 'session', 'run', 'message', 'request', 'budget'];

/** What is still to be done, in words; empty when the world is at rest. */
export function unfinished(world: World): string[] {
  const { rows } = world.auditor.ledger;
  const left: string[] = [];
  for (const task of rows.task.values()) {
    if (!isTerminal(task.state) && task.state !== 'blocked')
      left.push(
        `task ${task.id} is ${task.state} (${task.why}${task.cancelling ? ', being cancelled' : ''})${runOf(world, task)}`,
      );
  }
  for (const message of rows.message.values()) {
    if (message.state !== 'queued' && message.state !== 'delivered') continue;
    if (!canTake(world, message.to)) continue;
    left.push(`message ${message.id} (${message.kind}) for ${message.to} is ${message.state}`);
  }
  for (const request of rows.request.values())
    if (request.state === 'open')
      left.push(`request ${request.id} (${request.kind}) of ${request.task} is open`);
  for (const plan of rows.plan.values())
    if (['draft', 'active', 'paused'].includes(plan.state)) left.push(`plan ${plan.id} is ${plan.state}`);
  for (const host of world.hosts) if (!host.up || host.up.stalled) left.push(`host ${host.name} is not up`);
  for (const call of world.calls)
    if (!call.life.dead) left.push(`the call "${call.label}" of ${call.at} ms is not answered`);
  return left;
}

/** The mail of a task that is blocked waits until somebody tries again what blocks it. */
function canTake(world: World, id: string): boolean {
  const session = world.auditor.ledger.rows.session.get(id);
  return !session?.task || world.auditor.ledger.rows.task.get(session.task)?.state !== 'blocked';
}

function runOf(world: World, task: Task): string {
  const run = task.run ? world.auditor.ledger.rows.run.get(task.run) : undefined;
  if (!run) return '';
  const { id, host, epoch, turn, paused, retryAt } = run;
  return ` [${id} host ${host ?? 'none'} epoch ${epoch} turn ${turn?.number ?? 'none'}${paused ? ' paused' : ''}${retryAt ? ' backoff' : ''}]`;
}

/** When everything has come to rest: does what happened agree with what is on record? */
export function checkRest(world: World): void {
  checkStore(world);
  checkMail(world);
  checkTrees(world);
  checkProcesses(world);
  checkBudgets(world);
  checkUsage(world);
}

/** What was acknowledged is what the store holds, row by row and event by event. */
function checkStore(world: World): void {
  const { ledger } = world.auditor;
  const { tables } = world.memory;
  for (const table of TABLES) {
    for (const [id, doc] of ledger.rows[table]) {
      world.check(
        tables.get(table, id)?.doc === doc,
        'durable',
        () => `${table} ${id} was on disk and is not what the store holds`,
      );
      world.auditor.compare({ table, after: doc });
    }
  }
  const events = tables.events(0, Infinity);
  world.check(
    events.length === ledger.facts.length,
    'fold',
    () => `${ledger.facts.length} events were committed, the store has ${events.length}`,
  );
  for (const [i, event] of events.entries())
    world.check(
      event.number === i + 1 && event.type === ledger.facts[i]?.type,
      'fold',
      () => `event ${i + 1} is ${event.number} ${event.type}, committed was ${ledger.facts[i]?.type}`,
    );
}

function checkMail(world: World): void {
  const { rows } = world.auditor.ledger;
  for (const message of rows.message.values()) {
    const got = world.experienced.get(message.to)?.has(message.id) ?? false;
    if (message.state === 'read' && !world.auditor.ledger.isLeave(message))
      world.check(got, 'ends', () => `${describe(message)} counts as read and never reached anybody`);
    if (message.state !== 'dead' || message.dead?.startsWith('folded')) continue;
    const to = rows.session.get(message.to);
    world.check(
      to?.state === 'ended',
      'ends',
      () => `${describe(message)} is dead ("${message.dead}") and its recipient is not`,
    );
  }
  for (const run of rows.run.values()) {
    const told = [...rows.message.values()].filter((message) => message.key === `end:${run.id}`);
    world.check(told.length <= 1, 'ends', () => `the end of ${run.id} was told ${told.length} times`);
  }
}

const describe = (message: Message): string =>
  `message ${message.id} (${message.kind} ${message.key}) for ${message.to}`;

function checkTrees(world: World): void {
  const { rows } = world.auditor.ledger;
  for (const task of rows.task.values()) {
    const parent = rows.session.get(task.owner)?.task;
    const above = parent ? rows.task.get(parent) : undefined;
    if (task.plan === null && above && isTerminal(above.state)) {
      world.check(
        isTerminal(task.state),
        'cancelled trees',
        () => `${task.id} is ${task.state} and its parent ${above.id} is ${above.state}`,
      );
    }
  }
  const due = world.memory.tables.leases.nextDueIn();
  world.check(
    due === null,
    'liveness',
    () =>
      `everything has ended, and something is still offered or held (due in ${due} ms): ${[...rows.task.keys()].filter((id) => world.memory.tables.leases.get(id)).join(', ')}`,
  );
}

/** (8) Nothing runs that no open, held run owns. */
function checkProcesses(world: World): void {
  for (const host of world.hosts) {
    for (const process of host.processes.values()) {
      const run = world.auditor.ledger.rows.run.get(process.spec.run);
      const owned = run?.state === 'open' && run.host === host.name && run.epoch === process.spec.epoch;
      world.check(
        owned,
        'processes',
        () =>
          `${process.identity} lives, and ${process.spec.run} is ${run?.state} on ${run?.host ?? 'no host'} (epoch ${run?.epoch}, its own ${process.spec.epoch})`,
      );
    }
  }
}

/** What every node has used is what was used below it. */
function checkBudgets(world: World): void {
  const { rows } = world.auditor.ledger;
  for (const node of rows.budget.values()) {
    world.check(
      Object.keys(node.reserved).length === 0,
      'budgets',
      () => `${node.id} still has ${Object.keys(node.reserved).join(', ')} reserved`,
    );
    if (world.auditor.ledger.lateBudgets.has(node.id)) continue;
    const tasks = [...rows.task.values()].filter((task) =>
      world.auditor.ledger.isUnder(task.budget, node.id),
    );
    const ids = new Set<string>(tasks.map((task) => task.id));
    const runs = [...rows.run.values()].filter((run) => ids.has(run.task));
    const tokens = runs.reduce((sum, run) => sum + run.used.tokens, 0);
    const turns = runs.reduce((sum, run) => sum + run.turns, 0);
    world.check(
      node.used.tokens === tokens,
      'budgets',
      () => `${node.id} counts ${node.used.tokens} tokens, its runs used ${tokens}`,
    );
    world.check(
      node.used.turns === turns,
      'budgets',
      () => `${node.id} counts ${node.used.turns} turns, its runs had ${turns}`,
    );
    const usd = runs.reduce((sum, run) => sum + run.used.usd, 0);
    world.check(
      node.used.usd === usd,
      'budgets',
      () => `${node.id} counts $${node.used.usd}, its runs used $${usd}`,
    );
  }
}

/**
 * EXE5: usage that an executor told of is counted once, and in a world without trouble all of it. A call that died with its host
 * counts as an estimate of its own, which no executor told of.
 */
function checkUsage(world: World): void {
  const calm = world.faults.isCalm;
  for (const run of world.auditor.ledger.rows.run.values()) {
    const told = world.usage.get(run.id) ?? [];
    const all = told.reduce((sum, { tokens }) => sum + tokens, 0);
    const reported = run.used.tokens - (run.used.estimated?.tokens ?? 0);
    world.check(
      reported <= all,
      'budgets',
      () => `${run.id} counts ${reported} tokens as reported, its agents told of ${all}`,
    );
    if (!calm || run.end?.cause !== 'report') continue;
    const endedAt = world.endedAt.get(run.id) ?? 0;
    const sure = told.filter(({ at }) => at < endedAt - 1_000).reduce((sum, { tokens }) => sum + tokens, 0);
    world.check(
      run.used.tokens >= sure,
      'budgets',
      () => `${run.id} counts ${run.used.tokens} tokens, its agents told of ${sure} long before its end`,
    );
  }
}
