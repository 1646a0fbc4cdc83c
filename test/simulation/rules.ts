import { ACTION_KINDS, type Action, type PolicyLayer, type Task, type Verdict } from '@reveille/protocol';
import type { Ledger } from './ledger.ts';
import type { World } from './world.ts';

const STRICT: { readonly [V in Verdict]: number } = { auto: 0, ask: 1, deny: 2 };
const NAMES = ['agent', 'coder', 'speaker', 'orchestrator', 'chat'] as const;
/** What is said of whom, from some moment on. */
interface Words {
  readonly at: number;
  readonly of: ReadonlyMap<string, readonly PolicyLayer[]>;
}
export type Wish = Pick<Action, 'kind' | 'held'>;

/** How strict one layer is, written down a second time: 0 it may, 1 it must ask, 2 it may not. */
function strictnessBy({ preset, rules }: PolicyLayer, { kind, held }: Wish): number {
  const rule = rules.find(({ tool }) => tool === kind);
  if (rule) return STRICT[rule.verdict];
  if (preset === 'trusting' || kind === 'read' || kind === 'delegate') return 0;
  return preset === 'normal' && held && kind !== 'other' ? 0 : 1;
}

const strictest = (layers: readonly PolicyLayer[], wish: Wish): number =>
  layers.reduce((most, layer) => Math.max(most, strictnessBy(layer, wish)), 0);

/** What people, repositories and definitions say that agents may do without asking; they change their minds. */
export class Rules {
  readonly #world: World;
  readonly #said: Words[] = [];

  constructor(world: World) {
    this.#world = world;
    if (world.has('permits'))
      this.#said.push({ at: 0, of: new Map(NAMES.map((name) => [name, this.#layers()])) });
  }

  of(name: string): readonly PolicyLayer[] {
    return this.#said.at(-1)?.of.get(name) ?? [];
  }

  /** Somebody says something else of one of them. */
  change(): void {
    const { chance, timeline } = this.#world;
    const last = this.#said.at(-1);
    if (!last) return;
    const name = chance.hit(0.5) ? 'agent' : (chance.pick(NAMES) ?? 'agent');
    this.#world.say(null, `something else is said of ${name}`);
    this.#said.push({ at: timeline.now, of: new Map([...last.of, [name, this.#layers()]]) });
  }

  #layers(): PolicyLayer[] {
    const { chance } = this.#world;
    const preset = chance.pick(['trusting', 'trusting', 'normal', 'careful'] as const) ?? 'normal';
    const said = ACTION_KINDS.filter(() => chance.hit(0.2)).map((tool) => ({
      tool,
      verdict: chance.pick(['auto', 'ask', 'deny'] as const) ?? 'ask',
    }));
    return [{ from: `word ${this.#world.nextPid()}`, preset, rules: said }];
  }

  /** How strictly a task is held by what it has of its own, without those above it. */
  #ofTask(words: Words, { agent, policy = [] }: Task, wish: Wish): number {
    const stored = policy.flatMap(({ layers }) => layers);
    const now = [agent, ...policy.map((link) => link.agent)].flatMap(({ name }) => words.of.get(name) ?? []);
    return strictest([...stored, ...now], wish);
  }

  /** INB2: what it is held to, and everyone above it: whoever is below may never do more. */
  #required(words: Words, ledger: Ledger, task: Task, wish: Wish): number {
    const all = [task, ...ledger.above(task)].map((one) => this.#ofTask(words, one, wish));
    return Math.max(...all);
  }

  /** Whether a task could have been let do it without asking, by anything that was said since. */
  mayBy(task: Task, wish: Wish, since: number): boolean {
    const { ledger } = this.#world.auditor;
    return this.#since(since).some((words) => this.#required(words, ledger, task, wish) === 0);
  }

  /** Whether a session could do it without asking: only then can it allow it to another. */
  mayAllow(session: string, wish: Wish, since: number): boolean {
    const { rows } = this.#world.auditor.ledger;
    const row = rows.session.get(session);
    const task = rows.task.get(row?.task ?? '');
    if (task) return this.mayBy(task, wish, since);
    return this.#since(since).some((words) => strictest(words.of.get(row?.kind ?? '') ?? [], wish) === 0);
  }

  /** A child as it is made is held at least as strictly as its parent. */
  isWithin(child: Task, parent: Task): boolean {
    const words = this.#said.at(-1);
    if (!words) return true;
    return ACTION_KINDS.every((kind) =>
      [true, false].every(
        (held) => this.#ofTask(words, child, { kind, held }) >= this.#ofTask(words, parent, { kind, held }),
      ),
    );
  }

  #since(at: number): readonly Words[] {
    const first = this.#said.findLastIndex((words) => words.at <= at);
    return this.#said.slice(Math.max(0, first));
  }
}
