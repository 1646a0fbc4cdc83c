import type { Amounts, Budget, Run } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

const NAMES = ['tokens', 'usd', 'turns', 'spawns'] as const;
type Name = (typeof NAMES)[number];
/** A tick, and what it takes to record an end. */
const SOON_MS = 3_000;
/** What is on disk was decided a moment before: a decision takes its time when it begins, and its reads may be slow. */
const ON_ITS_WAY_MS = 250;

/** LIM1: what is used and set aside stays within the limits, all the way up. */
export class BudgetAudit {
  readonly #auditor: Auditor;
  /** When a run's own use went past a limit. */
  readonly #past = new Map<string, number>();
  readonly #openedAt = new Map<string, number>();
  readonly #turnAt = new Map<string, number>();
  /** Nodes whose limits were set anew: what had been set aside before may be used all the same. */
  readonly #changed = new Set<string>();
  /** When the host that holds a run began to. */
  readonly #heldAt = new Map<string, number>();
  /** When the limits of a node were last set. */
  readonly #limitsAt = new Map<string, number>();
  readonly #turnEpoch = new Map<string, number>();
  /** Per node: when the first run under it began. */
  readonly #firstAt = new Map<string, number>();

  constructor(auditor: Auditor) {
    this.#auditor = auditor;
  }

  look(change: Durable): void {
    for (const delta of change.deltas) {
      if (is(delta, 'budget')) this.#node(change, delta);
      if (is(delta, 'run')) this.#run(delta);
      // A reviewer is made with the end of the work; what it may not do any more is its first turn.
      if (is(delta, 'task') && !delta.before && !delta.after.plan && !delta.after.reviews)
        this.#roomUnder(delta.after.budget, `task ${delta.after.id} was spawned`);
    }
  }

