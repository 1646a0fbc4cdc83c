import { isReveilleError, type Client, type Pulled } from '@reveille/protocol';
import type { Case } from './case.ts';
import { integrationOf, type Comparison, type Shop } from './compare.ts';
import { differenceOf, filesOnDisk } from './disk.ts';
import type { ExpectedIntegration } from './model-integration.ts';
import type { ExpectedTask } from './model.ts';
import { PlainTree, readTree, type PlainRepository } from './plain-git.ts';
import type { Played } from './real.ts';

interface Trial {
  readonly case: Case;
  readonly plain: PlainRepository;
  readonly shop: Shop;
  readonly client: Client;
  readonly comparison: Comparison;
  readonly expected: ExpectedIntegration;
}

/** A refusal says what to do in git; so the person decides, and nothing is changed. */
const REFUSALS = {
  detached: /is on no branch/,
  sparse: /is a sparse checkout/,
  dirty: /has uncommitted changes/,
  filter: /go through a filter/,
} as const;
type Refusal = keyof typeof REFUSALS;

/** What is done with the work when it is finished: a worktree is discarded and restored, the branch is brought home. */
export class HomeTrial {
  readonly #of: Trial;
  readonly #real: PlainTree;

  constructor(of: Trial) {
    this.#of = of;
    this.#real = new PlainTree(of.shop.path, { ...of.shop.env });
  }

  async restored({ view }: Played, tasks: ReadonlyMap<string, ExpectedTask>): Promise<void> {
    const { case: of, client, comparison, plain } = this.#of;
    const task = view.tasks.find((one) => one.task.name === of.restored)?.task;
    const tip = tasks.get(of.restored)?.tip;
    if (task?.state !== 'completed' || tip === undefined || of.notTaken) return;
    const { ref } = await client.discardTask(task.id);
    comparison.trees('the snapshot of a discard', tip, ref);
    const { worktree } = await client.restoreTask(task.id);
    const expected = await plain.checkout(tip);
    // Where an attribute for line ends came meanwhile, git converts a file that did not change or not, by its memory of times.
    const as = { sameLineEnds: true };
    const difference = differenceOf(filesOnDisk(expected.path, as), filesOnDisk(worktree, as));
    if (difference !== null)
      comparison.differs(`${of.restored}: files after a discard and a restore: ${difference}`);
    comparison.saw('discard and restore');
  }

  async broughtHome(played: Played): Promise<void> {
    const { case: of, client, comparison, plain, expected } = this.#of;
    if (integrationOf(played)?.task.state !== 'completed' || of.notTaken) return;
    for (const act of of.person)
      if (act.do === 'shell') {
        const codes = [await plain.person.run(act.script), await this.#real.run(act.script)].map(
          ({ code }) => code,
        );
        comparison.expect(`the person: ${act.kind}`, codes[0], codes[1]);
      }
    const before = { head: await this.#real.head(), files: filesOnDisk(this.#of.shop.path) };
    const refusals = await this.#refusals();
    const brought = await client.bringHome(played.view.plan.id).catch((error: unknown) => {
      if (isReveilleError(error)) return error.message;
      throw error;
    });
    if (typeof brought === 'string' || !brought.merged) {
      await this.#untouched(before);
      if (typeof brought === 'string') this.#judgeRefusal(brought, refusals);
      else await this.#judgeConflict(brought);
      return;
    }
    if (refusals.length > 0) comparison.differs(`bring home: it was to be refused: ${refusals.join(', ')}`);
    const merged = await plain.person.merge(expected.tip);
    if (!merged.clean)
      return comparison.differs(`bring home: git does not merge ${JSON.stringify(merged.conflicts)}`);
    comparison.trees('bring home', 'HEAD', 'HEAD');
    const difference = differenceOf(filesOnDisk(plain.person.path), filesOnDisk(this.#of.shop.path));
    if (difference !== null) comparison.differs(`bring home, on disk: ${difference}`);
    comparison.expect('bring home, git status', await statusOf(plain.person), await statusOf(this.#real));
    comparison.saw('bring home');
    await comparison.whole();
  }

  async #untouched(before: {
    readonly head: string;
    readonly files: ReadonlyMap<string, string>;
  }): Promise<void> {
    const { comparison, shop } = this.#of;
    comparison.expect('bring home, refused: HEAD', before.head, await this.#real.head());
    const difference = differenceOf(before.files, filesOnDisk(shop.path));
    if (difference !== null) comparison.differs(`bring home, refused, changed files: ${difference}`);
  }

  #judgeRefusal(words: string, refusals: readonly Refusal[]): void {
    const { comparison } = this.#of;
    const refused = refusals.find((refusal) => REFUSALS[refusal].test(words));
    if (refused === undefined) comparison.differs(`bring home was refused: ${words}`);
    else comparison.saw(`bring home refused: ${refused}`);
  }

  /** Git does not merge it either, or would overwrite a file that it does not know and ignores, which nobody has asked for. */
  async #judgeConflict({ conflicts }: Extract<Pulled, { merged: false }>): Promise<void> {
    const { comparison, plain, expected } = this.#of;
    const merged = await plain.person.merge(expected.tip);
    if (!merged.clean) return comparison.saw('bring home refused: conflict');
    const before = readTree((await plain.person.run('git ls-tree -r -z --full-tree ORIG_HEAD')).stdout);
    const unknown = conflicts.every(({ path }) => !before.has(Buffer.from(path, 'utf8').toString('latin1')));
    if (unknown && conflicts.length > 0) return comparison.saw('bring home refused: ignored file in the way');
    comparison.differs(`bring home: conflicts that git does not have: ${JSON.stringify(conflicts)}`);
  }

  /** Why Reveille has to ask the person to merge with git. */
  async #refusals(): Promise<Refusal[]> {
    const { case: of, plain, expected } = this.#of;
    const { person } = plain;
    if (of.repository === 'detached') return ['detached'];
    if (of.repository === 'sparse') return ['sparse'];
    const found: Refusal[] = [];
    const status = 'git status --porcelain --untracked-files=no --ignore-submodules=all';
    const { stdout } = await person.run(status);
    if (stdout !== '') found.push('dirty');
    const tree = await plain.checkout(await person.head());
    if (!(await tree.merge(expected.tip)).clean) return found;
    const filtered = await tree.need(
      `git diff --name-only --no-renames --diff-filter=AMT -z ${await person.head()} HEAD | git check-attr -z --stdin filter | tr '\\0' '\\n'`,
    );
    if (filtered.split('\n').some((word) => word === 'lfs')) found.push('filter');
    return found;
  }
}

const statusOf = async (tree: PlainTree): Promise<string> =>
  (await tree.run('git status --porcelain -z --ignore-submodules=all')).stdout;
