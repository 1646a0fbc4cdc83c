import type { ErrorClass } from '@reveille/protocol';
import type { Random } from './ports/clock.ts';

interface Policy {
  readonly tries: number;
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * What is done about a fault, by its class (HLT5). A transient one goes on with the same run after a pause; the
 * others end it at once. The numbers follow what the vendors' own clients do: seconds for the network, half a
 * minute for a rate limit, never more than five minutes.
 */
const POLICIES: { readonly [C in ErrorClass]: Policy | null } = {
  rate_limit: { tries: 6, baseMs: 30_000, maxMs: 300_000 },
  overload: { tries: 6, baseMs: 5_000, maxMs: 120_000 },
  network: { tries: 5, baseMs: 2_000, maxMs: 60_000 },
  crash: { tries: 3, baseMs: 1_000, maxMs: 30_000 },
  auth: null,
  refusal: null,
  invalid: null,
  limit: null,
  budget: null,
  unresponsive: null,
  host_gone: null,
  // A lock of another program, a repository that git cannot read: a little patience, then somebody has to look.
  workspace: { tries: 2, baseMs: 2_000, maxMs: 30_000 },
  escape: null,
  unknown: null,
};

/** What the machine lacks may come back at any time, whoever sees to it. */
const SCARCE: Policy = { tries: Infinity, baseMs: 2_000, maxMs: 60_000 };

/** No word of a backend makes anybody wait longer. */
const LONGEST_MS = 3_600_000;

/**
 * How long to wait before try `faults + 1`, or null if there is to be none. Jitter: half to the whole of it. Never less
 * than whoever refused asked for. A machine that lacks something is asked again for as long as it does.
 */
export function retryDelay(
  errorClass: ErrorClass,
  faults: number,
  given: { readonly random: Random; readonly retryAfterMs?: number; readonly scarce?: boolean },
): number | null {
  const { random, retryAfterMs = 0, scarce = false } = given;
  const policy = scarce ? SCARCE : POLICIES[errorClass];
  if (!policy || faults >= policy.tries) return null;
  const full = Math.min(policy.maxMs, policy.baseMs * 2 ** faults);
  const delay = Math.round(full * (0.5 + random.next() / 2));
  return Math.max(delay, Math.min(retryAfterMs, LONGEST_MS));
}

export const maxTries = (errorClass: ErrorClass): number => POLICIES[errorClass]?.tries ?? 0;
