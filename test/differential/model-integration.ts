import type { PlainMerge, PlainRepository, PlainTree } from './plain-git.ts';
import { resolverAt, type Case, type ResolverKind } from './case.ts';
import type { ExpectedTask } from './model.ts';
import { RESOLUTIONS } from './resolvers.ts';

export interface ExpectedQuestion {
  readonly part: string;
  readonly conflicts: readonly string[];
}

export interface ExpectedIntegration {
  readonly tip: string;
  readonly merged: readonly string[];
  readonly leftOut: readonly string[];
  readonly stopped: boolean;
  readonly questions: readonly ExpectedQuestion[];
  readonly resolvers: readonly (readonly [part: string, kind: ResolverKind, counts: boolean])[];
}

/** A resolver is asked so often before the person is asked, again. */
const TRIES = 2;
const MARKER = String.raw`^(<{7}|>{7}) `;

/** What plain git makes of the branches of a plan, merged in the order of their dependencies. */
export class IntegrationModel {
  readonly #case: Case;
  readonly #repository: PlainRepository;
  readonly #tasks: ReadonlyMap<string, ExpectedTask>;
  readonly #questions: ExpectedQuestion[] = [];
  readonly #resolvers: (readonly [string, ResolverKind, boolean])[] = [];

  constructor(of: Case, repository: PlainRepository, tasks: ReadonlyMap<string, ExpectedTask>) {
    this.#case = of;
    this.#repository = repository;
    this.#tasks = tasks;
  }

  async run(): Promise<ExpectedIntegration> {
    const tree = await this.#repository.checkout(await this.#repository.person.head());
    const [merged, leftOut]: [string[], string[]] = [[], []];
    let stopped = false;
    for (const name of inOrder(this.#case)) {
      const tip = this.#tasks.get(name)?.tip ?? '';
      const result = await tree.merge(tip);
      const became = result.clean ? 'merged' : await this.#conflict(tree, { name, tip, result });
      if (became === 'merged') merged.push(name);
      if (became === 'left out') leftOut.push(name);
      stopped = became === 'stopped';
      if (stopped) break;
    }
    const [questions, resolvers] = [this.#questions, this.#resolvers];
    return { tip: await tree.head(), merged, leftOut, stopped, questions, resolvers };
  }

  async #conflict(tree: PlainTree, at: Conflicting): Promise<'merged' | 'left out' | 'stopped'> {
    let attempt = 0;
    let tries = this.#case.onConflict === 'resolve' ? TRIES : 0;
    for (let asked = 0; ; asked += 1) {
      for (; attempt < tries; attempt += 1) if (await this.#resolve(tree, at, attempt)) return 'merged';
      this.#questions.push({ part: at.name, conflicts: at.result.conflicts });
      const answer = this.#case.answers[asked] ?? 'leave-out';
      if (answer === 'leave-out') return 'left out';
      if (answer === 'stop') return 'stopped';
      tries += TRIES;
    }
  }

  /** True: what the resolver made counts, and the branch goes on from it. */
  async #resolve(tree: PlainTree, at: Conflicting, attempt: number): Promise<boolean> {
    const kind = resolverAt(this.#case, attempt);
    const own = await this.#repository.checkout(await tree.head());
    await own.run(RESOLUTIONS[kind], { THEIRS: at.tip });
    // In the middle of a merge there is no resolution yet.
    const isOpen = (await own.run('git ls-files -u')).stdout !== '';
    const made = isOpen ? await own.head() : await own.collect();
    const counts = await this.#counts(tree, at, made);
    this.#resolvers.push([at.name, kind, counts]);
    if (counts) await tree.need(`git merge -q --ff-only ${made}`);
    return counts;
  }

  /** Whether a resolution has both sides in its history, and everything that git merges by itself as git merged it (PLN6). */
  async #counts(tree: PlainTree, { tip, result }: Conflicting, made: string): Promise<boolean> {
    const ours = await tree.head();
    for (const side of [ours, tip])
      if ((await tree.run(`git merge-base --is-ancestor ${side} ${made}`)).code !== 0) return false;
    const [now, before, theirs] = [await tree.tree(made), await tree.tree(ours), await tree.tree(tip)];
    for (const [path, entry] of result.settled) if (now.get(path) !== entry) return false;
    const inConflict = new Set(result.conflicts);
    const deleted = [...before.keys(), ...theirs.keys()].filter(
      (path) => !result.settled.has(path) && !inConflict.has(path),
    );
    if (deleted.some((path) => now.has(path) && !isRenamed(path, inConflict))) return false;
    return !(await hasMarkers(tree, made, result.conflicts));
  }
}

interface Conflicting {
  readonly name: string;
  readonly tip: string;
  readonly result: Extract<PlainMerge, { clean: false }>;
}

/** Where a file and a folder claim one name, git shows the file as `name~side`. */
const isRenamed = (path: string, conflicts: ReadonlySet<string>): boolean =>
  [...conflicts].some((other) => other.startsWith(`${path}~`));

async function hasMarkers(tree: PlainTree, made: string, paths: readonly string[]): Promise<boolean> {
  const now = await tree.tree(made);
  for (const path of paths) {
    const [mode = '', oid] = (now.get(path) ?? '').split(' ');
    if (!mode.startsWith('100')) continue;
    const { code } = await tree.run(`git cat-file blob ${oid} | grep -a -q -E '${MARKER}'`);
    if (code === 0) return true;
  }
  return false;
}

/** Dependencies first, and otherwise as they are written. */
export function inOrder({ tasks }: Case): string[] {
  const byName = new Map(tasks.map((task) => [task.name, task] as const));
  const ordered = new Set<string>();
  const visit = (name: string): void => {
    if (ordered.has(name)) return;
    for (const needed of byName.get(name)?.dependencies ?? []) visit(needed);
    ordered.add(name);
  };
  for (const { name } of tasks) visit(name);
  return [...ordered];
}
