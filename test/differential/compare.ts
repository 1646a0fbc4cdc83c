import type { TaskView } from '@reveille/protocol';
import type { Case } from './case.ts';
import { differenceOf } from './disk.ts';
import type { ExpectedIntegration } from './model-integration.ts';
import type { ExpectedTask } from './model.ts';
import { readTree, type PlainRepository } from './plain-git.ts';
import { statesOf, type Played, type RealCase } from './real.ts';
import { need, shell } from './shell.ts';

export interface Outcome {
  /** What occurred in both, so that a run can say what it tried. */
  readonly sights: readonly string[];
  readonly differences: readonly string[];
}

/** The person's checkout that Reveille works on. */
export interface Shop {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Compared {
  readonly case: Case;
  readonly plain: PlainRepository;
  readonly shop: Shop;
  readonly tasks: ReadonlyMap<string, ExpectedTask>;
  readonly expected: ExpectedIntegration;
}

interface TreePair {
  readonly what: string;
  readonly git: string;
  readonly reveille: string;
}

const shopCall = ({ path, env }: Shop) => ({ cwd: path, env });

/** Compares what Reveille made with what plain git did, by path, mode and object. */
export class Comparison {
  readonly #of: Compared;
  readonly #sights = new Set<string>();
  readonly #differences: string[] = [];
  readonly #pairs: TreePair[] = [];

  constructor(of: Compared) {
    this.#of = of;
    this.saw(`repository: ${of.case.repository}`);
  }

