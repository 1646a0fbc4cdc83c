import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** A process by number and time of birth: a number alone may belong to somebody else by now. */
export interface Identity {
  readonly pid: number;
  readonly born: string;
}

export const formatIdentity = ({ pid, born }: Identity): string => `${pid}@${born}`;

export function parseIdentity(text: string): Identity {
  const [pid, ...born] = text.split('@');
  return { pid: Number(pid), born: born.join('@') };
}

const HAS_PROC = existsSync('/proc/self/stat');

/** When the process was born; null if there is none, or only what is left of it until its parent looks. */
export function birth(pid: number): string | null {
  return HAS_PROC ? birthByProc(pid) : birthByPs(pid);
}

function birthByProc(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold anything; what follows it is state, then 18 others, then the time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null; // no such process
  }
}

function birthByPs(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '').replaceAll(/\s+/g, '-');
  } catch {
    return null;
  }
}

export const isAlive = ({ pid, born }: Identity): boolean => birth(pid) === born;

/** Ends the process and its group, if it is still the one that was meant. Resolves when it is gone. */
export async function endGroup(identity: Identity): Promise<void> {
  while (isAlive(identity)) {
    signalGroup(identity.pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}

/** Processes whose command line names the folder: those that a world started and that still live. */
export function livingIn(folder: string): number[] {
  return HAS_PROC ? livingByProc(folder) : livingByPs(folder);
}

function livingByProc(folder: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const names = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
      return names && pid !== process.pid && birth(pid) !== null;
    } catch {
      return false; // it ended meanwhile
    }
  });
}

function livingByPs(folder: string): number[] {
  const lines = execFileSync('ps', ['-Ao', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  const pids = lines.filter((line) => line.includes(folder)).map((line) => Number.parseInt(line, 10));
  return pids.filter((pid) => pid !== process.pid && birth(pid) !== null);
}
