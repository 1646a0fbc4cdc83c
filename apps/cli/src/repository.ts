import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ReveilleError } from '@reveille/protocol';
import type { Call } from './command/spec.ts';

const run = promisify(execFile);

export interface Repository {
  /** The top of the checkout. */
  readonly top: string;
  /** Its git folder, which all its worktrees share: what trust is given to. */
  readonly common: string;
}

type Asked = Pick<Call, 'io'> & { readonly options: { readonly repo: string | undefined } };

/** The repository a command is about: the one `--repo` names, or the one around the working folder. */
export async function repositoryOf({ io, options }: Asked): Promise<Repository> {
  const folder = resolve(io.cwd, options.repo ?? '.');
  try {
    const asked = ['--is-bare-repository', '--git-common-dir', '--show-toplevel'];
    const { stdout } = await run('git', ['-C', folder, 'rev-parse', ...asked], { env: withoutGit(io.env) });
    const [, common = '', top = ''] = stdout.trimEnd().split('\n');
    return {
      top: realpathSync(top),
      common: realpathSync(isAbsolute(common) ? common : join(folder, common)),
    };
  } catch (cause) {
    throw explained(folder, cause);
  }
}

/** Null where there is none. */
export async function repositoryIfAny(asked: Asked): Promise<Repository | null> {
  try {
    return await repositoryOf(asked);
  } catch (error) {
    // Whoever names one means it.
    if (asked.options.repo !== undefined) throw error;
    return null;
  }
}

export const homeOf = ({ env }: Pick<Call['io'], 'env'>): string => env['HOME'] ?? homedir();

/** What a hook of git has set is about another repository than the one that is asked for. */
export function withoutGit(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries({ ...env, LC_ALL: 'C' }).filter(
      ([name]) => !/^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX)$/.test(name),
    ),
  );
}

function explained(folder: string, cause: unknown): ReveilleError {
  const missing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
  if (missing)
    return new ReveilleError(
      'git_too_old',
      'git is not on the PATH. Install it (2.38 or newer) and try again.',
      { cause },
    );
  // What git said before it stopped: the first answer is whether the repository is bare.
  if (cause instanceof Error && 'stdout' in cause && String(cause.stdout).startsWith('true'))
    return new ReveilleError(
      'not_a_repository',
      `${folder} is a bare repository, which has no checkout to start from. Make one with \`git clone\` and go there.`,
      { data: { folder }, cause },
    );
  const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
  const plain = said === '' || /not a git repository/i.test(said);
  const why = plain ? '' : ` (${said.split('\n', 1)[0]})`;
  const words = `${folder} is in no git repository${why}. Go to one, name one with --repo, or make one with \`git init\`.`;
  return new ReveilleError('not_a_repository', words, { data: { folder }, cause });
}
