import type { Resources, Run, RunId } from '@reveille/protocol';
import { learnedNeed, shortage, type Promised, type Shortage } from './admission.ts';
import type { Clock } from './ports/clock.ts';
import type { Executors } from './ports/executor.ts';
import type { HostGauge, HostLimits } from './ports/host-gauge.ts';

/** After so long an agent has grown to what it needs, and the load shows what it does. */
const GROWN_MS = 60_000;
const LOAD_SHOWS_MS = 15_000;
/** What somebody may take of whom it is not known yet: more than any agent we know needs. */
const UNSEEN_BYTES = 2 ** 30;

/** Somebody who has, or wants, room on this host for an agent. */
export interface Lodger {
  /** It holds a slot. */
  readonly executing: boolean;
  /** Its agent does nothing until it gets mail, and could be ended and resumed then. */
  readonly mayPark: boolean;
  /** It was asked to, and is at it. */
  readonly parking: boolean;
  park(): void;
  /** There is room for it now. */
  admitted(): void;
}

export interface Wanted {
  readonly backend: string;
  /** Who goes first: see `Offer`. */
  readonly rank: number;
  readonly fresh: boolean;
}

interface Lodging {
  readonly lodger: Lodger;
  readonly backend: string | null;
  readonly need: number;
  readonly since: number;
  /** The process, once there is one. */
  agent: { readonly identity: string; readonly run: RunId; readonly before: Resources | undefined } | null;
}

interface Waiting extends Wanted {
  readonly lodger: Lodger;
  readonly need: number;
  short: Shortage;
}

interface Host {
  readonly clock: Clock;
  readonly executors: Executors;
  readonly gauge: HostGauge;
  /** Null: everything may start, and is only watched. */
  readonly limits: HostLimits | null;
}

/**
 * Sees to it that the host is not overrun (LIM2): an agent with a process of its own is started only if there is room for it.
 * Whoever must wait does so in order of rank, holds no slot meanwhile, and is let in as soon as there is room; while
 * somebody waits for memory, agents that rest are parked. Nothing here is on disk: after a restart everybody asks again.
 */
export class Governor {
  readonly #host: Host;
  readonly #lodgings = new Map<Lodger, Lodging>();
  /** By rank; of one rank, who came first. */
  #waiting: Waiting[] = [];
  readonly #runs = new Map<RunId, Lodging>();
  #freeSlots: () => number = () => Infinity;
  #looking = false;
  #again = false;
  readonly #unsubscribe: () => void;

