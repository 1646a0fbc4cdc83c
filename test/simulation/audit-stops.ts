import { isTerminal, type Run, type Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Durable } from './ledger.ts';

/** What is paused or being cancelled opens no turn and spawns nothing; of a paused plan nothing is started. */
export function auditStops(auditor: Auditor, change: Durable): void {
  for (const delta of change.deltas) {
    if (is(delta, 'task') && !delta.before) auditSpawned(auditor, delta.after);
    if (!is(delta, 'run')) continue;
    const { before, after } = delta;
    if (!before) auditBegun(auditor, change, after);
    else if (before.epoch !== after.epoch) auditHeld(auditor, after);
    if (after.turn && before?.turn?.number !== after.turn.number) auditTurn(auditor, after);
  }
}

function auditSpawned(auditor: Auditor, task: Task): void {
  const { rows } = auditor.ledger;
  const parent = rows.task.get(rows.session.get(task.owner)?.task ?? '');
  const run = parent?.run ? rows.run.get(parent.run) : undefined;
  auditor.check(
    task.plan !== null || !run?.paused,
    'paused',
    `task ${task.id} was spawned by ${run?.id}, which is paused`,
  );
}

function auditBegun(auditor: Auditor, change: Durable, run: Run): void {
  const { rows } = auditor.ledger;
  const moved = change.deltas.find((delta) => is(delta, 'task') && delta.after.id === run.task);
  // As it was: a run that ends as it begins has used up that it was started by hand.
  const task = (moved && is(moved, 'task') ? moved.before : undefined) ?? rows.task.get(run.task);
  const plan = task?.plan ? rows.plan.get(task.plan) : undefined;
  const rests = plan?.state === 'paused' || plan?.state === 'draft';
  auditor.check(
    !rests || task?.byHand === true,
    'paused',
    `${run.id} of ${run.task} began, and its plan is ${plan?.state}`,
  );
}

/** Whoever goes on with a run that is paused starts no agent; it may have to end one, or the run. */
function auditHeld(auditor: Auditor, run: Run): void {
  const ends = auditor.ledger.rows.task.get(run.task)?.cancelling;
  const starts = run.host !== null && run.identity === null && !ends;
  auditor.check(
    !run.paused || !starts || run.state === 'ended',
    'paused',
    `${run.id} is held by ${run.host} to go on, and it is paused`,
  );
}

function auditTurn(auditor: Auditor, run: Run): void {
  const { ledger } = auditor;
  auditor.check(!run.paused, 'paused', `turn ${run.turn?.number} of ${run.id} opened, and it is paused`);
  const task = ledger.rows.task.get(run.task);
  if (!task) return;
  for (const one of ledger.ofOneLife(task)) {
    auditor.check(
      one.cancelling === null && !isTerminal(one.state),
      'cancelled trees',
      `turn ${run.turn?.number} of ${run.id} opened under ${one.id}, which is ${one.cancelling ? 'being cancelled' : one.state}`,
    );
  }
}
