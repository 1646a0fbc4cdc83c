import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Totals } from './totals.ts';

const EVERY_MS = 10;
const TRIES = 300;

/** Where groups of our own can be made. */
export interface GroupPlace {
  readonly folder: string;
  /** Whether memory and processes are counted in groups made here, and can be bounded. */
  readonly limits: boolean;
}

/**
 * The control group of this process, or the nearest above it, in which groups can be made: one in which memory and
 * processes are counted, if there is such a one. No setting of a group that is not ours is changed. Null: there is none, as
 * for a user whose session was given no groups of its own.
 */
export function findGroups(
  mounts = textOf('/proc/self/mountinfo'),
  own = textOf('/proc/self/cgroup'),
): GroupPlace | null {
  // `… <root> <mount point> … - cgroup2 …`; a mount of a part of the tree has a root of its own.
  const mount = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1];
  const path = /^0::(\/.*)$/m.exec(own)?.[1];
  if (mount === undefined || path === undefined || path.includes('/..')) return null;
  const above: string[] = [];
  for (let at = join(mount, path); at.startsWith(mount); at = dirname(at)) above.push(at);
  const places = above.filter(canMakeGroups).map((folder) => ({ folder, limits: hasControllers(folder) }));
  return places.find(({ limits }) => limits) ?? places[0] ?? null;
}

const hasControllers = (folder: string): boolean => {
  const enabled = textOf(join(folder, 'cgroup.subtree_control')).trim().split(' ');
  return enabled.includes('memory') && enabled.includes('pids');
};

/** Groups that can be killed as a whole, which needs Linux 5.14; and a process of ours must be allowed to move into one. */
function canMakeGroups(folder: string): boolean {
  const trial = join(folder, `reveille-${process.pid}-trial`);
  try {
    mkdirSync(trial);
    return existsSync(join(trial, 'cgroup.kill')) && isWritable(join(folder, 'cgroup.procs'));
  } catch {
    return false;
  } finally {
    removeGroup(trial);
  }
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The groups of one run: what is bounded is the whole, what is killed is each process with all it started. */
interface RunGroup {
  readonly path: string;
  members: number;
  /** Groups are never named again: a slow end of one must not hit the next. */
  made: number;
}

export interface Member {
  /** The command, which first moves itself into its group. */
  readonly argv: (command: readonly string[]) => readonly string[];
  /** Kills whatever is in it. */
  readonly kill: () => void;
  /** Whether the kernel ended it for what its run took. */
  readonly isOverrun: () => boolean;
  /** Kills whatever is left in it, and removes it. */
  readonly leave: () => Promise<void>;
}

/** `echo` moves the shell, which then becomes the command. */
const ENTER = '{ echo $$ > "$0"; } 2> /dev/null; exec "$@"';

/**
 * Control groups for what we start. A group is on record before anything is in it, so that a later life can end what
 * an earlier one left.
 */
export class Groups {
  readonly place: GroupPlace;
  readonly #records: string | null;
  readonly #runs = new Map<string, RunGroup>();
  #made = 0;

  constructor(place: GroupPlace, records: string | null) {
    this.place = place;
    this.#records = records;
    if (records !== null) mkdirSync(records, { recursive: true, mode: 0o700 });
    sweep(place.folder);
  }

  /** A place for one process of a run. Null if none can be made now. */
  enter(run: string, totals: Totals): Member | null {
    try {
      const group = this.#runs.get(run) ?? this.#make(run, totals);
      const path = join(group.path, String(++group.made));
      mkdirSync(path);
      group.members++;
      return {
        argv: (command) => ['/bin/sh', '-c', ENTER, join(path, 'cgroup.procs'), ...command],
        kill: () => killGroup(path),
        isOverrun: () => /^oom_(?:group_)?kill [1-9]/m.test(textOf(join(group.path, 'memory.events'))),
        leave: async () => {
          await emptyGroup(path);
          if (--group.members > 0) return;
          this.#runs.delete(run);
          removeGroup(group.path);
          if (this.#records !== null) rmSync(this.#record(group.path), { force: true });
        },
      };
    } catch {
      return null;
    }
  }

  #make(run: string, { memoryBytes, processes }: Totals): RunGroup {
    const path = join(this.place.folder, `reveille-${process.pid}-${++this.#made}`);
    if (this.#records !== null) writeFileSync(this.#record(path), path, { mode: 0o600 });
    mkdirSync(path);
    if (this.place.limits) {
      writeFileSync(join(path, 'memory.max'), String(memoryBytes));
      writeFileSync(join(path, 'memory.oom.group'), '1');
      writeFileSync(join(path, 'pids.max'), String(processes));
    }
    const group = { path, members: 0, made: 0 };
    this.#runs.set(run, group);
    return group;
  }

  #record(path: string): string {
    return join(this.#records ?? '', path.slice(path.lastIndexOf('/') + 1));
  }
}

/** Ends what an earlier life left in its groups. Resolves when nothing of it lives. */
export async function endRecorded(records: string): Promise<void> {
  for (const name of existsSync(records) ? readdirSync(records) : []) {
    const path = textOf(join(records, name));
    if (isOurs(path)) for (const group of [...groupsIn(path), path]) await emptyGroup(group);
    rmSync(join(records, name), { force: true });
  }
}

/** With all groups in it. */
function killGroup(path: string): void {
  if (!isOurs(path)) return;
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1', { flag: 'r+' });
  } catch {
    // It is gone.
  }
}

const isOurs = (path: string): boolean => /\/reveille-\d+-\d+(?:\/\d+)?$/.test(path);

async function emptyGroup(path: string): Promise<void> {
  for (let tries = 0; tries < TRIES && existsSync(path); tries++) {
    killGroup(path);
    if (/^populated 0$/m.test(textOf(join(path, 'cgroup.events')))) return removeGroup(path);
    await sleep(EVERY_MS);
  }
}

/** Removes empty groups of processes that are gone. One that is not empty is for whoever has it on record. */
function sweep(folder: string): void {
  for (const path of groupsIn(folder).filter(isOurs)) {
    const maker = /reveille-(\d+)-/.exec(path)?.[1];
    if (existsSync(`/proc/${maker}`)) continue;
    for (const group of [...groupsIn(path), path]) removeGroup(group);
  }
}

function groupsIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries.map(({ name }) => join(path, name));
}

function removeGroup(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // It was never made, or something in it is still on its way out: an empty group harms nobody.
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
