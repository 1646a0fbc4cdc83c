import type { Free, HostGauge, HostLimits, Used } from '@reveille/core';
import { Chance } from './chance.ts';
import type { Host } from './host.ts';
import type { Life } from './life.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

const MB = 2 ** 20;
/** After so long an agent counts as grown; as the engine has it. */
const GROWN_MS = 60_000;
/** In a world where nothing holds anybody up, who was let in is started within this time. */
const SOON_MS = 1_000;
/** Others' use of the host changes so often. */
const STEP_MS = 6_000;

/** How large a host is, and how much of it its agents take. */
export interface MachineOptions {
  readonly totalBytes: number;
  readonly needBytes: number;
  readonly largestBytes: number;
  readonly growMs: number;
  readonly lookMs: number;
  readonly cores: number;
  /** Others take so much of it, in turn; the last of them for good. */
  readonly others: readonly { readonly bytes: number; readonly load: number; readonly diskBytes: number }[];
  readonly limits: HostLimits;
}

/** A host that is too small, now and then or always; drawn apart, so that other seeds are what they were. */
export function machineOf(seed: number): MachineOptions | null {
  const chance = new Chance(seed, 11);
  if (!chance.hit(0.35)) return null;
  const needBytes = chance.int(100, 500) * MB;
  const totalBytes = (chance.pick([400, 1_000, 2_500]) ?? 1_000) * MB;
  const cores = chance.int(1, 4);
  const lowDisk = chance.hit(0.3);
  return {
    totalBytes,
    needBytes,
    largestBytes: Math.round(needBytes * (chance.pick([0.5, 1, 2]) ?? 1)),
    growMs: chance.pick([0, 3_000, 20_000]) ?? 0,
    lookMs: chance.pick([500, 2_000, 5_000]) ?? 2_000,
    cores,
    others: Array.from({ length: chance.int(1, 8) }, () => ({
      bytes: Math.round(totalBytes * (chance.pick([0, 0.3, 0.7, 1]) ?? 0)),
      load: (chance.pick([0, 0, 0.5, 3]) ?? 0) * cores,
      diskBytes: lowDisk && chance.hit(0.4) ? 10 * MB : 9_000 * MB,
    })),
    limits: {
      reserveBytes: (chance.pick([0, 100, 300]) ?? 0) * MB,
      maxLoad: chance.pick([null, 1, 2]) ?? null,
      minDiskBytes: 500 * MB,
    },
  };
}

interface Look {
  readonly free: Free;
  readonly used: ReadonlyMap<string, Used>;
}

/** What one host has, and what its gauge last saw of it. */
export class Machine {
  readonly options: MachineOptions;
  readonly #world: World;
  readonly #host: Host;
  readonly #chance: Chance;
  readonly #learned = new Map<string, number>();
  /** The least that an agent was ever taken to need. */
  #least: number;
  readonly #peaks = new Map<string, number>();
  /** The last two: who is started now may have been let in by the one before. */
  #looks: Look[] = [];

  constructor(world: World, host: Host, options: MachineOptions) {
    this.options = options;
    this.#least = options.needBytes;
    this.#world = world;
    this.#host = host;
    this.#chance = new Chance(world.options.seed, 12 + host.name.length);
    this.#look();
  }

  /** How large an agent will be. */
  size(): number {
    return this.#chance.int(Math.round(this.options.largestBytes / 4), this.options.largestBytes);
  }

  gauge(life: Life): HostGauge {
    const listeners = new Set<() => void>();
    const again = (): void => {
      life.after(this.options.lookMs, () => {
        this.#look();
        for (const listener of listeners) listener();
        again();
      });
    };
    again();
    const last = (): Look | undefined => this.#looks.at(-1);
    return {
      free: () => last()?.free ?? null,
      used: (identity) => last()?.used.get(identity) ?? null,
      onLook(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      learned: this.#learned,
      learn: (backend, bytes) => {
        this.#learned.set(backend, bytes);
        this.#least = Math.min(this.#least, bytes);
      },
    };
  }

  #look(): void {
    const { options } = this;
    const processes = [...this.#host.processes.values()];
    const used = new Map(processes.map((process) => [process.identity, this.#usedBy(process)]));
    const step = Math.floor(this.#world.timeline.now / STEP_MS);
    const others = options.others[Math.min(step, options.others.length - 1)];
    const taken = [...used.values()].reduce((sum, { rssBytes }) => sum + rssBytes, others?.bytes ?? 0);
    const busy = processes.filter(({ busySince }) => busySince !== null).length;
    // In the quiet phase somebody has tidied up; that the disk fills is nobody's wait.
    const diskBytes = this.#world.quiet ? 9_000 * MB : (others?.diskBytes ?? null);
    const free = {
      memoryBytes: Math.max(0, options.totalBytes - taken),
      load: (others?.load ?? 0) + busy,
      cores: options.cores,
      diskBytes,
    };
    this.#looks = [...this.#looks.slice(-1), { free, used }];
  }

  #usedBy({ identity, size, startedAt }: Process): Used {
    const { growMs } = this.options;
    const age = this.#world.timeline.now - startedAt;
    const rssBytes = Math.round(size * (growMs === 0 ? 1 : Math.min(1, age / growMs)));
    const peakBytes = Math.max(rssBytes, this.#peaks.get(identity) ?? 0);
    this.#peaks.set(identity, peakBytes);
    return { rssBytes, peakBytes, cpuMs: age };
  }

  /** LIM2: nobody is started without room, unless nobody was at work. Said only where it is sure when it was let in. */
  checkStart(started: Process): void {
    const world = this.#world;
    if (!world.faults.isCalm) return;
    const { limits } = this.options;
    const disk = this.#looks.every(({ free }) => (free.diskBytes ?? Infinity) < limits.minDiskBytes);
    world.check(
      !disk || started.spec.epoch > 1,
      'room',
      () => `${started.identity} begins something new, and the disk is full`,
    );
    const now = world.timeline.now;
    const others = [...this.#host.processes.values()].filter((process) => process !== started);
    const busy = others.some(({ busySince }) => busySince !== null && now - busySince > SOON_MS);
    if (!busy) return;
    const need = this.#least;
    const known = others.filter(({ startedAt }) => now - startedAt > SOON_MS);
    const has = ({ free, used }: Look): boolean => {
      const growing = known
        .filter(({ startedAt }) => now - startedAt < GROWN_MS - this.options.lookMs)
        .map(({ identity }) => Math.max(0, need - (used.get(identity)?.peakBytes ?? 0)));
      const promised = growing.reduce((sum, bytes) => sum + bytes, limits.reserveBytes);
      return free.memoryBytes - promised >= need;
    };
    world.check(
      this.#looks.some(has),
      'room',
      () =>
        `${started.identity} was started on ${this.#host.name} with ${this.#looks.map(({ free }) => Math.round(free.memoryBytes / MB)).join(', then ')} MB free; it needs ${Math.round(need / MB)} MB, and others are at work`,
    );
  }
}
