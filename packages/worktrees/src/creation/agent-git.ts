import { constants } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TEMPORARY_PATTERN } from '../door/names.ts';
import { readSmall } from '../repository/files.ts';
import type { FoundRepository } from '../repository.ts';
import type { Claim } from './claimed.ts';
import { addAlternate, makeGitDir } from './git-dirs.ts';
import { ownGitDirOf, roomOf } from './layout.ts';
import { makeEntry } from './linked.ts';
import { branchIsFree } from './names.ts';
import { agentGitDirOf } from './record.ts';
import type { Stage } from './stage.ts';

export interface Author {
  readonly name: string;
  readonly email: string;
}

interface Made {
  readonly repository: FoundRepository;
  readonly stage: Stage;
  readonly claim: Claim;
  readonly author: Author;
  /** The branch the start was taken from, which the agent's own repository then has too: people compare with it. */
  readonly from: { readonly branch?: string | null; readonly branchCommit?: string | undefined };
}

/** Our own git directory for a checkout: what we ask, we ask there, and no agent writes to it. */
export async function makeOwnGitDir(repository: FoundRepository, claim: Claim): Promise<void> {
  const { name, branch, start } = claim;
  await makeGitDir({
    repository,
    path: ownGitDirOf(roomOf(repository, name)),
    alternates: repository.objectStores,
    branch,
    refs: { [`refs/heads/${branch}`]: start },
    config: [],
    exclude: await excludesOf(repository),
  });
}

/** What git needs in the tree for the agent's own commands. The index knows the files as they lie there. */
export async function makeAgentGit(made: Made): Promise<void> {
  const index = join(ownGitDirOf(roomOf(made.repository, made.claim.name)), 'index');
  if (made.claim.kind === 'linked') await makeEntry(made.repository, { ...made, index });
  else await makeClone(made, index);
}

async function makeClone({ repository, stage, claim, author, from }: Made, index: string): Promise<void> {
  const path = join(stage.tree, '.git');
  const refs = { [`refs/heads/${claim.branch}`]: claim.start };
  if (from.branch && from.branchCommit && branchIsFree(from.branch, [claim.branch]))
    refs[`refs/heads/${from.branch}`] = from.branchCommit;
  await makeGitDir({
    repository,
    path,
    alternates: repository.objectStores,
    branch: claim.branch,
    refs,
    config: [
      ['user.name', author.name],
      ['user.email', author.email],
    ],
    // What a killed process of ours was writing is nothing to commit.
    exclude: `${await excludesOf(repository)}${TEMPORARY_PATTERN}\n`,
  });
  await copyFile(index, join(path, 'index'), constants.COPYFILE_FICLONE);
  // From now on our git sees what the agent commits.
  const own = ownGitDirOf(roomOf(repository, claim.name));
  await addAlternate(own, join(agentGitDirOf(repository, 'clone', claim.name), 'objects'));
}

/** What the person ignores, here and everywhere, that no .gitignore says. The later of two files wins. */
async function excludesOf({ gitDir, traits }: FoundRepository): Promise<string> {
  const files = [traits.excludesFile, join(gitDir, 'info', 'exclude')];
  const texts = await Promise.all(files.map(readSmall));
  return texts.map((text) => (text === null ? '' : `${text}\n`)).join('');
}
