import { isUse } from '../syntax/uses.ts';
import type { Held } from './contents.ts';
import { explainHits } from './explain.ts';
import type { Regions } from './regions.ts';
import { spotsOf, type Spot, type TextSpot } from './spots.ts';

export interface Guessed {
  readonly name: string;
  readonly guess: readonly Spot[];
}

/** Uses that only the text before them tells, from the beginning of the file on: more are left to the parser. */
const MOST_AROUND = 20;

/**
 * Whether a guess is all that a file defines of a name, seen without parsing: it is code, and every other place of the name
 * is a comment, a string, or a use for certain. False: a parser must say.
 */
export function isAllDefined(path: string, held: Held, { name, guess }: Guessed): boolean {
  if (guess.length === 0) return false;
  const isGuess = new Set(guess.map(({ line, column }) => `${line}:${column}`));
  const spots = spotsOf(held.text, name, held.lines());
  const roles = explainHits(path, held, spots).map(({ role }) => role);
  const regions = held.regions();
  let around = 0;
  return spots.every((spot, i) => {
    const role = roles[i] ?? null;
    if (isGuess.has(`${spot.line}:${spot.column}`)) return role === 'code';
    if (role === 'comment' || role === 'string') return true;
    const row = held.lines().row(spot.line - 1);
    if (isUse(row, spot.column, name)) return true;
    return regions !== null && ++around <= MOST_AROUND && isUseAround({ held, regions }, spot, name);
  });
}

/** A use that its line alone does not tell: a statement of its own at the top, or in a list of values. */
function isUseAround(
  { held, regions }: { readonly held: Held; readonly regions: Regions },
  { offset }: TextSpot,
  name: string,
): boolean {
  const open: number[] = [];
  const before: string[] = [''];
  let last = '';
  for (const part of regions.code(held.text, offset)) {
    for (let i = 0; i < part.length; i++) {
      const code = part.charCodeAt(i);
      if (code === 0x7b || code === 0x28 || code === 0x5b) {
        open.push(code);
        before.push(`${last}${part.slice(Math.max(0, i - 20), i)}`.trimEnd());
      }
      if ((code === 0x7d || code === 0x29 || code === 0x5d) && open.pop() !== undefined) before.pop();
    }
    last = `${last}${part}`.slice(-40);
  }
  const behind = last.trimEnd().at(-1) ?? ';';
  const next = held.text.slice(offset + name.length, offset + name.length + 200).trimStart()[0] ?? ';';
  if (open.length === 0) return /[;}]/.test(behind) && next === ';';
  // `= { a, name }` makes something of values; nothing is bound there.
  return (
    open.at(-1) === 0x7b &&
    /(?:^|[^=!<>])=$/.test(before.at(-1) ?? '') &&
    /[{,]/.test(behind) &&
    /[,}]/.test(next)
  );
}
