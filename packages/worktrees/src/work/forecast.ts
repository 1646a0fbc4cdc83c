import { createHash } from 'node:crypto';
import type { Conflict } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { withRepository } from './scratch.ts';
import { mergeAll, type TwoCommits } from './three-way.ts';

/** A branch that somebody works on, with its last imported commit. */
export interface LiveBranch {
  readonly name: string;
  readonly tip: string;
  /** The commit it started from: it has no changes of its own while its tip is that. */
  readonly start: string;
}

/** Two that conflict: two live branches, or one and a branch of the person that another one started from. */
export interface Pair {
  readonly branches: readonly [string, string];
  /** The commits that conflict. */
  readonly commits: TwoCommits;
  /** The second is a branch of the person. */
  readonly isBase: boolean;
  readonly files: readonly Conflict[];
  /** Names this conflict from its begin to its end. */
  readonly key: string;
}

export interface Forecast {
  /** All pairs that conflict now. */
  readonly conflicts: readonly Pair[];
  /** Those that did not at the last look, and those that do no longer, with what they conflicted in. */
  readonly began: readonly Pair[];
  readonly stopped: readonly Pair[];
}

/** The branch of the person that a commit is on; null: it is on none. */
type BaseName = (commit: string) => Promise<string | null>;

type Found = Omit<Pair, 'key'>;

type Two = readonly [LiveBranch, LiveBranch];

/**
 * Forecasts which live branches would not merge with each other (PLN7). It remembers what it found for two commits, so a look
 * costs what has changed since the last one.
 *
 * Two branches may conflict only because one of them started from a newer commit. That is no conflict between their own
 * changes: files that conflict with the start of the other branch already are told as a conflict with the branch of the
 * person that this start is on.
 */
export class Forecaster {
  readonly #repository: Repository;
  readonly #baseName: BaseName;
  /** By two commits: what they conflict in. */
  #known = new Map<string, readonly Conflict[]>();
  /** By a start: the branch of the person that it is on; null: it is on none. */
  readonly #bases = new Map<string, string | null>();
  #conflicts = new Map<string, Pair>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository, baseName: BaseName = async () => null) {
    this.#repository = repository;
    this.#baseName = baseName;
  }

  /** One look at a time: each says what is new since the one before it. */
  async look(branches: readonly LiveBranch[]): Promise<Forecast> {
    const mine = this.#turn.then(async () => await this.#look(branches));
    this.#turn = mine.catch(() => undefined);
    return await mine;
  }

  async #look(branches: readonly LiveBranch[]): Promise<Forecast> {
    const changed = branches.filter(({ tip, start }) => tip !== start);
    const pairs = pairsOf(changed);
    const needed = new Set<string>();
    await this.#learn(pairs.map(tipsOf), needed);
    const conflicting = pairs.filter((pair) => this.#between(tipsOf(pair)).length > 0);
    // Two that started from the same commit inherited nothing that the other has not.
    const apart = conflicting.filter(([a, b]) => a.start !== b.start);
    await this.#learn(apart.flatMap(startsOf), needed);
    const inherited = this.#inherited(changed);
    await this.#learn(
      inherited.map(({ commits }) => commits),
      needed,
    );
    const found = await this.#found(conflicting);
    for (const pair of inherited) add(found, { ...pair, files: this.#between(pair.commits) });
    // What no live pair needs any more is forgotten.
    for (const key of this.#known.keys()) if (!needed.has(key)) this.#known.delete(key);
    return this.#compare(found);
  }

  /** Asks git about those that are not known yet. */
  async #learn(asked: readonly TwoCommits[], needed: Set<string>): Promise<void> {
    const open = new Map<string, TwoCommits>();
    for (const two of asked) {
      needed.add(keyOf(two));
      if (!this.#known.has(keyOf(two))) open.set(keyOf(two), two);
    }
    if (open.size === 0) return;
    const merged = await withRepository(
      this.#repository,
      'forecast',
      async (scratch) => await mergeAll(scratch, [...open.values()]),
    );
    for (const [i, key] of [...open.keys()].entries()) this.#known.set(key, merged[i]?.conflicts ?? []);
  }

  #between(two: TwoCommits): readonly Conflict[] {
    return this.#known.get(keyOf(two)) ?? [];
  }

  async #found(pairs: readonly Two[]): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    for (const [a, b] of pairs) {
      const [withB, withA] = startsOf([a, b]);
      const [ofA, ofB] = a.start === b.start ? [[], []] : [this.#between(withB), this.#between(withA)];
      const inherited = new Set([...ofA, ...ofB].map(({ path }) => path));
      const files = this.#between(tipsOf([a, b])).filter(({ path }) => !inherited.has(path));
      add(found, { branches: [a.name, b.name], commits: [a.tip, b.tip], isBase: false, files });
      for (const [side, start, against] of [
        [a, b.start, ofA],
        [b, a.start, ofB],
      ] as const) {
        const base = against.length > 0 ? await this.#baseOf(start) : null;
        if (base === null) continue;
        add(found, { branches: [side.name, base], commits: [side.tip, start], isBase: true, files: against });
      }
    }
    return found;
  }

  /** Conflicts with a branch of the person do not end when the live branch goes by which they were noticed. */
  #inherited(branches: readonly LiveBranch[]): Found[] {
    const tips = new Map(branches.map(({ name, tip }) => [name, tip]));
    return [...this.#conflicts.values()].flatMap((pair) => {
      const tip = pair.isBase ? tips.get(pair.branches[0]) : undefined;
      return tip === undefined ? [] : [{ ...pair, commits: [tip, pair.commits[1]] as const }];
    });
  }

  async #baseOf(start: string): Promise<string | null> {
    const known = this.#bases.get(start);
    if (known !== undefined) return known;
    const name = await this.#baseName(start);
    this.#bases.set(start, name);
    return name;
  }

  #compare(found: ReadonlyMap<string, Found>): Forecast {
    const before = this.#conflicts;
    const now = new Map(
      [...found].map(([id, pair]): [string, Pair] => [
        id,
        { ...pair, key: before.get(id)?.key ?? keyFor(pair) },
      ]),
    );
    this.#conflicts = now;
    return {
      conflicts: [...now.values()],
      began: [...now].filter(([id]) => !before.has(id)).map(([, pair]) => pair),
      stopped: [...before].filter(([id]) => !now.has(id)).map(([, pair]) => pair),
    };
  }
}

function add(found: Map<string, Found>, pair: Found): void {
  if (pair.files.length > 0) found.set(pair.branches.join('\0'), pair);
}

const keyOf = (two: TwoCommits): string => two.join('\0');
const tipsOf = ([a, b]: Two): TwoCommits => [a.tip, b.tip];
/** Each with what the other started from. */
const startsOf = ([a, b]: Two): readonly [TwoCommits, TwoCommits] => [
  [a.tip, b.start],
  [b.tip, a.start],
];

const keyFor = ({ branches, commits }: Found): string =>
  createHash('sha256')
    .update([...branches, ...commits].join('\0'))
    .digest('hex')
    .slice(0, 32);

/** Each two once, in an order that does not depend on how they were named. */
function pairsOf(branches: readonly LiveBranch[]): Two[] {
  const sorted = branches.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.flatMap((a, i) => sorted.slice(i + 1).map((b) => [a, b] as const));
}