  constructor(host: Host) {
    this.#host = host;
    this.#unsubscribe = host.gauge.onLook(() => {
      this.look();
      this.#park();
    });
  }

  /** Whoever waited for room needs a slot as well, if it begins something new. */
  slotsBy(freeSlots: () => number): void {
    this.#freeSlots = freeSlots;
  }

  close(): void {
    this.#unsubscribe();
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Lets somebody in unseen, if nothing is scarce whoever it is: so nobody has to be looked up while there is plenty. */
  enterUnseen(lodger: Lodger): boolean {
    const { limits, gauge } = this.#host;
    if (!limits || this.#lodgings.has(lodger)) return true;
    const free = gauge.free();
    if (!free) return true;
    if (this.#waiting.length > 0) return false;
    const ask = { needBytes: UNSEEN_BYTES, fresh: true };
    if (shortage(free, limits, ask, { ...this.#promised(), busy: true })) return false;
    this.#lodge(lodger, { backend: null, need: UNSEEN_BYTES });
    return true;
  }

  /** Now it is known what is to be started. Null: it may; else it waits, and is told when it may. */
  enter(lodger: Lodger, wanted: Wanted): Shortage | null {
    const { limits } = this.#host;
    const need = limits ? this.#needOf(wanted.backend) : 0;
    const lodging = this.#lodgings.get(lodger);
    if (lodging) {
      // Let in unseen: from now on it counts as what it is.
      if (lodging.backend === null) this.#lodge(lodger, { backend: wanted.backend, need });
      return null;
    }
    if (!limits) return null;
    const known = this.#waiting.find((one) => one.lodger === lodger);
    if (known) return known.short;
    const short = this.#shortFor({ need, fresh: wanted.fresh });
    // Not past somebody who waits for the same and goes first.
    const first = this.#waiting.find((one) => one.need > 0 && one.rank <= wanted.rank);
    const why = short ?? (need > 0 ? first?.short : undefined);
    if (!why) {
      this.#lodge(lodger, { backend: wanted.backend, need });
      return null;
    }
    const behind = this.#waiting.findIndex(({ rank }) => rank > wanted.rank);
    const at = behind === -1 ? this.#waiting.length : behind;
    this.#waiting = this.#waiting.toSpliced(at, 0, { ...wanted, lodger, need, short: why });
    return why;
  }

  /** Its agent is a process now. */
  started(lodger: Lodger, agent: NonNullable<Lodging['agent']>): void {
    const lodging = this.#lodgings.get(lodger) ?? this.#lodge(lodger, { backend: null, need: 0, keep: true });
    lodging.agent = agent;
    this.#runs.set(agent.run, lodging);
  }

  /** It is gone, or gives up waiting. What it needed is remembered for those after it. */
  leave(lodger: Lodger): void {
    const lodging = this.#lodgings.get(lodger);
    this.#lodgings.delete(lodger);
    if (lodging?.agent && this.#runs.get(lodging.agent.run) === lodging) this.#runs.delete(lodging.agent.run);
    this.#waiting = this.#waiting.filter((one) => one.lodger !== lodger);
    if (lodging) this.#learn(lodging);
    this.look();
  }

  /** What the agents of a run have used, over all their lives; nothing of one without a process. */
  measured({ id }: Pick<Run, 'id'>): Pick<Run, 'resources'> {
    const agent = this.#runs.get(id)?.agent;
    const used = agent && this.#host.gauge.used(agent.identity);
    if (!used) return {};
    const { peakBytes = 0, cpuMs = 0 } = agent.before ?? {};
    return {
      resources: {
        rssBytes: used.rssBytes,
        peakBytes: Math.max(peakBytes, used.peakBytes),
        cpuMs: cpuMs + used.cpuMs,
      },
    };
  }

  /** Of all agents that are processes; and how many wait for room. */
  totals(): { readonly rssBytes: number; readonly waiting: number } {
    const { gauge } = this.#host;
    let rssBytes = 0;
    for (const { agent } of this.#runs.values())
      rssBytes += (agent && gauge.used(agent.identity)?.rssBytes) ?? 0;
    return { rssBytes, waiting: this.#waiting.length };
  }

  /** Lets in whoever there is room for, in order. Who needs no memory does not wait behind who does. */
  look(): void {
    this.#again = true;
    if (this.#looking || this.#waiting.length === 0) return;
    this.#looking = true;
    while (this.#again) {
      this.#again = false;
      this.#letIn();
    }
    this.#looking = false;
  }

  #letIn(): void {
    let full = false;
    for (const one of this.#waiting) {
      const gone = !this.#waiting.includes(one);
      if (gone || (full && one.need > 0)) continue;
      if (one.fresh && this.#freeSlots() <= 0) continue;
      const short = this.#shortFor(one);
      if (short) {
        one.short = short;
        full ||= short.on !== 'disk';
        continue;
      }
      this.#waiting = this.#waiting.filter((other) => other !== one);
      this.#lodge(one.lodger, one);
      one.lodger.admitted();
    }
  }

  #shortFor({ need, fresh }: { readonly need: number; readonly fresh: boolean }): Shortage | null {
    const { limits, gauge } = this.#host;
    const free = gauge.free();
    return limits && free ? shortage(free, limits, { needBytes: need, fresh }, this.#promised()) : null;
  }

  #promised(): Promised {
    const now = this.#host.clock.mono();
    let growingBytes = 0;
    let starting = 0;
    let busy = false;
    let resting = false;
    for (const { lodger, need, since, agent } of this.#lodgings.values()) {
      if (need === 0) continue;
      if (now - since < GROWN_MS) growingBytes += Math.max(0, need - this.#peakOf(agent));
      if (now - since < LOAD_SHOWS_MS) starting++;
      busy ||= lodger.executing || lodger.parking;
      resting ||= lodger.mayPark;
    }
    return { growingBytes, starting, busy, resting };
  }

  #peakOf(agent: Lodging['agent']): number {
    return (agent && this.#host.gauge.used(agent.identity)?.peakBytes) ?? 0;
  }

  /** Ends agents that rest while somebody waits for their memory, or others need it: as many as make room, the largest first. */
  #park(): void {
    const { limits, gauge } = this.#host;
    const free = gauge.free();
    if (!limits || !free) return;
    const lodgings = [...this.#lodgings.values()];
    if (lodgings.some(({ lodger }) => lodger.parking)) return;
    const head = this.#waiting.find(({ short }) => short.on === 'memory');
    const { growingBytes } = this.#promised();
    let missing = limits.reserveBytes + growingBytes + (head?.need ?? 0) - free.memoryBytes;
    const rss = ({ agent }: Lodging): number => (agent && gauge.used(agent.identity)?.rssBytes) ?? 0;
    const resting = lodgings.filter(({ lodger }) => lodger.mayPark);
    for (const lodging of resting.toSorted((a, b) => rss(b) - rss(a))) {
      if (missing <= 0) return;
      missing -= Math.max(1, rss(lodging));
      lodging.lodger.park();
    }
  }

  #lodge(lodger: Lodger, as: { backend: string | null; need: number; keep?: boolean }): Lodging {
    const since = this.#lodgings.get(lodger)?.since ?? this.#host.clock.mono();
    const lodging: Lodging = { lodger, backend: as.backend, need: as.need, since, agent: null };
    // Of those without a process there may be ten thousand.
    if (as.need > 0 || as.keep) this.#lodgings.set(lodger, lodging);
    else this.#lodgings.delete(lodger);
    return lodging;
  }

  #needOf(backend: string): number {
    const usual = this.#host.executors.get(backend)?.memoryBytes ?? 0;
    return usual === 0 ? 0 : (this.#host.gauge.learned.get(backend) ?? usual);
  }

  #learn({ backend, need, since, agent }: Lodging): void {
    const peak = this.#peakOf(agent);
    if (backend === null || need === 0 || peak === 0) return;
    const { gauge, clock } = this.#host;
    const known = this.#needOf(backend);
    const next = learnedNeed(known, peak, clock.mono() - since >= GROWN_MS);
    if (next !== known || !gauge.learned.has(backend)) gauge.learn(backend, next);
  }
}
