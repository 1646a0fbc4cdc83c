import { PlainRepository, type PlainTree } from './plain-git.ts';
import { stepsOf, type Act, type Case, type CaseTask, type ShellAct } from './case.ts';

export interface ExpectedTask {
  readonly tip: string;
  readonly start: string;
  /** Dependencies that do not go together with those before them, and the paths at which they do not. */
  readonly leftOut: readonly string[];
  /** By attempt, the commands and what they ended with. */
  readonly ran: readonly (readonly (readonly [kind: string, code: number])[])[];
  readonly pulls: readonly ('merged' | 'conflict')[];
}

/** What plain git makes of the tasks of a case, done one after another. */
export class TaskModel {
  readonly repository: PlainRepository;
  readonly tasks = new Map<string, ExpectedTask>();
  readonly #case: Case;

  constructor(of: Case, repository: PlainRepository) {
    this.#case = of;
    this.repository = repository;
  }

  async run(): Promise<void> {
    const base = await this.#base();
    for (const task of this.#case.tasks) this.tasks.set(task.name, await this.#task(task, base));
  }

  /** Where tasks begin that depend on none: the person's HEAD, or a commit of all they have not committed. */
  async #base(): Promise<string> {
    const { person } = this.repository;
    return this.#case.repository === 'dirty, from a snapshot' ? await person.collect() : await person.head();
  }

  async #task(task: CaseTask, base: string): Promise<ExpectedTask> {
    const { start, leftOut } = await this.#startOf(task, base);
    const tree = await this.repository.checkout(start);
    const run = new Acting(this.repository, this.#case, tree);
    await run.all(task.acts);
    this.#adopt(run);
    if (!task.again) return { ...run.seen(), tip: await tree.collect(), start, leftOut };
    const again = new Acting(this.repository, this.#case, await this.#secondTree(task, tree, start));
    await again.all(task.again.acts);
    const tip = await again.tree.collect();
    this.#adopt(again);
    return { pulls: [], ran: [...run.seen().ran, ...again.seen().ran], tip, start, leftOut };
  }

  #adopt(run: Acting): void {
    for (const [name, task] of run.children) this.tasks.set(name, task);
  }

  /** The merge of what it depends on; what does not go together with the rest is left to the agent. */
  async #startOf(
    { dependencies }: CaseTask,
    base: string,
  ): Promise<{ start: string; leftOut: readonly string[] }> {
    const [first, ...others] = dependencies.map((name) => ({ name, tip: this.tasks.get(name)?.tip ?? '' }));
    if (!first) return { start: base, leftOut: [] };
    const leftOut: string[] = [];
    const tree = await this.repository.checkout(first.tip);
    for (const { name, tip } of others) if (!(await tree.merge(tip)).clean) leftOut.push(name);
    return { start: await tree.head(), leftOut };
  }

  /** The same worktree as it was left, or a new one in which the files of the first lie uncommitted. */
  async #secondTree(task: CaseTask, first: PlainTree, start: string): Promise<PlainTree> {
    if (task.again?.kind === 'retry from last') return first;
    const second = await this.repository.checkout(start);
    await second.lay(`${start}^{tree}`, await first.capture());
    return second;
  }
}

/** An agent in one worktree. */
class Acting {
  readonly tree: PlainTree;
  readonly children = new Map<string, ExpectedTask>();
  readonly #repository: PlainRepository;
  readonly #case: Case;
  readonly #ran: (readonly [string, number])[] = [];
  readonly #pulls: ('merged' | 'conflict')[] = [];

  constructor(repository: PlainRepository, of: Case, tree: PlainTree) {
    this.#repository = repository;
    this.#case = of;
    this.tree = tree;
  }

  seen() {
    return { ran: [this.#ran], pulls: this.#pulls };
  }

  async all(acts: readonly Act[]): Promise<void> {
    for (const step of stepsOf(acts)) {
      if (!('do' in step)) {
        const codes = await this.tree.runEach(step.map(({ script }) => script));
        this.#ran.push(...step.map(({ kind }, i) => [kind, codes[i] ?? -1] as const));
      } else await this.#do(step);
    }
  }

  async #do(act: Exclude<Act, ShellAct>): Promise<void> {
    switch (act.do) {
      case 'spawn':
        this.children.set(act.child, await this.#child(act.child));
        return;
      case 'pull':
        this.#pulls.push((await this.#pull(act.child)) ? 'merged' : 'conflict');
        return;
      default:
        return act satisfies never;
    }
  }

  /** It starts from the state of its parent, uncommitted changes included. */
  async #child(name: string): Promise<ExpectedTask> {
    const start = await this.tree.collect();
    const tree = await this.#repository.checkout(start);
    const run = new Acting(this.#repository, this.#case, tree);
    await run.all(this.#case.children[name] ?? []);
    return { ...run.seen(), tip: await tree.collect(), start, leftOut: [] };
  }

  /** What the child changed since it began is merged with what the parent has now, committed or not. */
  async #pull(name: string): Promise<boolean> {
    const child = this.children.get(name);
    if (!child) throw new Error(`There is no child ${name}.`);
    const now = await this.tree.capture();
    const [base, ours, theirs] = (
      await this.tree.need(
        `base=$(git commit-tree ${child.start}^{tree} -m base); echo $base
         git commit-tree ${now} -p $base -m ours; git commit-tree ${child.tip}^{tree} -p $base -m theirs`,
      )
    ).split('\n');
    const bench = await this.#repository.checkout(ours ?? '');
    if (base === undefined || !(await bench.merge(theirs ?? '')).clean) return false;
    const merged = await bench.need('git rev-parse HEAD^{tree}');
    return await this.tree.lay(now, merged);
  }
}
