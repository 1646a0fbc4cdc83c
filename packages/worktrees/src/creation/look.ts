import { git } from '../git/git.ts';
import type { FoundRepository } from '../repository.ts';

/** Long enough for the largest checkout. A pipe among its files would hold git for ever. */
export const LOOK_MS = 120_000;

/** The person's checkout, as one look found it. Nothing in it was changed, not even its index refreshed. */
export interface Look {
  /** Changed, staged or untracked. A folder that is untracked as a whole ends in a slash. */
  readonly dirty: readonly string[];
  readonly unmerged: readonly string[];
  /** What is ignored: a folder that is as a whole ends in a slash. */
  readonly ignored: readonly string[];
}

export async function lookAtCheckout(
  repository: FoundRepository,
  signal?: AbortSignal,
  patienceMs = LOOK_MS,
): Promise<Look> {
  const { stdout } = await git({
    gitDir: repository.headDir,
    workTree: repository.root,
    asPerson: true,
    args: [
      'status',
      '--porcelain=v2',
      '-z',
      '--no-renames',
      '--ignore-submodules=all',
      '--untracked-files=normal',
      '--ignored=matching',
    ],
    patienceMs,
    ...(signal ? { signal } : {}),
  });
  const look = { dirty: [] as string[], unmerged: [] as string[], ignored: [] as string[] };
  for (const line of stdout.split('\0')) {
    const [path, kind] = parse(line);
    if (kind === '!') look.ignored.push(path);
    else if (kind !== '') look.dirty.push(path);
    if (kind === 'u') look.unmerged.push(path);
  }
  return look;
}

/**
 * Only what is ignored, for whom the rest does not matter: no file that git knows is looked at, which takes a third of
 * the time. It also names folders all of whose files are ignored one by one.
 */
export async function ignoredIn(
  repository: FoundRepository,
  signal?: AbortSignal,
  patienceMs = LOOK_MS,
): Promise<string[]> {
  const { stdout } = await git({
    gitDir: repository.headDir,
    workTree: repository.root,
    asPerson: true,
    args: ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'],
    patienceMs,
    ...(signal ? { signal } : {}),
  });
  return stdout.split('\0').filter((path) => path !== '');
}

// The fields before the path: `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`, `! path`.
const FIELDS: Readonly<Record<string, number>> = { '1': 8, u: 10, '?': 1, '!': 1 };

function parse(line: string): [path: string, kind: string] {
  const kind = line.slice(0, 1);
  const fields = FIELDS[kind];
  if (fields === undefined) return ['', ''];
  return [line.split(' ').slice(fields).join(' '), kind];
}
