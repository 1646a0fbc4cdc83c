import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadInstead } from '../load-instead.ts';
import { BUGS } from './bugs.ts';
import type { PlantedBug } from './planted-bug.ts';

const ROOT = new URL('../../', import.meta.url);

/** The source with the bug in it. A snippet that is not there exactly once means that the code moved on: say so. */
export function plantInto(source: string, bug: PlantedBug): string {
  const parts = source.split(bug.find);
  if (parts.length !== 2) {
    throw new Error(
      `The planted bug "${bug.name}" does not fit any more: its snippet is in ${bug.file} ${parts.length - 1} times, not once. Bring test/simulation/bugs.ts up to date.`,
    );
  }
  return parts.join(bug.replace);
}

export function findBug(name: string): PlantedBug {
  const bug = BUGS.find((one) => one.name === name);
  if (!bug)
    throw new Error(
      `There is no planted bug "${name}". These exist: ${BUGS.map((one) => one.name).join(', ')}.`,
    );
  return bug;
}

/** From now on the engine is loaded with the bug. For test processes only: nothing of the product knows of it. */
export function plant(name: string): void {
  const bug = findBug(name);
  const url = new URL(bug.file, ROOT).href;
  // Fails here, before anything is simulated, if it does not fit.
  const planted = plantInto(readFileSync(fileURLToPath(url), 'utf8'), bug);
  loadInstead(url, planted);
}
