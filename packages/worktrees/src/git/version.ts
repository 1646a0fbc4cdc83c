import { ReveilleError } from '@reveille/protocol';
import { git } from './git.ts';

/** The first with `merge-tree --write-tree`, which tells conflicts without a checkout. */
const OLDEST = [2, 38] as const;

/** The version of git, or an error that says what to do about it. */
export async function checkGitVersion(folder: string): Promise<string> {
  const said = await git({ gitDir: folder, args: ['version'] }).catch((error: unknown) => {
    if (error instanceof ReveilleError)
      throw new ReveilleError(
        'git_too_old',
        `Git is not on the PATH. Install git ${OLDEST.join('.')} or newer.`,
        {
          cause: error,
        },
      );
    throw error;
  });
  const version = /(\d+)\.(\d+)[\w.]*/.exec(said.stdout);
  const [major, minor] = [Number(version?.[1]), Number(version?.[2])];
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return version?.[0] ?? '';
  throw new ReveilleError(
    'git_too_old',
    `Git is ${version?.[0] ?? `of no known version (${said.stdout.trim().slice(0, 100)})`}; Reveille needs ${OLDEST.join('.')} or newer. Install a newer git, or put one first on the PATH.`,
    { data: { version: version?.[0] ?? null, needs: OLDEST.join('.') } },
  );
}
