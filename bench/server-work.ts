import { readFileSync, readdirSync } from 'node:fs';

/** Milliseconds of processor time that a process and everything beneath it have used; 0 where the system does not tell. */
export function workOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const own = (Number(fields[11]) + Number(fields[12])) * TICK_MS;
    return own + childrenOf(pid).reduce((sum, child) => sum + workOf(child), 0);
  } catch {
    return 0;
  }
}

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter((each) => each !== '')
      .map(Number),
  );