  outcome(): Outcome {
    return { sights: [...this.#sights], differences: this.#differences };
  }

  saw(sight: string): void {
    this.#sights.add(sight);
  }

  differs(what: string): void {
    this.#differences.push(what);
  }

  expect(what: string, git: unknown, reveille: unknown): boolean {
    const [a, b] = [JSON.stringify(git), JSON.stringify(reveille)];
    if (a !== b) this.differs(`${what}: git ${a}, Reveille ${b}`);
    return a === b;
  }

  /** Two trees, each in its own repository; compared by `settle`. */
  trees(what: string, git: string, reveille: string): void {
    this.#pairs.push({ what, git, reveille });
  }

  /** Compares all trees that were named: first by their objects, which is one call for all, then by path. */
  async settle(): Promise<void> {
    const { plain, shop } = this.#of;
    const pairs = this.#pairs.splice(0);
    if (pairs.length === 0) return;
    const script = (names: readonly string[]): string =>
      names.map((name) => `git rev-parse -q --verify "${name}^{tree}" || echo none`).join('\n');
    const [git, reveille] = await Promise.all([
      plain.person.need(script(pairs.map((pair) => pair.git))),
      need({ ...shopCall(shop), script: script(pairs.map((pair) => pair.reveille)) }),
    ]);
    const [ours, theirs] = [git.split('\n'), reveille.trim().split('\n')];
    for (const [i, pair] of pairs.entries()) if (ours[i] !== theirs[i]) await this.#byPath(pair);
  }

  async #byPath({ what, git, reveille }: TreePair): Promise<void> {
    const { plain, shop } = this.#of;
    const listed = await shell({ ...shopCall(shop), script: `git ls-tree -r -z --full-tree ${reveille}` });
    if (listed.code !== 0) return this.differs(`${what}: ${reveille} cannot be listed: ${listed.stderr}`);
    const [expected, made] = [await plain.person.tree(git), readTree(listed.stdout)];
    if (this.#of.case.notTaken) for (const path of expected.keys()) if (!isText(path)) expected.delete(path);
    const difference = differenceOf(expected, made);
    if (difference !== null) this.differs(`${what}: ${difference}`);
  }

  tasks(played: Played, real: RealCase): void {
    const { case: of, tasks } = this.#of;
    const views = new Map(played.view.tasks.map((view) => [view.task.name, view] as const));
    if (of.repository.startsWith('dirty'))
      this.expect('work on a dirty checkout', 'dirty_checkout', played.refusedAs);
    for (const [name, expected] of tasks) {
      const planned = of.tasks.find((task) => task.name === name);
      this.#task(name, { expected, view: views.get(name), real });
      if (planned?.again) this.saw(planned.again.kind);
      if ((planned?.dependencies.length ?? 0) > 1 && expected.leftOut.length === 0)
        this.saw('dependencies merged');
    }
  }

  #task(
    name: string,
    { expected, view, real }: { expected: ExpectedTask; view: TaskView | undefined; real: RealCase },
  ): void {
    for (const [i, ran] of expected.ran.entries()) {
      const seen = real.seen(name, i + 1);
      if (seen === null) return this.differs(`${name}, attempt ${i + 1}: it did not run`);
      if (!this.expect(`${name}, attempt ${i + 1}: its commands ended with`, ran, seen.ran)) return;
      for (const [kind, code] of ran) if (code === 0) this.saw(kind);
      const told = expected.leftOut.filter((part) => seen.text.includes(`What "${part}" made conflicts`));
      this.expect(`${name}: dependencies that do not go together`, expected.leftOut, told);
      if (told.length > 0) this.saw('dependency left to the agent');
      if (i === 0) this.trees(`${name}: what it starts from`, expected.start, seen.start);
      const pulls = seen.pulled.map(({ merged }) => (merged ? 'merged' : 'conflict'));
      this.expect(`${name}: pulls`, expected.pulls, pulls);
      for (const pull of pulls) this.saw(pull === 'merged' ? 'pull' : 'pull with a conflict');
    }
    const { case: of } = this.#of;
    // A subtask is not in the plan; its work is part of its parent's, and its own tree is compared by the pull.
    if (!view) return;
    const work = view.end?.work;
    // A report is refused as long as something of the work cannot be taken, and in the end the run fails with the reason.
    if (of.notTaken && view.task.state === 'failed' && NOT_TEXT.test(work?.problem ?? ''))
      return this.saw(NAME_NOT_TAKEN);
    if (view.task.state !== 'completed' || !work?.commit)
      return this.differs(
        `${name}: ${view.task.state}, ${work?.problem ?? view.end?.error?.message ?? view.task.why}`,
      );
    if (work.problem !== null) this.differs(`${name}: ${work.problem}`);
    this.trees(name, expected.tip, work.commit);
    this.trees(`${name}: its branch`, expected.tip, `refs/heads/${work.branch}`);
  }

  integration(played: Played): void {
    const { expected } = this.#of;
    const view = integrationOf(played);
    // It waits for the task that failed.
    if (this.#sights.has(NAME_NOT_TAKEN)) return void this.expect('integration', 'blocked', view?.task.state);
    const asked = expected.questions.map(({ part }) => part);
    this.expect(
      'questions',
      asked,
      played.questions.map(({ part }) => part),
    );
    for (const [i, { part, conflicts }] of expected.questions.entries()) {
      const text = played.questions[i]?.text ?? '';
      const missing = conflicts.filter((path) => !text.includes(shownAs(path)));
      if (missing.length > 0)
        this.differs(`the question about ${part} does not name ${JSON.stringify(missing)}: ${text}`);
    }
    const resolvers = expected.resolvers.map(([part]) => part);
    this.expect('resolvers', resolvers.toSorted(), played.resolvers.toSorted());
    for (const [, kind, counts] of expected.resolvers)
      this.saw(`resolver ${kind}${counts ? '' : ', which does not count'}`);
    if (expected.stopped) this.saw('stopped by the person');
    if (expected.leftOut.length > 0) this.saw('left out by the person');
    if (expected.stopped) return void this.expect('integration', 'failed', view?.task.state);
    const commit = view?.end?.work?.commit;
    const why = view?.end?.error?.message ?? '';
    if (this.#of.case.notTaken && view?.task.state === 'failed' && NOT_TEXT.test(why))
      return this.saw('told: a name that is no text is not merged');
    if (view?.task.state !== 'completed' || !commit)
      return this.differs(`integration: ${statesOf(played.view)}`);
    if (view.end?.work?.problem) this.differs(`integration: ${view.end.work.problem}`);
    const [, merged = ''] = /Merged: ([^.]*)\./.exec(view.end?.output ?? '') ?? [];
    this.expect('integration: what is said to be merged', expected.merged.join(', '), merged);
    this.trees('integration', expected.tip, commit);
    this.trees('integration: its branch', expected.tip, `refs/heads/${view.end?.work?.branch}`);
    if (expected.merged.length > 1) this.saw('integration');
    if (this.#of.case.verify !== null) this.saw('integration with a check');
  }

  /** The person's own git finds nothing wrong with the repository. */
  async whole(): Promise<void> {
    const { shop } = this.#of;
    const { code, stdout, stderr } = await shell({
      cwd: shop.path,
      env: shop.env,
      script: 'git fsck --no-dangling --no-progress',
    });
    if (code !== 0) this.differs(`git fsck ends with ${code}: ${stdout} ${stderr}`.slice(0, 1_000));
    await need({ cwd: shop.path, env: shop.env, script: 'git log --all --oneline' });
  }
}

export const integrationOf = ({ view }: Played): TaskView | undefined =>
  view.tasks.find(({ task }) => task.id === view.plan.integration);

const NAME_NOT_TAKEN = 'told: a name that is no text is not taken';
const NOT_TEXT = /has a name that is not UTF-8/;
const isText = (path: string): boolean => {
  const bytes = Buffer.from(path, 'latin1');
  return Buffer.from(bytes.toString('utf8')).equals(bytes);
};

/** Messages are text; a file and a folder of one name are both called by that name. */
const shownAs = (path: string): string =>
  Buffer.from(path.replace(/~[^/~]*$/, ''), 'latin1').toString('utf8');
