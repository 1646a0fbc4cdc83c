import type { Change, Outcome, Settings } from '@reveille/core';
import type { Request } from '@reveille/protocol';
import { auditAdvances } from './audit-advances.ts';
import { BudgetAudit } from './audit-budgets.ts';
import { auditMail } from './audit-mail.ts';
import { auditPlans } from './audit-plans.ts';
import { ProgressAudit } from './audit-progress.ts';
import { auditRequests } from './audit-requests.ts';
import { auditReports } from './audit-reports.ts';
import { ReviewAudit } from './audit-reviews.ts';
import { auditStops } from './audit-stops.ts';
import { SwapAudit } from './audit-swaps.ts';
import { auditTasks } from './audit-tasks.ts';
import { Fold } from './fold.ts';
import { Sights } from './sights.ts';
import { Ledger, is, type Delta, type Durable } from './ledger.ts';

/** The invariants. A failing seed names one of them. */
export const INVARIANTS = {
  ends: 'each end is handed to its parent, in full, exactly once in effect',
  durable: 'nothing is handed over, acknowledged or woken before it is on disk, and what is on disk stays',
  dependencies: 'no task runs before its dependencies have completed',
  'one agent':
    'at most one live agent of the current epoch per task; epochs grow; stale words change nothing',
  'mailbox order': 'all that waits when a turn opens comes in it, urgent first, in order',
  liveness: 'a quiet system has nothing left to do',
  hints: 'what can be done at once waits for no look that only repairs what a fault has lost',
  fold: 'the state is the fold of the events, whose numbers have no gaps',
  processes: 'no agent process lives that no open, held run owns',
  'cancelled trees': 'a cancelled tree spawns nothing more, and all of it ends',
  paused: 'what is paused opens no turn and spawns nothing; of a paused plan nothing is started',
  budgets:
    'no budget is exceeded but by what was used without asking; what is reserved is given back once; usage is recorded once',
  families:
    'a child has no more than its parent: what it uses or sets aside counts all the way up, and nobody below may do what those above may not',
  permits:
    'what needs leave is done once for each yes, and nothing else is done for it; a plan that needs approval starts with it',
  'one answer': 'a request is answered once; what comes late or second is refused and changes nothing',
  requests:
    'no request is lost: it is open until it is answered, expires, or nobody needs it any more, and the inbox shows all that wait for the person',
  wakes: 'who decides is woken for what it has to decide, shown all of it, and not woken for anything else',
  holders: 'an open request is always with somebody who can see it',
  swaps:
    'who takes a run over is the one that was asked for, knows nothing of the one before it, and is told the task; nobody else goes on',
  limits: 'depth, children and slots are never exceeded',
  transitions: 'every transition is in the table; the end of a run never changes',
  'plan status': 'the status of a plan follows from its tasks',
  mail: 'a message moves queued, delivered, read, or dies with its recipient; its key is its own',
  health: 'nobody is asked, passed on or given up before the time, on the monotonic clock',
  calls: 'every call is answered, in time, with what it asked for',
  work: 'every end says what was left; a dependent starts from it; a retry does not build on ruins',
  reviews:
    'a review by agents has no more rounds than it may, one reviewer at a time, and its verdict is what happens',
  conflicts: 'the owners of both tasks hear of a conflict between them',
  room: 'no agent is started without memory and disk for it, unless none is at work; no set of waits stops everything',
  engine: 'the engine meets no error that it does not expect',
} as const;
export type Invariant = keyof typeof INVARIANTS;

export interface AuditorHooks {
  readonly settings: Settings;
  readonly fail: (invariant: Invariant, message: string) => void;
  readonly mono: () => number;
  /** A host is at its first sweep, where the wall clock has to do for what was before it. */
  readonly starting: () => boolean;
  /** What the agents of a run said they used without having set it aside before. */
  readonly unreserved: (run: string) => { readonly tokens: number; readonly usd: number };
  /** Whoever asked does not wait for the answer any more. */
  readonly gaveUp: (request: Request) => boolean;
  readonly turnedClocks: () => boolean;
  /** Nothing has held anybody up since then. Clocks may have been turned. */
  readonly calmSince: (moment: number) => boolean;
}

/** Looks at every change that is on disk, at the moment it is, and at nothing inside the engine. */
export class Auditor {
  readonly ledger = new Ledger();
  readonly fold = new Fold();
  readonly sights = new Sights(this.ledger);
  readonly settings: Settings;
  readonly keys = new Map<string, string>();
  /** Messages in answers that did not arrive. */
  readonly lostAnswers = new Set<string>();
  /** Requests that somebody said are for the next one up. */
  readonly toldToPassOn = new Set<string>();
  /** Runs whose report, now or earlier, was to give up their children. */
  readonly givesUp = new Set<string>();
  /** Children a session did not spawn but was handed. */
  readonly handedTo = new Map<string, number>();
  /** Bumped whenever a host begins a new life: only then may the wall clock count for a request's age. */
  lives = 0;
  readonly #hooks: AuditorHooks;
  readonly swaps = new SwapAudit(this);
  readonly #budgets = new BudgetAudit(this);
  readonly #progress = new ProgressAudit(this);
  readonly #reviews = new ReviewAudit(this);
  readonly #turnSince = new Map<string, number>();
  readonly #moved = new Map<string, { at: number; lives: number }>();

  constructor(hooks: AuditorHooks) {
    this.#hooks = hooks;
    this.settings = hooks.settings;
  }

  mono(): number {
    return this.#hooks.mono();
  }

