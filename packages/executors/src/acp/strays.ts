import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 200;
const EVERY_MS = 10;

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid !== undefined) send(-pid, signal);
}

/** Has a keeper kill everything below it, and itself, also one that somebody has stopped. */
export function endKept(pid: number): void {
  send(pid, 'SIGUSR1');
  send(pid, 'SIGCONT');
}

/**
 * Ends every process that was started with this variable: those that left their group too. Only where the system shows
 * environments; elsewhere the group has to do.
 */
export async function endStrays(variable: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const strays = straysOf(variable);
    if (strays.length === 0) return;
    for (const pid of strays) send(pid, 'SIGKILL');
    await sleep(EVERY_MS);
  }
}

/** The processes that live and were started with this variable, but for ourselves. */
export function straysOf(variable: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => environmentOf(pid).includes(variable));
}

/** Empty of one that is gone, or not ours, or a zombie. */
function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
