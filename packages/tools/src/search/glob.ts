import { ReveilleError } from '@reveille/protocol';

/** `{a,b}` is written out; more than this is not a filter any more. */
const MOST_BRANCHES = 100;

/**
 * Whether a path fits a glob: `*` and `?` within a name, `**` across folders, `[a-z]`, `{a,b}`. A glob without a slash
 * is about the file's name alone. Compared step by step, so that no glob takes longer than its length times the path's.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const branches = writtenOut(glob).map((branch) => branch.replace(/^\.?\//, '').split('/'));
  return (path) => {
    const names = path.split('/');
    return branches.some((steps) =>
      steps.length === 1 ? fits(steps[0] ?? '', names.at(-1) ?? '') : walks(steps, names),
    );
  };
}

function writtenOut(glob: string): string[] {
  const done: string[] = [];
  const waiting = [glob];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const braces = /\{([^{}]*)\}/.exec(next);
    if (!braces) done.push(next);
    else
      for (const choice of (braces[1] ?? '').split(','))
        waiting.push(`${next.slice(0, braces.index)}${choice}${next.slice(braces.index + braces[0].length)}`);
    if (done.length + waiting.length > MOST_BRANCHES)
      throw new ReveilleError(
        'invalid_input',
        `The glob has more than ${MOST_BRANCHES} alternatives in braces.`,
      );
  }
  return done;
}

/** Folder by folder. `**` takes any number of them; on a mismatch it takes one more, and only the last one needs to. */
function walks(steps: readonly string[], names: readonly string[]): boolean {
  return matchWithStars({
    steps: steps.length,
    names: names.length,
    isStar: (i) => steps[i] === '**',
    fits: (i, j) => fits(steps[i] ?? '', names[j] ?? ''),
  });
}

/** One name. */
function fits(pattern: string, name: string): boolean {
  const parts = [...pattern.matchAll(/\[[!^]?\]?[^\]]*\]|[^]/g)].map(([part]) => part);
  return matchWithStars({
    steps: parts.length,
    names: name.length,
    isStar: (i) => parts[i] === '*',
    fits: (i, j) => fitsCharacter(parts[i] ?? '', name[j] ?? ''),
  });
}

function fitsCharacter(part: string, character: string): boolean {
  if (part === '?') return true;
  if (part.length < 3 || !part.startsWith('[')) return part === character;
  const negated = part[1] === '!' || part[1] === '^';
  const set = part.slice(negated ? 2 : 1, -1);
  let found = false;
  for (let i = 0; i < set.length; i++) {
    const isRange = set[i + 1] === '-' && i + 2 < set.length;
    const [from = '', to = ''] = isRange ? [set[i], set[i + 2]] : [set[i], set[i]];
    found ||= from <= character && character <= to;
    if (isRange) i += 2;
  }
  return found !== negated;
}

interface Match {
  readonly steps: number;
  readonly names: number;
  readonly isStar: (i: number) => boolean;
  readonly fits: (i: number, j: number) => boolean;
}

function matchWithStars({ steps, names, isStar, fits: fit }: Match): boolean {
  let i = 0;
  let star = -1;
  let taken = 0;
  for (let j = 0; j < names;) {
    if (i < steps && isStar(i)) {
      star = i++;
      taken = j;
    } else if (i < steps && fit(i, j)) {
      i += 1;
      j += 1;
    } else {
      if (star < 0) return false;
      i = star + 1;
      j = ++taken;
    }
  }
  while (i < steps && isStar(i)) i += 1;
  return i === steps;
}
