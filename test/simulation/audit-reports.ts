import { isTerminal, type Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Durable } from './ledger.ts';

/** SUB6: a report is accepted while children are open only if it gives them up. */
export function auditReports(auditor: Auditor, { deltas }: Durable): void {
  const before = new Map<string, Task | undefined>();
  for (const delta of deltas) if (is(delta, 'task')) before.set(delta.after.id, delta.before);
  for (const delta of deltas) {
    if (!is(delta, 'run') || delta.before?.end || delta.after.end?.cause !== 'report') continue;
    const { id, session } = delta.after;
    if (auditor.givesUp.has(id)) continue;
    const open = auditor.ledger.tasksOf(session).find((child) => {
      const was = before.has(child.id) ? before.get(child.id) : child;
      return was && was.plan === null && !was.reviews && !isTerminal(was.state) && was.owner === session;
    });
    auditor.check(
      open === undefined,
      'cancelled trees',
      `the report of ${id} was accepted while ${open?.id} is open`,
    );
  }
}