  #node(change: Durable, { before, after }: Delta<'budget'>): void {
    // One that comes late counts the time of the runs that had begun by then.
    if (!before && after.since !== undefined) this.#firstAt.set(after.id, 0);
    if (before?.limits !== after.limits) this.#limitsAt.set(after.id, this.#auditor.mono());
    if (before && before.limits !== after.limits) this.#changed.add(after.id);
    for (const name of NAMES) {
      this.#auditor.check(
        after.used[name] >= (before?.used[name] ?? 0),
        'budgets',
        `${name} of ${after.id} became less`,
      );
      this.#limit(change, name, before, after);
      this.#family(name, after);
    }
  }

  /** What was used without having been set aside is recorded past the limit; nothing else may go there. */
  #limit(change: Durable, name: Name, before: Budget | undefined, after: Budget): void {
    const limit = after.limits[name];
    if (limit === undefined) return;
    const now = total(after, name);
    if (now <= limit || now <= (before ? total(before, name) : 0)) return;
    const free = name === 'tokens' || name === 'usd' ? this.#unreserved(name, after) : 0;
    const cut = this.#changed.has(after.id) || this.#auditor.ledger.lateBudgets.has(after.id);
    this.#auditor.check(
      now - limit <= free || (cut && (name === 'tokens' || name === 'usd')),
      'budgets',
      `${name} of ${after.id} went to ${now}, the limit is ${limit}, and ${free} were used without asking`,
    );
    if (after.used[name] <= limit || (name !== 'tokens' && name !== 'usd')) return;
    for (const delta of change.deltas) {
      if (!is(delta, 'run') || delta.after.used[name] === (delta.before?.used[name] ?? 0)) continue;
      if (!this.#past.has(delta.after.id)) this.#past.set(delta.after.id, this.#auditor.mono());
    }
  }

  /** A child has no more than its parent: whatever it uses or sets aside, its parent has used or set aside. */
  #family(name: Name, node: Budget): void {
    const parent = node.parent === null ? undefined : this.#auditor.ledger.rows.budget.get(node.parent);
    if (!parent) return;
    const [own, above] = [total(node, name), total(parent, name)];
    this.#auditor.check(
      own <= above,
      'families',
      `${node.id} has ${own} ${name} used or set aside, its parent ${parent.id} only ${above}`,
    );
  }

  #unreserved(name: 'tokens' | 'usd', node: Budget): number {
    const { ledger } = this.#auditor;
    let sum = 0;
    for (const { id, task } of ledger.rows.run.values())
      if (ledger.isUnder(ledger.rows.task.get(task)?.budget ?? null, node.id))
        sum += this.#auditor.unreserved(id)[name];
    return sum;
  }

  #run({ before, after }: Delta<'run'>): void {
    const { ledger } = this.#auditor;
    const now = this.#auditor.mono();
    const budget = ledger.rows.task.get(after.task)?.budget ?? null;
    if (!before) {
      this.#openedAt.set(after.id, now);
      for (const { id } of ledger.budgets(budget)) if (!this.#firstAt.has(id)) this.#firstAt.set(id, now);
    }
    if (before?.epoch !== after.epoch) this.#heldAt.set(after.id, now);
    // A turn that died ends on record when the run goes on or is ended, however long that takes: nobody is at it till then.
    const ended = before?.turn && before.turn.number !== after.turn?.number;
    const died = before?.host === null || before?.epoch !== this.#turnEpoch.get(after.id);
    if (ended && !died) this.#wallTime(after, budget);
    if (after.turn && before?.turn?.number !== after.turn.number) {
      this.#turnAt.set(after.id, now);
      // Its time is counted from the start of its agent, which may wait for a store or for room.
      if (this.#turnEpoch.get(after.id) !== after.epoch) this.#heldAt.set(after.id, now);
      this.#turnEpoch.set(after.id, after.epoch);
      this.#roomUnder(budget, `turn ${after.turn.number} of ${after.id} opened`);
    }
    if (after.state !== 'ended' || before?.state === 'ended') return;
    const past = this.#past.get(after.id);
    this.#auditor.check(
      past === undefined || now - past <= SOON_MS || !this.#auditor.calmSince(past),
      'budgets',
      `${after.id} went on for ${now - (past ?? 0)} ms after it was past its budget`,
    );
  }

  /** Whoever is past a limit begins nothing more. */
  #roomUnder(budget: string | null, what: string): void {
    for (const node of this.#auditor.ledger.budgets(budget)) {
      for (const name of ['tokens', 'usd'] as const) {
        const limit = node.limits[name];
        this.#auditor.check(
          limit === undefined || node.used[name] <= limit,
          'budgets',
          `${what}, and ${node.id} has used ${node.used[name]} ${name} of ${limit}`,
        );
      }
    }
  }

  /** However the wall clock is turned: whoever holds a run for as long as all of it may last has ended it by then. */
  #isStopped(
    run: Run,
    { limit, setAt }: { readonly limit: number; readonly setAt: number },
    now: number,
  ): void {
    const turnAt = this.#turnAt.get(run.id) ?? 0;
    const heldAt = this.#heldAt.get(run.id) ?? 0;
    // The wake that tells of a new limit may be lost; the sweep tells of it too.
    const told = setAt > heldAt ? setAt + this.#auditor.settings.sweepEveryMs : heldAt;
    const due = Math.max(told + limit, turnAt);
    this.#auditor.check(
      now - due <= SOON_MS || !this.#auditor.calmSince(now - SOON_MS),
      'budgets',
      `a turn of ${run.id} went on for ${now - due} ms after its host had held it for the ${limit} ms that it may last`,
    );
  }

  /** Where no clock is turned, what other hosts and lives have used of the time counts too. */
  #isStoppedInAll(
    run: Run,
    { limited, since: last }: { readonly limited: readonly Budget[]; readonly since: number },
    now: number,
  ): void {
    const began = run.startedAt - (this.#openedAt.get(run.id) ?? 0);
    const over = limited.map(({ since = run.startedAt, limits: { wallMs = 0 } }) => since - began + wallMs);
    const held = Math.max(this.#heldAt.get(run.id) ?? 0, last);
    const due = Math.max(Math.min(...over), held);
    this.#auditor.check(
      now - due <= SOON_MS || !this.#auditor.calmSince(now - SOON_MS),
      'budgets',
      `a turn of ${run.id} went on for ${now - due} ms after all of its wall time`,
    );
  }

  /** A run whose time is up ends soon, and not before. Where clocks jump or hosts stop nobody can say when that is. */
  #wallTime(run: Run, budget: string | null): void {
    const limited = [...this.#auditor.ledger.budgets(budget)].filter(
      ({ limits }) => limits.wallMs !== undefined,
    );
    const nodes = limited.map(({ id, limits: { wallMs = 0 } }) => ({
      wallMs,
      first: this.#firstAt.get(id) ?? 0,
    }));
    if (nodes.length === 0) return;
    const limit = Math.min(...nodes.map(({ wallMs }) => wallMs));
    const now = this.#auditor.mono();
    const setAt = Math.max(...limited.map(({ id }) => this.#limitsAt.get(id) ?? 0));
    const since = Math.max(this.#turnAt.get(run.id) ?? 0, setAt);
    this.#isStopped(run, { limit, setAt }, now);
    if (!this.#auditor.turnedClocks()) this.#isStoppedInAll(run, { limited, since }, now);
    if (!this.#auditor.calm()) return;
    const due = Math.max((this.#openedAt.get(run.id) ?? 0) + limit, since);
    this.#auditor.check(
      now - due <= SOON_MS,
      'budgets',
      `a turn of ${run.id} went on for ${now - due} ms after its ${limit} ms of wall time`,
    );
    const ended = run.end?.error?.message.includes('wall time') === true;
    const early = nodes.every(({ wallMs, first }) => now - first < wallMs - ON_ITS_WAY_MS);
    this.#auditor.check(
      // A run that is being ended is not kept from it by a raise.
      !ended || !early || now - setAt <= SOON_MS,
      'budgets',
      `${run.id} was ended for its wall time of ${limit} ms, which is not over yet`,
    );
  }
}

const total = (budget: Budget, name: keyof Amounts): number =>
  budget.used[name] + Object.values(budget.reserved).reduce((sum, amounts) => sum + (amounts[name] ?? 0), 0);
