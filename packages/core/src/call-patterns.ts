import type { Settings } from './settings.ts';

type Limits = Settings['health'];

/** Entries that are kept of a kind that an agent can name any number of. */
const MOST = 10_000;
/** A streak of calls without news is marked when it is this part of the limit long. Most streaks end before. */
const MARK_AT = 1 / 3;
const SAME_SPAWNS = 3;

interface OpenCall {
  readonly name: string;
  readonly digest: string;
}

export interface EndedCall {
  readonly failed: boolean;
  readonly news: boolean;
  readonly digest?: string;
}

export interface Pattern {
  readonly what: 'looping' | 'errors';
  readonly text: string;
}

/** What the holder of the run is to do with the files of the agent, so that a streak of calls can be judged. */
export type FileCheck = { readonly kind: 'mark' } | { readonly kind: 'compare'; readonly mark: string };

/**
 * Finds loops and streaks of errors in the calls of one agent (HLT2). A call counts when it ends, because some agents announce
 * a call before its arguments.
 *
 * "Without any change or new information" means: no result was new, no file was reported as touched, and the files of
 * the checkout are the same as before. The last is looked at, because shell commands change files and print nothing. The
 * holder of the run marks the state of the files when a streak has grown (`fileCheck`), and compares them with the mark
 * once the streak has gone on for the limit.
 */
export class CallPatterns {
  calls = 0;
  fileCheck: FileCheck | null = null;
  #open: Map<string, OpenCall> | null = null;
  #lastDigest = '';
  #sameCalls = 0;
  #fruitless = 0;
  /** The state of the files at some length of the streak; `commit` is null if the agent has no files. */
  #mark: { readonly commit: string | null; readonly at: number } | null = null;
  #errors = 0;
  #spawns: Map<string, number> | null = null;
  #same: Pattern | null = null;
  #circling: Pattern | null = null;
  #spawning: Pattern | null = null;
  #failing: Pattern | null = null;

  /** The pattern that holds now. */
  get now(): Pattern | null {
    return this.#same ?? this.#circling ?? this.#spawning ?? this.#failing;
  }

  /** The tool that the agent waits for. */
  get waitsFor(): string | null {
    return this.#open?.values().next().value?.name ?? null;
  }

  turnEnded(): void {
    this.#open = null;
    this.#same = this.#circling = this.#spawning = this.#failing = null;
  }

  begins(id: string, call: OpenCall): void {
    this.calls++;
    const open = (this.#open ??= new Map<string, OpenCall>());
    if (open.size < MOST) open.set(id, call);
  }

  /** A file changed, or a result was new. */
  moves(): void {
    this.#fruitless = 0;
    this.#mark = this.fileCheck = this.#circling = null;
  }

  /** What began with the end of this call. */
  ends(id: string, end: EndedCall, limits: Limits): Pattern[] {
    const call = this.#open?.get(id);
    this.#open?.delete(id);
    if (end.news) this.moves();
    else this.#fruitless++;
    const patterns = call ? this.#repeats({ ...call, digest: end.digest ?? call.digest }, limits) : [];
    return [...patterns, ...this.#circles(limits), ...this.#fails(end.failed, limits)];
  }

  /** Answers `fileCheck`: the state of the files; null if there are none. */
  marked(commit: string | null, limits: Limits): Pattern[] {
    if (this.fileCheck?.kind !== 'mark') return [];
    this.fileCheck = null;
    this.#mark = { commit, at: this.#fruitless };
    return this.#circles(limits);
  }

  /** Answers `fileCheck`: whether the files have changed since the mark. */
  compared(changed: boolean, { fruitlessCalls }: Limits): Pattern[] {
    if (this.fileCheck?.kind !== 'compare') return [];
    this.fileCheck = null;
    if (!changed) return [(this.#circling = circling(fruitlessCalls))];
    this.moves();
    return [];
  }

  #repeats({ name, digest }: OpenCall, { sameCalls }: Limits): Pattern[] {
    this.#sameCalls = digest === this.#lastDigest ? this.#sameCalls + 1 : 1;
    this.#lastDigest = digest;
    const before = this.#same;
    const text = `called ${name} with the same arguments ${this.#sameCalls} times in a row`;
    this.#same = this.#sameCalls >= sameCalls ? { what: 'looping', text } : null;
    const spawned = name.includes('spawn') ? this.#spawned(digest) : [];
    return this.#same && !before ? [this.#same, ...spawned] : spawned;
  }

  #spawned(digest: string): Pattern[] {
    const spawns = (this.#spawns ??= new Map<string, number>());
    const count = (spawns.get(digest) ?? 0) + 1;
    if (spawns.size < MOST) spawns.set(digest, count);
    const text = `spawned the same subtask again after each end, ${count} times`;
    this.#spawning = count >= SAME_SPAWNS ? { what: 'looping', text } : null;
    return this.#spawning && count === SAME_SPAWNS ? [this.#spawning] : [];
  }

  #circles({ fruitlessCalls }: Limits): Pattern[] {
    if (this.#circling || this.fileCheck) return [];
    if (!this.#mark) {
      if (this.#fruitless >= fruitlessCalls * MARK_AT) this.fileCheck = { kind: 'mark' };
      return [];
    }
    const { commit, at } = this.#mark;
    if (commit === null && this.#fruitless >= fruitlessCalls)
      return [(this.#circling = circling(fruitlessCalls))];
    if (commit !== null && this.#fruitless >= at + fruitlessCalls)
      this.fileCheck = { kind: 'compare', mark: commit };
    return [];
  }

  #fails(failed: boolean, { errorStreak }: Limits): Pattern[] {
    this.#errors = failed ? this.#errors + 1 : 0;
    const text = `${this.#errors} errors in a row`;
    this.#failing = this.#errors >= errorStreak ? { what: 'errors', text } : null;
    return this.#failing && this.#errors === errorStreak ? [this.#failing] : [];
  }
}

const circling = (calls: number): Pattern => ({
  what: 'looping',
  text: `made ${calls} calls without any change or new information`,
});
