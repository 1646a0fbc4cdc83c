import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about a host that is too small. */
export const BUGS_OF_ROOM: readonly PlantedBug[] = [
  {
    name: 'forgets-who-still-grows',
    invariant: 'room',
    file: core('governor.ts'),
    find: `growingBytes += Math.max(0, need - this.#peakOf(agent));`,
    replace: `growingBytes += 0;`,
    why: 'agents that were just started look small, and too many are started at once',
  },
  {
    name: 'reserve-handed-out',
    invariant: 'room',
    file: core('admission.ts'),
    find: `memoryBytes - limits.reserveBytes - promised.growingBytes`,
    replace: `memoryBytes - promised.growingBytes`,
    why: 'what is kept for others is given to agents',
  },
  {
    name: 'goes-on-without-room',
    invariant: 'room',
    file: core('berth.ts'),
    find: `    this.#hear(short);
    return short;
`,
    replace: `    return null;
`,
    why: 'an agent that was parked, or crashed, is started again whatever is free',
  },
  {
    name: 'full-disk-ignored',
    invariant: 'room',
    file: core('admission.ts'),
    find: `diskBytes < limits.minDiskBytes)`,
    replace: `diskBytes < 0)`,
    why: 'new work begins on a disk that is full',
  },
  {
    name: 'nobody-may-be-first',
    invariant: 'liveness',
    file: core('admission.ts'),
    find: `  if (ask.needBytes === 0 || !(promised.busy || promised.resting)) return null;
`,
    replace: `  if (ask.needBytes === 0) return null;
`,
    why: 'on a host that others have filled nothing ever starts',
  },
  {
    name: 'who-waits-for-room-holds-a-slot',
    invariant: 'liveness',
    file: core('worker-run.ts'),
    find: `this.#beginning && this.#berth?.waits !== true`,
    replace: `this.#beginning`,
    why: 'those that wait for memory hold the slots, and none of them gets in',
  },
  {
    name: 'resting-agents-stay',
    invariant: 'liveness',
    file: core('governor.ts'),
    find: `      lodging.lodger.park();
`,
    replace: '',
    why: 'parents that rest keep the memory that their children wait for',
  },
  {
    name: 'nobody-is-let-in-later',
    invariant: 'liveness',
    file: core('governor.ts'),
    find: `      one.lodger.admitted();
`,
    replace: '',
    why: 'who had to wait is never told that there is room',
  },
];