  /** Nothing has happened yet that could hold anybody up, or turn a clock. */
  calm(): boolean {
    return this.calmSince(0) && !this.turnedClocks();
  }

  turnedClocks(): boolean {
    return this.#hooks.turnedClocks();
  }

  calmSince(moment: number): boolean {
    return this.#hooks.calmSince(moment);
  }

  gaveUp(request: Request): boolean {
    return this.#hooks.gaveUp(request);
  }

  unreserved(run: string): { readonly tokens: number; readonly usd: number } {
    return this.#hooks.unreserved(run);
  }

  check(holds: boolean, invariant: Invariant, message: string): void {
    if (!holds) this.#hooks.fail(invariant, message);
  }

  durable(change: Change, outcome: Outcome, host: string): Durable {
    const durable = this.ledger.add(change, host);
    const last = outcome.committed ? outcome.lastEvent : -1;
    this.check(
      last === this.ledger.facts.length,
      'fold',
      `the last event is ${last}, ${this.ledger.facts.length} have been committed`,
    );
    for (const delta of durable.deltas) {
      if (!is(delta, 'task') || !delta.before || delta.before.owner === delta.after.owner) continue;
      this.handedTo.set(delta.after.owner, (this.handedTo.get(delta.after.owner) ?? 0) + 1);
    }
    this.#foldIn(durable);
    auditTasks(this, durable);
    auditMail(this, durable);
    this.#auditPatience(durable);
    auditRequests(this, durable);
    auditStops(this, durable);
    auditAdvances(this, durable);
    auditPlans(this, durable);
    auditReports(this, durable);
    this.#budgets.look(durable);
    this.#progress.look(durable);
    this.#reviews.look(durable);
    this.swaps.look(durable);
    this.sights.look(durable);
    return durable;
  }

  /** HLT1: nobody is given up before the time, and never for a clock that jumped. */
  #auditPatience({ facts }: Durable): void {
    for (const fact of facts) {
      if (fact.type === 'turn.opened' && fact.run) this.#turnSince.set(fact.run, this.#hooks.mono());
      const gaveUp = fact.type === 'run.ended' && fact.data?.['cause'] === 'unresponsive';
      if (!gaveUp || !fact.run) continue;
      const waited = this.#hooks.mono() - (this.#turnSince.get(fact.run) ?? 0);
      const { inquiryTimeoutMs } = this.settings.health;
      this.check(
        waited >= inquiryTimeoutMs,
        'health',
        `${fact.run} was given up after ${waited} ms, the limit is ${inquiryTimeoutMs}`,
      );
    }
  }

  requestMoved(id: string): void {
    this.#moved.set(id, { at: this.#hooks.mono(), lives: this.lives });
  }

  /** An agent that is there has its time; from one that is gone it is passed on at once. */
  requestPassedOn(before: Request, request: Request): void {
    const gone = before.with !== null && this.ledger.rows.session.get(before.with)?.state === 'ended';
    if (gone || this.toldToPassOn.has(request.id)) return this.requestMoved(request.id);
    const moved = this.#moved.get(request.id);
    const waited = this.#hooks.mono() - (moved?.at ?? 0);
    const early =
      moved?.lives === this.lives && !this.#hooks.starting() && waited < this.settings.requests.passOnAfterMs;
    this.check(
      !early,
      'health',
      `request ${request.id} was passed on after ${waited} ms, the limit is ${this.settings.requests.passOnAfterMs}`,
    );
    this.requestMoved(request.id);
  }

  #foldIn({ facts, deltas }: Durable): void {
    for (const fact of facts) {
      const wrong = this.fold.add(fact);
      this.check(wrong === null, 'fold', wrong ?? '');
    }
    for (const delta of deltas) this.compare(delta);
  }

  /** One row against what the events say of it. */
  compare(delta: Pick<Delta, 'table' | 'after'>): void {
    const { id } = delta.after;
    const said = this.#said(delta as Delta);
    const shown = shownBy(delta as Delta);
    this.check(said === shown, 'fold', `${delta.table} ${id} is ${shown}, its events say ${said}`);
  }

  #said(delta: Delta): string | undefined {
    const { id } = delta.after;
    switch (delta.table) {
      case 'plan':
        return this.fold.plans.get(id);
      case 'task': {
        const task = this.fold.tasks.get(id);
        return task && [task.state, task.on, task.cancelling, task.owner].join(' ');
      }
      case 'run': {
        const run = this.fold.runs.get(id);
        return run && [run.ended, run.epoch, run.turn, run.task, run.paused].join(' ');
      }
      case 'message':
        return this.fold.messages.get(id)?.state;
      case 'request': {
        const request = this.fold.requests.get(id);
        return request && [request.state, request.with].join(' ');
      }
      case 'session':
        return this.fold.sessions.get(id);
      case 'budget':
        return 'counted elsewhere';
      default:
        return delta.table satisfies never;
    }
  }
}

function shownBy(delta: Delta): string {
  if (is(delta, 'plan')) return delta.after.state;
  if (is(delta, 'task')) {
    const { state, waitingOn, cancelling, owner } = delta.after;
    return [state, waitingOn, cancelling !== null, owner].join(' ');
  }
  if (is(delta, 'run')) {
    const { end, epoch, turn, task, paused } = delta.after;
    return [end?.status ?? null, epoch, turn?.number ?? null, task, paused].join(' ');
  }
  if (is(delta, 'message')) return delta.after.state;
  if (is(delta, 'request')) return [delta.after.state, delta.after.with].join(' ');
  if (is(delta, 'session')) return delta.after.state;
  return 'counted elsewhere';
}
