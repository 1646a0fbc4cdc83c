import type { EndCause, Run } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Durable } from './ledger.ts';

/** Ends that come of what the holder saw of its agent. The others may be decided by any host. */
const SEEN_BY_HOLDER: ReadonlySet<EndCause> = new Set(['executor', 'last_message', 'unresponsive', 'limit']);

/**
 * ID4: a run is advanced by the host that holds it. Any host may pause, cancel or complete it, but a turn, what was used,
 * a fault and the last words are told by the agent, and a host that has lost the run still has an agent that speaks.
 */
export function auditAdvances(auditor: Auditor, { deltas, host }: Durable): void {
  for (const delta of deltas) {
    if (!is(delta, 'run')) continue;
    const { before, after } = delta;
    if (!before?.host || before.host === host || before.state === 'ended' || before.epoch !== after.epoch)
      continue;
    const what = advanced(before, after);
    auditor.check(
      what === null,
      'one agent',
      `${host} wrote ${what} of ${after.id}, which ${before.host} holds under epoch ${after.epoch}`,
    );
  }
}

function advanced(before: Run, after: Run): string | null {
  if (after.state === 'ended') {
    // Whoever ends a run looks at what it left, and may find that it failed.
    const { cause, error } = after.end ?? {};
    const isFound = error?.class === 'escape' || error?.class === 'workspace';
    return cause && SEEN_BY_HOLDER.has(cause) && !isFound ? `the end (${cause})` : null;
  }
  if (before.turn?.number !== after.turn?.number) return 'a turn';
  if (before.used !== after.used) return 'the usage';
  if (before.faults < after.faults) return 'a fault';
  if (before.identity !== after.identity) return 'the agent';
  return before.lastWords === after.lastWords ? null : 'the last words';
}
