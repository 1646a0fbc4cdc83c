import { lstat, opendir, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';

/** What all processes of one run may take together. */
export interface Totals {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Written since the run began, in its worktree, its temporary folder and its home. */
  readonly diskBytes: number;
}

/** What a process and everything beneath it uses. `exact`: memory that several of them share is counted once. */
export type Measure = (
  pid: number,
  options?: { readonly exact?: boolean },
) => Promise<{ readonly rssBytes: number; readonly processes: number }>;

export const totalsOf = (given: Partial<Totals> = {}): Totals => {
  const totals = {
    memoryBytes: Math.floor(totalmem() / 2),
    processes: 4_096,
    diskBytes: 50 * 2 ** 30,
    ...given,
  };
  for (const [name, value] of Object.entries(totals)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new ReveilleError('invalid_input', `The total ${name} of a run must be a whole number above 0.`);
  }
  return totals;
};

/** One process that was started for a run, with everything beneath it. */
interface Held {
  readonly run: string;
  readonly pid: number;
  readonly totals: Totals;
  /** Where the run may write to disk. */
  readonly folders: readonly string[];
  readonly kill: () => void;
  readonly overrun: (why: string) => void;
}

/** What is known of a run's disk. */
interface Disk {
  readonly since: number;
  /** What was free when the run began. */
  readonly free: Promise<number>;
  walkedAt: number;
  /** How long the last look at its files took. */
  tookMs: number;
}

const LOOK_MS = 1_000;
/** How often files are looked at if much of the disk is gone; and else, but for no more than a hundredth of the time. */
const WALK_MS = 15_000;
const WALK_ANYWAY_MS = 60_000;
const MOST_FILES = 2_000_000;

/**
 * Looks every second at what the runs take, and ends one that takes more than it may. All processes that were started for
 * one run count together: its agent, and every command that is run for it.
 */
export class RunTotals {
  readonly #measure: Measure;
  readonly #held = new Set<Held>();
  readonly #disks = new Map<string, Disk>();
  #timer: NodeJS.Timeout | null = null;
  #looking = false;

  constructor(measure: Measure) {
    this.#measure = measure;
  }

  /** From now on it counts; until the function that is returned is called. */
  hold(held: Held): () => void {
    this.#held.add(held);
    const { run, folders } = held;
    const begun = { since: Date.now(), free: freeBytes(folders), walkedAt: performance.now(), tookMs: 0 };
    if (!this.#disks.has(run)) this.#disks.set(run, begun);
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    return () => {
      this.#held.delete(held);
      if ([...this.#held].every(({ run }) => run !== held.run)) this.#disks.delete(held.run);
      if (this.#held.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      for (const [run, all] of Map.groupBy(this.#held, (held) => held.run)) {
        const why = (await this.#processesOver(all)) ?? (await this.#diskOver(run, all));
        if (why !== null)
          end(
            all.filter((held) => this.#held.has(held)),
            why,
          );
      }
    } finally {
      this.#looking = false;
    }
  }

  async #processesOver(all: readonly Held[]): Promise<string | null> {
    const { memoryBytes, processes } = least(all);
    const rough = await this.#sum(all, false);
    if (rough.processes > processes)
      return `its run had ${rough.processes} processes, and may have ${processes} (sandbox.processes)`;
    if (rough.rssBytes <= memoryBytes) return null;
    const { rssBytes } = await this.#sum(all, true);
    if (rssBytes <= memoryBytes) return null;
    return `the processes of its run took ${gigabytes(rssBytes)} of memory together, and may take ${gigabytes(memoryBytes)} (sandbox.memoryMb)`;
  }

  async #sum(all: readonly Held[], exact: boolean): Promise<{ rssBytes: number; processes: number }> {
    const uses = await Promise.all(all.map(({ pid }) => this.#measure(pid, { exact })));
    return {
      rssBytes: uses.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
      processes: uses.reduce((sum, use) => sum + use.processes, 0),
    };
  }

  /** Files are looked at soon if so much of the disk is gone since the run began that it can be its doing, else now and then. */
  async #diskOver(run: string, all: readonly Held[]): Promise<string | null> {
    const { diskBytes } = least(all);
    const disk = this.#disks.get(run);
    if (!disk) return null;
    const folders = [...new Set(all.flatMap((held) => held.folders))];
    const gone = (await disk.free) - (await freeBytes(folders));
    const began = performance.now();
    const wait = gone >= diskBytes / 2 ? WALK_MS : Math.max(WALK_ANYWAY_MS, 100 * disk.tookMs);
    const isFirst = disk.tookMs === 0 && gone >= diskBytes / 2;
    if (!isFirst && began - disk.walkedAt < wait) return null;
    const written = await writtenSince(folders, disk.since);
    disk.walkedAt = performance.now();
    disk.tookMs = Math.max(1, disk.walkedAt - began);
    if (written <= diskBytes) return null;
    return `its run wrote ${gigabytes(written)} to disk, and may write ${gigabytes(diskBytes)} (sandbox.diskMb)`;
  }
}

/** They have the settings of one repository, which may have changed meanwhile. */
const least = (all: readonly Held[]): Totals => ({
  memoryBytes: Math.min(...all.map(({ totals }) => totals.memoryBytes)),
  processes: Math.min(...all.map(({ totals }) => totals.processes)),
  diskBytes: Math.min(...all.map(({ totals }) => totals.diskBytes)),
});

function end(all: readonly Held[], why: string): void {
  for (const { kill, overrun } of all) {
    overrun(why);
    kill();
  }
}

const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GB`;

async function freeBytes(folders: readonly string[]): Promise<number> {
  const free = await Promise.all(
    folders.map((folder) =>
      statfs(folder).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => Infinity,
      ),
    ),
  );
  return Math.min(...free);
}

/** Bytes on disk of files that were changed since then; nobody can set the time of that. */
async function writtenSince(folders: readonly string[], since: number): Promise<number> {
  let [bytes, seen] = [0, 0];
  const open = [...folders];
  for (let folder = open.pop(); folder !== undefined && seen < MOST_FILES; folder = open.pop()) {
    try {
      for await (const entry of await opendir(folder)) {
        seen++;
        const path = join(folder, entry.name);
        if (entry.isDirectory()) open.push(path);
        else if (entry.isFile()) {
          const { blocks, ctimeMs } = await lstat(path);
          if (ctimeMs >= since - 1_000) bytes += blocks * 512;
        }
      }
    } catch {
      // It was removed meanwhile.
    }
  }
  return bytes;
}
