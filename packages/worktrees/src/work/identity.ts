export interface Person {
  readonly name: string;
  readonly email: string;
}

/** Commits that we make are ours to answer for; their author is whoever did the work. */
export const COMMITTER: Person = { name: 'Reveille', email: 'reveille@localhost' };

/** Names are data: nothing in them may end the line they stand in. */
export function identity(author: Person): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: tidy(author.name) || 'agent',
    GIT_AUTHOR_EMAIL: tidy(author.email) || COMMITTER.email,
    GIT_COMMITTER_NAME: COMMITTER.name,
    GIT_COMMITTER_EMAIL: COMMITTER.email,
  };
}

const tidy = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}<>]+/gu, ' ')
    .trim()
    .slice(0, 200);

/** One line, whatever was said. */
export const oneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, 500);
