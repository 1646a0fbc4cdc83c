/** How worktrees are made. One of these per repository, frozen, handed in by whoever reads the config. */
export interface WorktreeSettings {
  /** Where worktrees live, an absolute path; null: `<root>.worktrees`, beside the repository. */
  readonly home: string | null;
  readonly branchPrefix: string;
  /** `clone` shares the repository's objects and nothing else; `linked` is a worktree as git knows it. */
  readonly kind: 'clone' | 'linked';
  /** How many worktrees are kept ready. */
  readonly pool: number;
  /** Further patterns, in the syntax of .gitignore, of ignored files that every worktree is given. */
  readonly copy: readonly string[];
  /** The text of the repository's `.worktreeinclude` as the person trusts it, patterns like those of `copy`; null: none. */
  readonly include: string | null;
  /** Ignored files are copied up to this many bytes together. */
  readonly copyLimit: number;
  /** Must pass before an agent starts; run again only when one of the lock files is another. */
  readonly setup: Setup | null;
  readonly ports: PortRange;
  readonly snapshots: SnapshotRetention;
}

/** What becomes of snapshots of tasks that are over. Those of the others stay. */
export interface SnapshotRetention {
  /** So old, they go; null: never. */
  readonly days: number | null;
  /** Of each worktree the newest so many stay, however old. */
  readonly newest: number;
}

export interface Setup {
  readonly command: string;
  /** Paths in the tree whose content decides whether the command has to run again; none: `LOCK_FILES`. */
  readonly lockFiles: readonly string[];
  /** What it leaves still works when its folder is moved (`node_modules` does, a Python venv does not): it may be run ahead, in the pool. */
  readonly movable: boolean;
}

/** Blocks of `each` ports from `first` up to and with `last`. Below 32768, from where Linux gives out ports itself. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
  readonly each: number;
}

export const WORKTREE_DEFAULTS: WorktreeSettings = {
  home: null,
  branchPrefix: 'reveille',
  kind: 'clone',
  pool: 1,
  copy: [],
  include: null,
  copyLimit: 64 * 1024 * 1024,
  setup: null,
  ports: { first: 20_000, last: 31_999, each: 10 },
  snapshots: { days: 90, newest: 0 },
};

/** The lock files of the package handlers people use. */
export const LOCK_FILES: readonly string[] = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'pnpm-lock.yaml',
  'bun.lock',
  'bun.lockb',
  'deno.lock',
  'Cargo.lock',
  'go.sum',
  'poetry.lock',
  'uv.lock',
  'Pipfile.lock',
  'requirements.txt',
  'Gemfile.lock',
  'composer.lock',
  'mix.lock',
];
