import type { Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

const INTEGRATOR = 'integrator';

/** What concerns several tasks at once: the integration of a plan, conflicts between two, and a budget that is raised. */
export function auditPlans(auditor: Auditor, change: Durable): void {
  for (const delta of change.deltas) {
    if (!is(delta, 'task')) continue;
    auditIntegration(auditor, delta);
    auditRaised(auditor, change, delta);
  }
  for (const { type, task, data } of change.facts)
    if (type === 'conflict.began') auditConflict(auditor, task, data?.['with']);
}

/** PLN6: the integration of a plan begins when everything it merges has completed. */
function auditIntegration(auditor: Auditor, { before, after }: Delta<'task'>): void {
  const plan = auditor.ledger.rows.plan.get(after.plan ?? '');
  const begins = after.state === 'running' && before?.state === 'ready';
  if (!plan || plan.integration !== after.id || !begins) return;
  const open = auditor.ledger
    .tasksIn(plan.id)
    .find(({ id, agent, state }) => id !== after.id && agent.name !== INTEGRATOR && state !== 'completed');
  auditor.check(
    open === undefined,
    'dependencies',
    `the integration ${after.id} of ${plan.id} began while ${open?.id} is ${open?.state}`,
  );
}

/** LIM1: whoever goes on because its budget was raised is told so, each time. */
function auditRaised(auditor: Auditor, { deltas }: Durable, { before, after }: Delta<'task'>): void {
  const goesOn = before?.state === 'failed' && after.state !== 'failed';
  const end = auditor.ledger.rows.run.get(after.lastRun ?? '')?.end;
  const raised = deltas.some((delta) => is(delta, 'budget') && delta.before?.limits !== delta.after.limits);
  if (!goesOn || end?.cause !== 'budget' || !raised) return;
  const told = deltas.some(
    (delta) =>
      is(delta, 'message') &&
      !delta.before &&
      delta.after.to === after.session &&
      delta.after.kind === 'resume',
  );
  auditor.check(told, 'ends', `${after.id} goes on because its budget was raised, and is not told`);
}

/** PLN7: a conflict of two tasks is told to the owners of both. */
function auditConflict(auditor: Auditor, one: string | undefined, other: unknown): void {
  const { rows } = auditor.ledger;
  const sides = [rows.task.get(one ?? ''), rows.task.get(String(other))].filter((side) => side !== undefined);
  if (sides.length < 2) return;
  for (const { owner } of sides) {
    if (rows.session.get(owner)?.state !== 'open') continue;
    const told = auditor.ledger.mailOf(owner).some((message) => isAbout(message, sides));
    auditor.check(told, 'conflicts', `${one} and ${String(other)} conflict, and ${owner} was not told`);
  }
}

const isAbout = ({ kind, text }: { kind: string; text: string }, sides: readonly Task[]): boolean =>
  kind === 'forecast' && sides.every(({ id }) => text.includes(id));
