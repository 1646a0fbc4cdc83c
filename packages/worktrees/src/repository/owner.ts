import { lstat } from 'node:fs/promises';
import { git } from '../git/git.ts';
import { refused, type RepositoryPlace } from './discover.ts';
import { isWithin, realPathOf } from './paths.ts';

/**
 * Refuses a repository of another user, as git itself does: that user could change its config between a look at it and its
 * use, and have the person run a program. The person may name it in their own `safe.directory`.
 */
export async function refuseForeign({ root, headDir, gitDir }: RepositoryPlace): Promise<void> {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  // The administrator could do anything anyway. Whoever became root by sudo works on what is theirs.
  const trusted = [uid, 0, ...(uid === 0 ? [Number(process.env['SUDO_UID'] ?? 0)] : [])];
  for (const path of new Set([root, headDir, gitDir])) {
    const { uid: owner } = await lstat(path);
    if (trusted.includes(owner) || (await isNamedSafe(root))) continue;
    throw refused(
      `${path} belongs to user ${owner}, who could make git run programs as you. If that is as it should be: git config --global --add safe.directory ${root}`,
      root,
    );
  }
}

/** Whether the person's own config, or that of the system, names a repository as git wants it. */
async function isNamedSafe(root: string): Promise<boolean> {
  const scopes = ['--system', '--global'];
  const answers = await Promise.all(
    scopes.map((scope) =>
      git({
        gitDir: '/',
        args: ['config', scope, '--includes', '-z', '--get-all', 'safe.directory'],
        asPerson: true,
        accept: [1, 128],
      }),
    ),
  );
  const named = answers.flatMap(({ stdout }) => stdout.split('\0').slice(0, -1));
  // An empty one takes back all before it.
  return named.slice(named.lastIndexOf('') + 1).some((name) => {
    const folder = name.replace(/\/\*$/, '');
    return name === '*' || (folder === name ? realPathOf(name) === root : isWithin(root, realPathOf(folder)));
  });
}
