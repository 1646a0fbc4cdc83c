import type { Member } from './cgroup.ts';
import { endKept } from './keeper.ts';
import type { RunTotals, Totals } from './totals.ts';
import type { Launch } from './wrap.ts';

/** A command to be started just so, and the way to end it with everything it starts. */
export interface Wrapped extends Launch {
  /** To be called with its process when it has been started: from now on it counts with its run. */
  readonly started: (pid: number) => void;
  /** Kills its process and everything that it started. A keeper may take a moment for it. */
  readonly kill: (pid: number) => void;
  /** Why it was killed for what its run took; null: it was not. */
  readonly overrun: () => string | null;
}

interface Holding {
  /** Null: nothing is measured. */
  readonly runs: RunTotals | null;
  /** Its place in a control group, if there are any. */
  readonly member: Member | null;
  readonly totals: Totals;
  readonly run: string;
  /** Where it may write to disk. */
  readonly folders: readonly string[];
}

export function held(launch: Launch, { runs, member, totals, run, folders }: Holding): Wrapped {
  const { kept } = launch;
  let why: string | null = null;
  let release = (): void => {};
  const kill = (pid: number): void => {
    if (kept) return endKept(pid);
    killGroup(pid);
    member?.kill();
  };
  return {
    ...launch,
    argv: member?.argv(launch.argv) ?? launch.argv,
    kill,
    started: (pid) => {
      const overrun = (words: string): void => void (why ??= words);
      release = runs?.hold({ run, pid, totals, folders, overrun, kill: () => kill(pid) }) ?? release;
    },
    overrun: () => why,
    dispose: async () => {
      release();
      if (member?.isOverrun()) why ??= 'its run took more memory than it may (sandbox.memoryMb)';
      await member?.leave();
      await launch.dispose();
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
