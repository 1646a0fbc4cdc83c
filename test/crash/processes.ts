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

export interface Living {
  readonly pid: number;
  readonly command: string;
}

/** Processes whose command line names the folder: those that a world started and that still live. */
export function livingIn(folder: string): Living[] {
  const found = HAS_PROC ? livingByProc() : livingByPs();
  return found.filter(
    ({ pid, command }) => command.includes(folder) && pid !== process.pid && birth(pid) !== null,
  );
}

function livingByProc(): Living[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(pid), command }];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

function livingByPs(): Living[] {
  const lines = execFileSync('ps', ['-Awwo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.map((line) => ({
    pid: Number.parseInt(line, 10),
    command: line.trim().replace(/^\d+\s+/, ''),
  }));
}
