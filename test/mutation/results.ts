import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ROOT, diffOf, type Mutant } from './mutants.ts';
import type { Verdict } from './detectors.ts';
import harmlessMutants from './harmless.json' with { type: 'json' };

const harmless: readonly { readonly id: string; readonly reason: string }[] = harmlessMutants;

/** What is known of one mutant. */
export interface Result {
  readonly mutant: Mutant;
  readonly verdicts: readonly Verdict[];
}

export const RESULTS = `${ROOT}.cache/mutation/results.jsonl`;

export const isFound = ({ verdicts }: Result): boolean => verdicts.some(({ found }) => found);

/** By id, the latest. */
export function readResults(file: string): Map<string, Result> {
  const results = new Map<string, Result>();
  if (!existsSync(file)) return results;
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    if (line === '') continue;
    const result = JSON.parse(line) as Result;
    results.set(result.mutant.id, result);
  }
  return results;
}

export function keepResult(file: string, result: Result): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(result)}\n`);
}

/** Why a mutant that no test finds does no harm, or undefined if nobody has judged that. */
export const reasonOf = (id: string): string | undefined => harmless.find((one) => one.id === id)?.reason;

/** Ids in harmless.json that no mutant has any more: the code moved on. */
export function staleReasons(mutants: readonly Mutant[]): string[] {
  const ids = new Set(mutants.map(({ id }) => id));
  return harmless.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
}

export function summaryOf(results: readonly Result[]): string {
  const found = results.filter(isFound);
  const survivors = results.filter((result) => !isFound(result));
  const judged = survivors.filter(({ mutant }) => reasonOf(mutant.id) !== undefined);
  const open = survivors.filter((survivor) => !judged.includes(survivor));
  const by = (name: string): number =>
    results.filter(({ verdicts }) => verdicts.some((one) => one.detector === name && one.found)).length;
  const asked = (name: string): number =>
    results.filter(({ verdicts }) => verdicts.some((one) => one.detector === name)).length;
  const harmful = results.length - judged.length;
  return [
    ...open.map(survivorWords),
    ...judged.map(({ mutant }) => `harmless ${mutant.id}: ${reasonOf(mutant.id)}`),
    '',
    ...['unit', 'simulation', 'system'].map((name) => `${name}: found ${by(name)} of ${asked(name)} tried`),
    `${found.length} of ${results.length} mutants found (${percent(found.length, results.length)}); ${judged.length} are harmless, ${open.length} survive; without the harmless ones ${percent(found.length, harmful)}`,
  ].join('\n');
}

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`;

export function survivorWords({ mutant, verdicts }: Result): string {
  const tried = verdicts.map(({ detector }) => detector).join(', ') || 'no test executes this place';
  return [
    `survived ${mutant.id} (${mutant.operator}) ${mutant.file}:${mutant.line}; tried: ${tried}`,
    diffOf(mutant),
    `  again: npm run mutate -- --only ${mutant.id}`,
  ].join('\n');
}
