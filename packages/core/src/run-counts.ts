import { NO_COUNTS, type Run, type RunCounts, type RunId } from '@reveille/protocol';
import type { Governor } from './governor.ts';

interface Tallied {
  /** Since this life began. */
  counted: RunCounts;
  /** The epoch it was last put on record under, what the record had before, and what of `counted` that had in it. */
  epoch: number | null;
  base: RunCounts;
  offset: RunCounts;
  recorded: RunCounts;
}

const MOST_RUNS = 1_000;
const KINDS = Object.keys(NO_COUNTS) as (keyof RunCounts)[];

/**
 * What runs do, counted as they do it and put on record with the changes that are made anyway: when a turn ends, and when
 * the run does. So a count costs no commit; what a crash loses is what was counted since the last turn ended.
 *
 * The record is what was there when this life, or this host, took the run over, and what was counted since. Asked
 * twice it says the same: a change may be decided again before it is committed.
 */
export class RunTally {
  readonly #runs = new Map<RunId, Tallied>();

  add(run: RunId, kind: keyof RunCounts, times = 1): void {
    const tallied = this.#of(run);
    tallied.counted = { ...tallied.counted, [kind]: tallied.counted[kind] + times };
    this.#runs.delete(run);
    this.#runs.set(run, tallied);
    for (const oldest of this.#runs.keys()) if (this.#runs.size > MOST_RUNS) this.#runs.delete(oldest);
  }

  /** What is to be put on record; undefined: nothing was ever counted. */
  total({ id, epoch, counts }: Pick<Run, 'id' | 'epoch' | 'counts'>): RunCounts | undefined {
    const tallied = this.#runs.get(id);
    if (!tallied) return counts;
    if (tallied.epoch !== epoch) {
      tallied.epoch = epoch;
      tallied.base = counts ?? NO_COUNTS;
      tallied.offset = tallied.recorded;
    }
    tallied.recorded = tallied.counted;
    const { base, counted, offset } = tallied;
    return of((kind) => base[kind] + counted[kind] - offset[kind]);
  }

  #of(run: RunId): Tallied {
    const [base, counted, offset, recorded] = [NO_COUNTS, NO_COUNTS, NO_COUNTS, NO_COUNTS];
    return this.#runs.get(run) ?? { base, counted, offset, recorded, epoch: null };
  }
}

const of = (each: (kind: keyof RunCounts) => number): RunCounts => {
  const counts = { ...NO_COUNTS };
  for (const kind of KINDS) counts[kind] = each(kind);
  return counts;
};

/** What a change of a run adds to it: its counts as they are now, and what its agent uses of the host. */
export function measured(
  {
    tally,
    governor,
  }: { readonly tally?: Pick<RunTally, 'total'>; readonly governor?: Pick<Governor, 'measured'> },
  run: Run,
): Pick<Run, 'counts' | 'resources'> {
  const counts = tally?.total(run) ?? run.counts;
  return { ...(counts ? { counts } : {}), ...governor?.measured(run) };
}
