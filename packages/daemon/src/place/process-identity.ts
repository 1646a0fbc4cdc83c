import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Names a process so that another one that gets its number later has another name: by the time it was started. Null:
 * there is no such process.
 */
export function processIdentity(pid: number): string | null {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything, parentheses too: what follows the last one is regular.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    // A zombie has ended; only its parent has not looked yet.
    if (!started || state === 'Z' || state === 'X') return null;
    return `${bootId()}:${started}`;
  } catch {
    return null;
  }
}

/** Start times count from the boot. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function fromPs(pid: number): string | null {
  try {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const said = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return said.trim() || null;
  } catch {
    return null;
  }
}
