import { z } from 'zod';
import { jsonOf, readPrivately, writePrivately } from '../place/private-file.ts';

/** Bytes, by backend. */
const Needs = z.record(z.string().max(200), z.number().int().positive());

/** What agents were seen to need on this machine, in earlier lives. What cannot be read is learned again. */
export function knownNeeds(path: string): ReadonlyMap<string, number> {
  try {
    const read = Needs.safeParse(jsonOf(readPrivately(path)?.text ?? '{}'));
    return new Map(Object.entries(read.success ? read.data : {}));
  } catch {
    return new Map();
  }
}

export function keepNeeds(path: string, needs: ReadonlyMap<string, number>): void {
  try {
    writePrivately(path, `${JSON.stringify(Object.fromEntries(needs))}\n`);
  } catch {
    // The next daemon learns it again.
  }
}
