import { HOLE } from './shell-words.ts';

/** `*` is anything, `?` one character. In the time of both lengths multiplied, whatever is in them. */
export function wildcard(pattern: string, text: string): boolean {
  let [p, t, star, mark] = [0, 0, -1, 0];
  while (t < text.length) {
    if (p < pattern.length && pattern[p] !== '*' && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (p < pattern.length && pattern[p] === '*') {
      star = p++;
      mark = t;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/**
 * Whether a pattern may fit a text with holes, each of which may be any text. It is enough that nothing before the first hole,
 * and before the first sign of the pattern, speaks against it.
 */
export function mayMatch(pattern: string, text: string): boolean {
  for (let at = 0; at < pattern.length; at++) {
    const [wanted, there] = [pattern[at], text[at]];
    if (there === HOLE || wanted === '*' || wanted === '?') return true;
    if (wanted !== there) return false;
  }
  return true;
}

/** As in .gitignore: without a slash the name anywhere, else from the root; `**` is any number of folders. */
export function pathMatches(pattern: string, path: string): boolean {
  const steps = plain(path);
  const wanted = pattern.replace(/^\.?\//, '').replace(/\/$/, '/**');
  if (!wanted.includes('/')) return steps.some((_, i) => wildcard(wanted, steps[i] ?? ''));
  return folders(wanted.split('/'), steps);
}

/** Without `.`, with `..` taken for what it means. */
function plain(path: string): string[] {
  const steps: string[] = [];
  for (const step of path.replaceAll('\\', '/').split('/')) {
    if (step === '..' && steps.length > 0 && steps.at(-1) !== '..') steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  return steps;
}

/** The same walk as for characters, with `**` as the star. A pattern that names a folder holds all beneath it. */
function folders(pattern: readonly string[], path: readonly string[]): boolean {
  let [p, t, star, mark] = [0, 0, -1, 0];
  while (t < path.length) {
    const step = pattern[p];
    if (step === '**') {
      star = p++;
      mark = t;
    } else if (step !== undefined && wildcard(step, path[t] ?? '')) {
      p++;
      t++;
      if (p === pattern.length) return true;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === '**') p++;
  return p === pattern.length;
}
