import { Chance } from '../simulation/chance.ts';
import {
  REPOSITORIES,
  RESOLVERS,
  RETRIES,
  type Act,
  type Answer,
  type Case,
  type CaseTask,
  type RepositoryKind,
} from './case.ts';
import { COMMITS, NOT_TAKEN, SUBJECTS, type CommitKind, type Subject } from './edits.ts';

/** How often a subject is chosen: more where tasks meet in ways that were once wrong. */
const WEIGHTS: Readonly<Record<Subject, number>> = {
  ignore: 5,
  forced: 5,
  submodule: 4,
  attributes: 4,
  pointers: 2,
  modes: 2,
  links: 2,
  shapes: 3,
  renames: 4,
  lines: 3,
  binaries: 2,
  names: 2,
  'line ends': 2,
};

const COMMIT_WEIGHTS: Readonly<Record<CommitKind, number>> = {
  'leaves everything uncommitted': 6,
  'commits everything': 5,
  'commits what git knows': 2,
  amends: 1,
  'rewinds its own commit': 1,
  'rewinds and keeps the files': 1,
  'works on a branch of its own': 1,
  'stages half': 1,
};

/** The same case for the same seed. */
export function caseOf(seed: number): Case {
  return new Generator(seed).make();
}

class Generator {
  readonly #chance: Chance;
  readonly #seed: number;
  readonly #children: Record<string, readonly Act[]> = {};
  #numbers = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#chance = new Chance(seed);
  }

  make(): Case {
    const chance = this.#chance;
    const repository = this.#repository();
    const notTaken = chance.hit(0.02);
    const tasks = notTaken ? this.#tasksNotTaken() : this.#tasks();
    const onConflict = chance.hit(0.5) ? 'resolve' : 'ask';
    const proper = chance.hit(0.4);
    const others = [chance.pick(RESOLVERS), chance.pick(RESOLVERS)].filter((kind) => kind !== undefined);
    const resolvers = proper ? (['resolves properly'] as const) : others;
    const answers = Array.from({ length: 2 }, () =>
      chance.weighted<Answer>({ 'leave-out': 5, resolve: 4, stop: 1 }),
    );
    const verify = chance.hit(0.15)
      ? 'mkdir -p build && echo built > build/out && echo built > built.txt'
      : null;
    const person = chance.hit(0.35) ? this.#personActs() : [];
    const restored = chance.pick(tasks)?.name ?? '';
    const children = this.#children;
    const seed = this.#seed;
    const play = { onConflict, resolvers, answers, verify, person, restored, notTaken } as const;
    return { seed, repository, tasks, children, ...play };
  }

  #repository(): RepositoryKind {
    const [plain, shallow, ...others] = REPOSITORIES;
    if (this.#chance.hit(0.4)) return plain;
    if (this.#chance.hit(0.25)) return shallow;
    return this.#chance.pick(others) ?? plain;
  }

  #tasks(): CaseTask[] {
    const chance = this.#chance;
    const names = Array.from({ length: chance.skewed(2, 6) }, (_, i) => `t${i}`);
    const subjects = [this.#subject(), this.#subject()];
    return names.map((name, i) => {
      const dependencies = names.slice(0, i).filter(() => chance.hit(0.35));
      const acts = this.#acts(subjects);
      if (chance.hit(0.2))
        return { name, dependencies, acts: this.#withChild(name, acts, subjects), again: null };
      const kind = chance.hit(0.2) ? chance.pick(RETRIES) : undefined;
      return { name, dependencies, acts, again: kind ? { kind, acts: this.#acts(subjects) } : null };
    });
  }

  /** Two that do not meet, so that what is said about the one is all there is to say. */
  #tasksNotTaken(): CaseTask[] {
    const committed = this.#chance.hit(0.5)
      ? [this.#act('commits everything', COMMITS['commits everything'])]
      : [];
    const names = this.#act(NOT_TAKEN.kind, NOT_TAKEN.script);
    const alone = { dependencies: [], again: null };
    return [
      { name: 't0', acts: [names, ...committed], ...alone },
      { name: 't1', acts: this.#acts([this.#subject()]), ...alone },
    ];
  }

  #subject(): Subject {
    return this.#chance.weighted(WEIGHTS);
  }

  /** One or two edits of the subjects of the case, now and then one of any other, and a way to commit them. */
  #acts(subjects: readonly Subject[]): Act[] {
    const chance = this.#chance;
    const edits = Array.from({ length: chance.int(1, 3) }, () =>
      this.#edit(chance.hit(0.15) ? this.#subject() : (chance.pick(subjects) ?? 'lines')),
    );
    const kind = chance.weighted(COMMIT_WEIGHTS);
    const commit = this.#act(kind, COMMITS[kind]);
    const at = chance.hit(0.3) ? chance.int(1, edits.length) : edits.length;
    return [...edits.slice(0, at), commit, ...edits.slice(at)];
  }

  #edit(subject: Subject): Act {
    const edits = Object.entries(SUBJECTS[subject]);
    const [kind, script] = this.#chance.pick(edits) ?? ['only touches', 'touch f1.txt'];
    return this.#act(kind, script);
  }

  #act(kind: string, script: string): Act {
    this.#numbers += 1;
    return { do: 'shell', kind, script: script.replaceAll('@', String(this.#numbers)) };
  }

  /** Part of the work is done before a subtask is spawned, part while it works, and part after the pull. */
  #withChild(name: string, acts: readonly Act[], subjects: readonly Subject[]): Act[] {
    const child = `${name}-child`;
    this.#children[child] = this.#acts(subjects);
    const meanwhile = this.#chance.hit(0.5) ? [this.#edit(this.#chance.pick(subjects) ?? 'lines')] : [];
    const after = this.#chance.hit(0.4) ? this.#acts(subjects) : [];
    return [...acts, { do: 'spawn', child }, ...meanwhile, { do: 'pull', child }, ...after];
  }

  #personActs(): Act[] {
    const way = this.#chance.hit(0.7)
      ? this.#act('person commits', 'git add -A; git commit -qm person')
      : this.#act('person leaves it uncommitted', '');
    return [this.#edit(this.#subject()), way];
  }
}
