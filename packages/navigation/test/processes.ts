import { readFileSync, readdirSync } from 'node:fs';

/** A process and everything beneath it. */
export function familyOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return [[Number(name), parent] as const];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
  const family = [pid];
  for (const member of family)
    family.push(...parents.filter(([, parent]) => parent === member).map(([id]) => id));
  return family;
}

export function isAlive(pid: number): boolean {
  try {
    // A zombie has ended, and waits for its parent to hear of it.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Until the fact itself can be seen; the test's own time-out is the only one. */
export async function until(fact: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await fact())) await new Promise((resolve) => setTimeout(resolve, 20));
}
