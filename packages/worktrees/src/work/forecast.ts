import type { Conflict } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import type { Scratch } from './scratch-place.ts';
import { withRepository } from './scratch.ts';
import { mergeAll } from './three-way.ts';

/** A branch that somebody works on, with its last imported commit. */
export interface LiveBranch {
  readonly name: string;
  readonly tip: string;
}

export interface Pair {
  readonly branches: readonly [string, string];
  readonly tips: readonly [string, string];
  readonly files: readonly Conflict[];
}

export interface Forecast {
  /** All pairs that conflict now. */
  readonly conflicts: readonly Pair[];
  /** Those that did not at the last look, and those that do no longer (with what they did conflict in). */
  readonly began: readonly Pair[];
  readonly stopped: readonly Pair[];
}

/**
 * Which live branches would not merge with each other. It remembers what it found for two commits, so a look costs what
 * has changed since the last one. A branch that is not named any more conflicts with nobody, and that is no news.
 */
export class Forecaster {
  readonly #repository: Repository;
  /** By the pair's tips: what they conflict in. */
  #known = new Map<string, readonly Conflict[]>();
  #conflicts = new Map<string, Pair>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** One look at a time: each says what is new since the one before it. */
  async look(branches: readonly LiveBranch[]): Promise<Forecast> {
    const mine = this.#turn.then(async () => await this.#look(branches));
    this.#turn = mine.catch(() => undefined);
    return await mine;
  }

  async #look(branches: readonly LiveBranch[]): Promise<Forecast> {
    const pairs = pairsOf(branches);
    const unknown = new Map(pairs.map((pair) => [tipsOf(pair), pair])).entries();
    const open = [...unknown].filter(([key]) => !this.#known.has(key)).map(([, pair]) => pair);
    if (open.length > 0)
      await withRepository(this.#repository, 'forecast', async (scratch) => await this.#ask(scratch, open));
    const names = new Set(branches.map(({ name }) => name));
    return this.#compare(pairs, names);
  }

  async #ask(scratch: Scratch, open: readonly Named[]): Promise<void> {
    const merged = await mergeAll(
      scratch,
      open.map(({ tips }) => tips),
    );
    for (const [i, pair] of open.entries()) this.#known.set(tipsOf(pair), merged[i]?.conflicts ?? []);
  }

  #compare(pairs: readonly Named[], names: ReadonlySet<string>): Forecast {
    const found = new Map<string, Pair>();
    const kept = new Map<string, readonly Conflict[]>();
    for (const pair of pairs) {
      const files = this.#known.get(tipsOf(pair)) ?? [];
      kept.set(tipsOf(pair), files);
      if (files.length > 0) found.set(pair.branches.join('\0'), { ...pair, files });
    }
    const before = this.#conflicts;
    // What no live pair needs any more is forgotten.
    this.#known = kept;
    this.#conflicts = found;
    const gone = [...before].filter(
      ([key, { branches }]) => !found.has(key) && branches.every((name) => names.has(name)),
    );
    return {
      conflicts: [...found.values()],
      began: [...found].filter(([key]) => !before.has(key)).map(([, pair]) => pair),
      stopped: gone.map(([, pair]) => pair),
    };
  }
}

type Named = Pick<Pair, 'branches' | 'tips'>;

const tipsOf = ({ tips }: Named): string => tips.join('\0');

/** Each two once, in an order that does not depend on how they were named. */
function pairsOf(branches: readonly LiveBranch[]): Named[] {
  const sorted = branches.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.flatMap((a, i) =>
    sorted.slice(i + 1).map((b) => ({ branches: [a.name, b.name] as const, tips: [a.tip, b.tip] as const })),
  );
}
