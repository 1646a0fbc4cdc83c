import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';

/** What a process and everything beneath it uses. */
export interface TreeUse {
  readonly rssBytes: number;
  /** Since each of them was started, with those that have ended and were waited for. */
  readonly cpuMs: number;
  readonly processes: number;
}

const NOTHING: TreeUse = { rssBytes: 0, cpuMs: 0, processes: 0 };
/** Ticks of the clock that Linux counts CPU time in, as it tells them to programs. */
const TICK_MS = 10;

/** Bytes of memory that a process and everything beneath it hold now; 0 if it is gone. */
export async function residentBytes(pid: number): Promise<number> {
  return (await usedByTree(pid)).rssBytes;
}

/**
 * What a process and everything beneath it uses now; nothing if it is gone. `exact`: memory that processes share is counted
 * once, where the system says so, which takes longer.
 */
export async function usedByTree(pid: number, { exact = false } = {}): Promise<TreeUse> {
  if (pid === 0) return NOTHING;
  return process.platform === 'linux' ? await linuxUse(pid, exact) : await listedUse(pid);
}

/** The sandbox puts processes of its own above the server: all of them are counted, each with its children. */
async function linuxUse(pid: number, exact: boolean): Promise<TreeUse> {
  let [rssBytes, cpuMs, processes] = [0, 0, 0];
  const waiting = [pid];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const resident = residentOf(at);
    rssBytes += exact ? (shareOf(at) ?? resident) : resident;
    // One that has ended, and that nobody has waited for yet, has no memory.
    processes += resident > 0 ? 1 : 0;
    cpuMs += cpuOf(at);
    waiting.push(...childrenOf(at));
    if (waiting.length > 0) await nextTurn();
  }
  return { rssBytes, cpuMs, processes };
}

function residentOf(pid: number): number {
  const status = told(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Its share of what it holds together with others; null: the system does not say. */
function shareOf(pid: number): number | null {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(told(`/proc/${pid}/smaps_rollup`))?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** Its own time and that of the children it has waited for, in its programs and in the kernel. */
function cpuOf(pid: number): number {
  const stat = told(`/proc/${pid}/stat`);
  // The name in parentheses may hold anything: what follows the last one is regular.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}

function childrenOf(pid: number): number[] {
  const lists = tasksOf(pid).map((task) => told(`/proc/${pid}/task/${task}/children`));
  return lists.flatMap((list) =>
    list
      .split(' ')
      .filter((id) => id !== '')
      .map(Number),
  );
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // It has ended.
    return [];
  }
}

/** The kernel answers from memory, in some 20 µs; by way of a thread each took the caller ten times as long. */
function told(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** UNTESTED on other systems: what `ps` says of the process and its children. */
async function listedUse(pid: number): Promise<TreeUse> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,rss=,time=']).catch(() => ({
    stdout: '',
  }));
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const family = new Set([pid]);
  for (const [id, parent] of rows) if (family.has(Number(parent))) family.add(Number(id));
  const own = rows.filter(([id]) => family.has(Number(id)));
  return own.reduce<TreeUse>(
    ({ rssBytes, cpuMs, processes }, [, , kilobytes = '0', time = '0']) => ({
      rssBytes: rssBytes + Number(kilobytes) * 1024,
      cpuMs: cpuMs + msOf(time),
      processes: processes + 1,
    }),
    NOTHING,
  );
}

/** `1-02:03:04.5`, or the last parts of it. */
function msOf(time: string): number {
  const [days, clock] = time.includes('-') ? time.split('-', 2) : ['0', time];
  const seconds = (clock ?? '').split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round((Number(days) * 86_400 + seconds) * 1_000) || 0;
}
