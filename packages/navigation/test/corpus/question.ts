import type { Files } from '../rig.ts';

/** A question about a made repository, and its right answer as `path:line`. */
export type Question = (
  | { readonly ask: 'define'; readonly symbol: string; readonly from?: string }
  | { readonly ask: 'usages'; readonly symbol: string; readonly file: string }
  | { readonly ask: 'exports'; readonly module: string }
  | { readonly ask: 'imports'; readonly module: string }
  | { readonly ask: 'importers'; readonly module: string }
) & {
  /** Places, or names of exports, or files that are imported. */
  readonly is: readonly string[];
  /** Text only: no server can be had, so the answer must say that it is not complete. */
  readonly open?: true;
  /** A server answers, and not all can be known: the answer must say so. */
  readonly partly?: true;
  /** A reason under which text hits must be listed. */
  readonly uncovered?: string;
};

export interface Repository {
  readonly name: string;
  /** The programs that must be on the path. Without: those that come with us, or none. */
  readonly server?: readonly string[];
  readonly files: Files;
  /** What is written afterwards, and what is asked then. */
  readonly edit?: { readonly files: Files; readonly question: Question };
  readonly questions: readonly Question[];
}

/** Lines without the indentation of the test's source. */
export function lines(...all: string[]): string {
  return `${all.join('\n')}\n`;
}
