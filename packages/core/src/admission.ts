import type { Free, HostLimits } from './ports/host-gauge.ts';

/** Somebody who wants to start an agent. */
export interface Ask {
  /** What such an agent needs; 0: it has no process of its own, and costs the host next to nothing. */
  readonly needBytes: number;
  /** It begins something new; what goes on with a run may also free something. */
  readonly fresh: boolean;
}

/** What is already promised, on top of what a look at the host could see. */
export interface Promised {
  /** What agents that were started lately will still take, as far as anybody knows. */
  readonly growingBytes: number;
  /** How many were started since the load could show it. */
  readonly starting: number;
  /** An agent with a process is at work, or is just giving its memory back: room may come of it. */
  readonly busy: boolean;
  /** An agent rests that can be parked. */
  readonly resting: boolean;
}

export interface Shortage {
  readonly on: 'memory' | 'cpu' | 'disk';
  readonly why: string;
}

/**
 * Whether there is room for one more (LIM2). Null: there is.
 *
 * Of memory there must be what it needs, beside the reserve and what those started before it will still take. If nobody is at
 * work, one may always start: else a host that is too small for its agents, or filled by somebody else, would never do
 * anything again. Of the disk there is no such exception: an agent that cannot write makes nothing.
 */
export function shortage(free: Free, limits: HostLimits, ask: Ask, promised: Promised): Shortage | null {
  const { memoryBytes, load, cores, diskBytes } = free;
  if (ask.fresh && diskBytes !== null && diskBytes < limits.minDiskBytes)
    return {
      on: 'disk',
      why: `waits for disk space: ${megabytes(diskBytes)} free, ${megabytes(limits.minDiskBytes)} are wanted`,
    };
  if (ask.needBytes === 0 || !(promised.busy || promised.resting)) return null;
  const left = memoryBytes - limits.reserveBytes - promised.growingBytes;
  if (left < ask.needBytes)
    return {
      on: 'memory',
      why: `waits for memory: needs about ${megabytes(ask.needBytes)}, ${megabytes(Math.max(0, left))} free`,
    };
  const perCore = (load + promised.starting) / cores;
  if (limits.maxLoad === null || perCore < limits.maxLoad || !promised.busy) return null;
  return {
    on: 'cpu',
    why: `waits for CPU: the load is ${perCore.toFixed(1)} per core, at most ${limits.maxLoad} is wanted`,
  };
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20).toLocaleString('en')} MB`;

/** Of the way down to a smaller peak, so much is gone with every run: about twenty small ones forget a large one. */
const FORGETS = 0.1;
const LEAST_BYTES = 32 * 2 ** 20;

/**
 * What agents of a backend need, after one more was seen: the largest of late. A higher peak counts at once, a lower one
 * slowly, and only of an agent that had the time to grow.
 */
export function learnedNeed(known: number, peakBytes: number, grown: boolean): number {
  if (peakBytes >= known) return peakBytes;
  return grown ? Math.max(LEAST_BYTES, Math.round(known - (known - peakBytes) * FORGETS)) : known;
}
