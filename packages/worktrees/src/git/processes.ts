import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';

/** Runs a program of the system for its effect, behind everything else if asked to. False if it failed or is not there. */
export async function succeeds(
  program: string,
  args: readonly string[],
  { background = false, signal }: { background?: boolean; signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  const child = spawn(program, [...args], { stdio: 'ignore', ...(signal ? { signal } : {}) });
  if (background) yieldToOthers(child.pid);
  return await new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}

/** Not to the last: at the lowest priority a busy machine would never fill a pool, nor empty a bin. */
export function yieldToOthers(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It is already over, or the system has no such thing: then it just runs.
  }
}
