import { languageOf } from '../languages.ts';
import { lineNear, offsetOf, type Spot } from './spots.ts';

/** No list of names is longer; thousands of hits may be looked at for one question. */
const FAR = 5_000;
/** From the word that begins such a statement to one of its names, and from there to its end. */
const BEFORE = /^(?:import|export)(?:\s+type)?\s*(?:[\w$]+\s*,\s*)?(?:\{[\w$\s,]*|\*\s*as\s+)?$/;
const AFTER = /^[\w$\s,{}*]*\bfrom\s*(['"])([^'"\n]+)\1/;
const NOT_WITHIN = /[^\w$\s,{}*]/;
const REQUIRED = /\b(?:require|import)\s*\(\s*(['"])([^'"\n]+)\1/;
const PYTHON = /^\s*from\s+([\w.]+)\s+import\b/;

/** The module that a name at an offset is imported from, or passed on from, by the statement around it; null: it is not. */
export function moduleAround(text: string, at: number): string | null {
  const stated = statedModule(text, at);
  if (stated !== null) return stated;
  const line = lineNear(text, at);
  const [row = ''] = line === null ? [] : text.slice(line, line + FAR).split('\n', 1);
  return REQUIRED.exec(row)?.[2] ?? PYTHON.exec(row)?.[1] ?? null;
}

/** Whether a place of a script is in a statement that imports or passes on: nothing is defined there. */
export function isImportAt(text: string, spot: Spot & { readonly path: string }): boolean {
  const at = languageOf(spot.path)?.name === 'typescript' ? offsetOf(text, spot) : null;
  return at !== null && statedModule(text, at) !== null;
}

function statedModule(text: string, at: number): string | null {
  const start = statementAt(text, at);
  if (start === null || !BEFORE.test(text.slice(start, at))) return null;
  return AFTER.exec(text.slice(at, at + FAR))?.[2] ?? null;
}

/** Where the last `import` or `export` before an offset begins, with nothing in between that stands in none. */
function statementAt(text: string, at: number): number | null {
  let near = at;
  while (near > 0 && at - near < FAR && !NOT_WITHIN.test(text[near - 1] ?? '')) near -= 1;
  const words = [...text.slice(near, at).matchAll(/\b(?:import|export)\b/g)];
  const last = words.at(-1)?.index;
  return last === undefined ? null : near + last;
}
