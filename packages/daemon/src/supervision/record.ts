import { closeSync, existsSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { jsonOf, readPrivately, writePrivately } from '../place/private-file.ts';
import { processIdentity } from '../place/process-identity.ts';

/** Who starts a daemon again that dies. `reveille` is the supervisor of supervisor.ts. */
export const SUPERVISED_BY = {
  managers: ['systemd', 'launchd'],
  all: ['reveille', 'systemd', 'launchd', 'nobody'],
} as const;
export type SupervisedBy = (typeof SUPERVISED_BY.all)[number];

/** A process, by its number and by when it was started (process-identity.ts). */
const ProcessName = z.object({ pid: z.number().int().positive(), process: z.string() });
export type ProcessName = z.infer<typeof ProcessName>;

const Ended = z.object({ at: z.number(), why: z.string() });

/** What is known of the daemon's supervision, for `daemon status`, `daemon stop` and `doctor`. */
const SupervisionRecord = z.object({
  by: z.enum(SUPERVISED_BY.all),
  /** The supervisor's process, where it is ours. */
  supervisor: ProcessName.nullable(),
  /** The daemon that wrote this; it may not answer yet. */
  daemon: ProcessName.nullable(),
  /** The ends of earlier daemons since a command started the first one, oldest first. */
  restarts: z.array(Ended),
  /** Set when no other start is tried, because none can succeed before a person has done something. */
  gaveUp: Ended.nullable(),
});
export type SupervisionRecord = z.infer<typeof SupervisionRecord>;

/** So many of so many characters are less than a block of a disk. */
const [KEPT_RESTARTS, LONGEST_WHY] = [10, 200];

/** Null: there is none, or it cannot be read, which hides only what happened before. */
export function readSupervision(path: string): SupervisionRecord | null {
  try {
    const parsed = SupervisionRecord.safeParse(jsonOf(readPrivately(path)?.text ?? ''));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

export function writeSupervision(path: string, record: SupervisionRecord): void {
  const restarts = record.restarts
    .slice(-KEPT_RESTARTS)
    .map(({ at, why }) => ({ at, why: why.slice(0, LONGEST_WHY) }));
  const text = `${JSON.stringify({ ...record, restarts })}\n`;
  try {
    writePrivately(path, text);
  } catch (error) {
    // A full disk has no room for another file. Without the name of the supervisor that waits for room, a stop would end
    // nobody, and the daemon would start again after it.
    overwrite(path, text, error);
  }
}

/** In the blocks that the file has. A reader who meets half of it takes it for none. */
function overwrite(path: string, text: string, why: unknown): void {
  if (!existsSync(path)) throw why;
  const file = openSync(path, 'r+');
  try {
    writeSync(file, text, 0);
    ftruncateSync(file, Buffer.byteLength(text));
  } finally {
    closeSync(file);
  }
}

/** Null: there is no such process. */
export function processName(pid: number | undefined): ProcessName | null {
  const identity = pid === undefined ? null : processIdentity(pid);
  return pid === undefined || identity === null ? null : { pid, process: identity };
}

export const isAlive = (named: ProcessName | null): named is ProcessName =>
  named !== null && processIdentity(named.pid) === named.process;
