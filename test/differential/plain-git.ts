import { join } from 'node:path';
import { need, shell, shellEach, type ShellAnswer } from './shell.ts';

/** What became of a merge by plain git; conflicts by path, with one character for each byte. */
export type PlainMerge =
  | { readonly clean: true }
  | {
      readonly clean: false;
      readonly conflicts: readonly string[];
      /** What git merged by itself all the same: `<mode> <oid>` by path. */
      readonly settled: ReadonlyMap<string, string>;
    };

/** Files that are tracked although the index of the worktree does not name them, because a pull or a restore laid them. */
export interface Laid {
  readonly paths: Set<string>;
  /** Links to other repositories, which are no files. */
  readonly links: Map<string, LaidLink>;
}

export interface LaidLink {
  /** `160000 <oid>`, or an empty string where one went. */
  readonly entry: string;
  /** What the agent's index had then. If it has something else by now, the agent has decided otherwise. */
  readonly instead: string | undefined;
}

/** A worktree in which the real git does what Reveille is to do. */
export class PlainTree {
  readonly path: string;
  readonly laid: Laid = { paths: new Set(), links: new Map() };
  readonly #env: Record<string, string>;

  constructor(path: string, env: Record<string, string>) {
    this.path = path;
    this.#env = env;
  }

  async run(script: string, more: Readonly<Record<string, string>> = {}): Promise<ShellAnswer> {
    return await shell({ cwd: this.path, script, env: { ...this.#env, ...more } });
  }

  async runEach(scripts: readonly string[]): Promise<number[]> {
    return await shellEach({ cwd: this.path, env: this.#env }, scripts);
  }

  async need(script: string, input = '', more: Readonly<Record<string, string>> = {}): Promise<string> {
    return (await need({ cwd: this.path, script, input, env: { ...this.#env, ...more } })).trim();
  }

  async head(): Promise<string> {
    return await this.need('git rev-parse HEAD');
  }

  /** `<mode> <oid>` by path. */
  async tree(of: string): Promise<Map<string, string>> {
    return readTree((await this.run(`git ls-tree -r -z --full-tree ${of}`)).stdout);
  }

  /** All files as a tree, as `git add --all` takes them. The index of the agent stays as it is. */
  async capture(): Promise<string> {
    const { paths, links } = this.laid;
    const input = [...paths].map((path) => `${path}\0`).join('');
    const none = links.size === 0 ? '' : '0'.repeat((await this.head()).length);
    const index = links.size === 0 ? new Map<string, string>() : await this.#index();
    const linked = [...links]
      .filter(([path, { instead }]) => index.get(path) === instead)
      .map(([path, { entry }]) => (entry === '' ? `0 ${none}\t${path}\0` : `${entry}\t${path}\0`));
    return await this.need(CAPTURE, input, {
      LINKS: Buffer.from(linked.join(''), 'latin1').toString('base64'),
    });
  }

  /** The branch as it is when everything that was left uncommitted is committed. */
  async collect(): Promise<string> {
    const tree = await this.capture();
    return await this.need(
      `if [ "$(git rev-parse HEAD^{tree})" = ${tree} ]; then git rev-parse HEAD; else git commit-tree ${tree} -p HEAD -m left; fi`,
    );
  }

  /** `<mode> <oid>` by path, as the agent has it staged. */
  async #index(): Promise<Map<string, string>> {
    const { stdout } = await this.run('git ls-files -s -z');
    const entries = stdout.split('\0').filter((entry) => entry !== '');
    return new Map(
      entries.map((entry) => {
        const [mode = '', oid = ''] = entry.split(' ');
        return [entry.slice(entry.indexOf('\t') + 1), `${mode} ${oid}`];
      }),
    );
  }

  async merge(commit: string): Promise<PlainMerge> {
    const { code } = await this.run(`git merge -q --no-edit ${commit}`);
    if (code === 0) return { clean: true };
    const { stdout } = await this.run('git ls-files -s -z');
    const entries = stdout.split('\0').filter((entry) => entry !== '');
    const conflicts = new Set<string>();
    const settled = new Map<string, string>();
    for (const entry of entries) {
      const tab = entry.indexOf('\t');
      const [info, path] = [entry.slice(0, tab), entry.slice(tab + 1)];
      const [mode = '', oid = '', stage] = info.split(' ');
      if (stage === '0') settled.set(path, `${mode} ${oid}`);
      else conflicts.add(path);
    }
    await this.need('git reset -q --hard; git clean -ffdxq');
    return { clean: false, conflicts: [...conflicts], settled };
  }

  /**
   * Puts the files of a tree over those of another, which lie there now, as uncommitted changes. False: something that git
   * does not know is in the way, and nothing was changed.
   */
  async lay(from: string, to: string): Promise<boolean> {
    const { code } = await this.run(
      `export GIT_INDEX_FILE=$(mktemp -u)
       git read-tree ${from}; git update-index -q --refresh >/dev/null || true
       git read-tree -m -u ${from} ${to}; rm -f "$GIT_INDEX_FILE"`,
    );
    if (code !== 0) return false;
    const index = await this.#index();
    const { stdout } = await this.run(`git diff-tree -r -z --raw --no-abbrev --no-renames ${from} ${to}`);
    const parts = stdout.split('\0');
    for (let i = 0; i + 1 < parts.length; i += 2) {
      const [oldMode = '', mode = '', , oid = '', status] = (parts[i] ?? '').slice(1).split(' ');
      const path = parts[i + 1] ?? '';
      if (mode === '160000') this.laid.links.set(path, { entry: `160000 ${oid}`, instead: index.get(path) });
      else if (oldMode === '160000') this.laid.links.set(path, { entry: '', instead: index.get(path) });
      if (mode !== '160000' && status !== 'D') this.laid.paths.add(path);
    }
    return true;
  }
}

/**
 * A repository within is taken as its files: nobody else has the commit that a link to it would name. So is a file in it that
 * git ignores there, which is why its own git directory is put aside.
 */
const CAPTURE = String.raw`
index=$(mktemp); laid=$(mktemp); there=$(mktemp); aside=$(mktemp -d)
cp -p "$(git rev-parse --git-path index)" "$index"
cat > "$laid"
export GIT_INDEX_FILE=$index
printf '%s' "$LINKS" | base64 -d | git update-index -z --add --replace --index-info
n=0
while IFS= read -r -d '' nested; do
  n=$((n + 1)); mv "$nested" "$aside/$n"; printf '%s\0' "$nested" > "$aside/$n.path"
done < <(find . -mindepth 2 -name .git -not -path './vendor/*' -not -path './third/*' -print0)
git add --all
while IFS= read -r -d '' path; do
  [ ! -L "$path" ] && [ ! -f "$path" ] || printf '%s\0' "$path" >> "$there"
done < "$laid"
[ ! -s "$there" ] || git --literal-pathspecs add -f --pathspec-from-file="$there" --pathspec-file-nul
for moved in "$aside"/*.path; do
  [ -e "$moved" ] || continue
  IFS= read -r -d '' nested < "$moved"; mv "${'$'}{moved%.path}" "$nested"
done
git write-tree
rm -rf "$index" "$laid" "$there" "$aside"
`;

export function readTree(listed: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const line of listed.split('\0')) {
    if (line === '') continue;
    const [mode = '', , oid = ''] = line.slice(0, line.indexOf('\t')).split(' ');
    entries.set(line.slice(line.indexOf('\t') + 1), `${mode} ${oid}`);
  }
  return entries;
}

/** Worktrees of the person's second repository, in which nothing of Reveille ever was. */
export class PlainRepository {
  readonly #folder: string;
  readonly #env: Record<string, string>;
  readonly person: PlainTree;
  #count = 0;

  constructor(folder: string, env: Record<string, string>) {
    this.#folder = folder;
    this.#env = env;
    this.person = new PlainTree(join(folder, 'shop'), env);
  }

  /** A whole checkout, also where the person's is sparse. */
  async checkout(commit: string): Promise<PlainTree> {
    this.#count += 1;
    const path = join(this.#folder, `tree-${this.#count}`);
    await this.person.need(`git worktree add -q --detach "${path}" ${commit}`);
    const tree = new PlainTree(path, this.#env);
    if ((await this.person.run('git config --get core.sparseCheckout')).stdout.trim() === 'true')
      await tree.need('git sparse-checkout disable');
    return tree;
  }
}
