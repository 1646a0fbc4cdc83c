import type { Auditor } from './auditor.ts';
import { is, type Durable } from './ledger.ts';

/** The time between two looks at a turn, and what it takes to record a report. */
const SOON_MS = 3_000;

/** How long the agent of a run has worked since its host began to hold the run. */
interface Work {
  readonly epoch: number;
  readonly since: number;
  ms: number;
  /** At the last report. */
  toldAt: number;
  turnAt: number | null;
}

/** HLT3: whoever gave the work is told of it every so often, however short the turns are that it is done in. */
export class ProgressAudit {
  readonly #auditor: Auditor;
  readonly #work = new Map<string, Work>();

  constructor(auditor: Auditor) {
    this.#auditor = auditor;
  }

  look({ deltas, facts }: Durable): void {
    const now = this.#auditor.mono();
    for (const { type, run } of facts) {
      const work = run && type === 'health.progress' ? this.#work.get(run) : undefined;
      if (work) work.toldAt = work.ms + (work.turnAt === null ? 0 : now - work.turnAt);
    }
    for (const delta of deltas) {
      if (!is(delta, 'run')) continue;
      const { before, after } = delta;
      if (before?.epoch !== after.epoch)
        this.#work.set(after.id, { epoch: after.epoch, since: now, ms: 0, toldAt: 0, turnAt: null });
      const work = this.#work.get(after.id);
      // The turn of an agent that is gone stays open until somebody goes on with the run.
      const dies = before?.host !== null && after.host === null;
      if (!work || (before?.turn?.number === after.turn?.number && !dies)) continue;
      if (before?.turn && before.epoch === after.epoch) this.#turnEnds(after.id, work, now);
      work.turnAt = after.turn && !dies ? now : null;
    }
  }

  #turnEnds(run: string, work: Work, now: number): void {
    const ms = now - (work.turnAt ?? now);
    work.ms += ms;
    const untold = work.ms - work.toldAt;
    const { progressEveryMs } = this.#auditor.settings.health;
    // A turn that is over before anybody looks is counted in the next one.
    this.#auditor.check(
      ms < SOON_MS || untold <= progressEveryMs + SOON_MS || !this.#auditor.calmSince(work.since),
      'health',
      `the agent of ${run} has worked for ${untold} ms, and nobody was told`,
    );
  }
}
