/** A person's repository, as found once. */
export interface Repository {
  /** The top of the person's own checkout. */
  readonly root: string;
  /** Its common git directory, resolved. */
  readonly gitDir: string;
  /** Where worktrees are made: `<root>.worktrees` unless a setting says otherwise. */
  readonly home: string;
  /** Its own object folder and those it borrows from, checked. Agents can read all of them. */
  readonly objectStores: readonly string[];
}

/**
 * One task's checkout.
 *
 *   <home>/<name>/               the tree an agent works in; with kind `clone` its `.git` is the agent's own repository
 *   <home>/.reveille/<name>/     ours, out of every agent's reach: a git directory of our own, our index, our records
 *
 * Everything under the first may have been written by an agent and is data. Our git only ever runs with our own git
 * directory (or the person's), never with the agent's.
 */
export interface Checkout {
  readonly repository: Repository;
  readonly name: string;
  readonly kind: 'clone' | 'linked';
  /** The tree. */
  readonly path: string;
  /** The git directory the agent's commands use. */
  readonly agentGitDir: string;
  /** Our own folder for this checkout, `<home>/.reveille/<name>`. */
  readonly room: string;
  /** Our own git directory: our config, and alternates to the person's and the agent's objects. */
  readonly ownGitDir: string;
  /** The branch, in the person's repository and in the agent's: `reveille/<plan>/<task>`. */
  readonly branch: string;
  /**
   * Reveille alone moves the branch, as for an integration. Whatever the repository in the tree says is not imported: a
   * check that runs there may commit.
   */
  readonly branchIsOurs?: boolean;
  /** The commit it started from, which a ref of the person's repository keeps alive. */
  readonly start: string;
}
