import { git } from '../git/git.ts';
import type { FoundRepository } from '../repository.ts';

/** What a worktree of this commit does not have, and its agent and the person should know. */
export async function noticesAbout(repository: FoundRepository, commit: string): Promise<string[]> {
  const [modules = '', attributes = ''] = await readBlobs(repository, [
    `${commit}:.gitmodules`,
    `${commit}:.gitattributes`,
  ]);
  const notices: string[] = [];
  if (/^[ \t]*\[submodule\b/m.test(modules))
    notices.push(
      'The submodules of the repository are not checked out in this worktree; their folders are empty.',
    );
  if (/\bfilter=lfs\b/.test(attributes))
    notices.push(
      'Files kept in Git LFS are not fetched: in this worktree they are small text files that name them.',
    );
  if (/\bfilter=(?!lfs\b)\S/.test(attributes))
    notices.push(
      'Filters named in .gitattributes are not run: in this worktree their files are as they are stored.',
    );
  return notices;
}

const LARGEST = 1024 * 1024;

/** The text of each, or nothing for one that is not there or not small. */
async function readBlobs(repository: FoundRepository, names: readonly string[]): Promise<string[]> {
  const { stdout } = await git({
    gitDir: repository.gitDir,
    args: ['cat-file', '--batch-check=%(objecttype) %(objectsize) %(objectname)'],
    input: `${names.join('\n')}\n`,
  });
  const texts: string[] = [];
  for (const line of stdout.trimEnd().split('\n')) {
    const [type, size, id = ''] = line.split(' ');
    const small = type === 'blob' && Number(size) <= LARGEST;
    texts.push(
      small ? (await git({ gitDir: repository.gitDir, args: ['cat-file', 'blob', id] })).stdout : '',
    );
  }
  return texts;
}
