/** How the person's repository is, which every case has one of. */
export const REPOSITORIES = [
  'plain',
  'shallow',
  'sparse',
  'detached',
  'dirty, from HEAD',
  'dirty, from a snapshot',
  'linked worktree',
  'autocrlf',
  'submodule checked out',
  'sha256',
] as const;
export type RepositoryKind = (typeof REPOSITORIES)[number];

/** What a resolver does with a conflict. */
export const RESOLVERS = [
  'resolves properly',
  'does nothing',
  'commits one side',
  'keeps one side as a merge',
  'drops a file',
  'reverts',
  'leaves markers',
] as const;
export type ResolverKind = (typeof RESOLVERS)[number];

/** What a person answers when a branch does not merge. */
export type Answer = 'resolve' | 'leave-out' | 'stop';

/** Run with bash in the worktree; `kind` is what it counts as. It may fail, in both alike. */
export interface ShellAct {
  readonly do: 'shell';
  readonly kind: string;
  readonly script: string;
}

/** One thing an agent does in its worktree, the same in Reveille and in plain git. */
export type Act =
  | ShellAct
  | { readonly do: 'spawn'; readonly child: string }
  | { readonly do: 'pull'; readonly child: string };

/** How a task that failed once is tried again. */
export const RETRIES = ['retry from last', 'retry from last after discard', 'retry from a snapshot'] as const;
export type RetryKind = (typeof RETRIES)[number];

export interface CaseTask {
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly acts: readonly Act[];
  /** What it does in its second attempt, after the first reported failure; null: the first succeeds. */
  readonly again: { readonly kind: RetryKind; readonly acts: readonly Act[] } | null;
}

export interface Case {
  readonly seed: number;
  readonly repository: RepositoryKind;
  readonly tasks: readonly CaseTask[];
  /** What subtasks do, by their names. */
  readonly children: Readonly<Record<string, readonly Act[]>>;
  readonly onConflict: 'ask' | 'resolve';
  /** By the number of the attempt at a conflict, from the front again after the last. */
  readonly resolvers: readonly ResolverKind[];
  /** By the number of the question about a branch; after the last it is left out. */
  readonly answers: readonly Answer[];
  readonly verify: string | null;
  /** What the person does in their checkout before the branch is brought home. */
  readonly person: readonly Act[];
  /** The task whose worktree is discarded and restored. */
  readonly restored: string;
  /** Its first task makes files that Reveille does not take. */
  readonly notTaken: boolean;
}

export const resolverAt = ({ resolvers }: Case, attempt: number): ResolverKind =>
  resolvers[attempt % resolvers.length] ?? 'does nothing';

/** The files of a case, in a folder of its own. */
export const filesOf = (folder: string) => ({
  case: `${folder}/case.json`,
  /** What the real agents saw. */
  seen: `${folder}/seen`,
  /** The person's, which Reveille works on. */
  real: `${folder}/real`,
  /** The same once more, for plain git. */
  plain: `${folder}/plain`,
});
export const shopIn = (folder: string): string => `${folder}/shop`;
export const libraryIn = (folder: string): string => `${folder}/library`;

/** What an agent does in one go: commands after each other, or one thing that is none. */
export function stepsOf(acts: readonly Act[]): (readonly ShellAct[] | Exclude<Act, ShellAct>)[] {
  const steps: (ShellAct[] | Exclude<Act, ShellAct>)[] = [];
  for (const act of acts) {
    const last = steps.at(-1);
    if (act.do !== 'shell') steps.push(act);
    else if (Array.isArray(last)) last.push(act);
    else steps.push([act]);
  }
  return steps;
}
