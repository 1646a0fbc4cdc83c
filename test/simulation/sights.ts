import type { Request, Task } from '@reveille/protocol';
import { is, type Durable, type Ledger } from './ledger.ts';

/** What must have happened somewhere in ten thousand worlds, or an invariant about it held because nothing did. */
export const SIGHTS = [
  'question answered by worker',
  'question answered by chat',
  'question answered by orchestrator',
  'question answered by person',
  'approval answered by worker',
  'approval answered by chat',
  'approval answered by orchestrator',
  'approval answered by person',
  'leave answered',
  'leave given up',
  'leave expired',
  'request passed on',
  'request expired',
  'holder ended',
  'budget raised',
  'budget given late',
  'ended by tokens',
  'ended by money',
  'ended by turns',
  'ended by wall time',
  'paused in a turn',
  'resumed',
  'plan paused',
  'cancelled in a turn',
  'waited for memory',
  'waited for cpu',
  'waited for disk',
  'waited to go on',
  'parked',
  'resumed after parking',
  'swapped in a turn',
  'swapped at rest',
  'swapped before it began',
  'taken over',
  'leave used',
  'goal given',
  'plan approved',
  'plan refused',
  'failure decided by orchestrator',
  'failure decided by person',
  'bound request answered by worker',
  'bound request answered by person',
  'answer with mail lost',
  'mail given while another call was under way',
  'call given up as it took mail',
  'told of a loop',
  'told of errors',
  'told of a silence',
  'told of progress',
  'goes on with a raised budget',
  'approved by an agent',
  'sent back by an agent',
  'reviewed without a verdict',
] as const;
export type Sight = (typeof SIGHTS)[number];

const TOLD: Readonly<Record<string, Sight>> = {
  'health.looping': 'told of a loop',
  'health.errors': 'told of errors',
  'health.stuck': 'told of a silence',
  'health.progress': 'told of progress',
};

const VERDICTS: Readonly<Record<string, Sight>> = {
  approve: 'approved by an agent',
  changes: 'sent back by an agent',
};

/** Counts what there was to see. */
export class Sights {
  readonly seen = new Map<Sight, number>();
  readonly #ledger: Ledger;
  readonly #parked = new Set<string>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  look({ deltas, facts }: Durable): void {
    for (const { type, run } of facts) {
      const told = TOLD[type];
      if (told) this.saw(told);
      if (type === 'run.parked' && run) this.#parked.add(run);
      if (type === 'run.parked') this.saw('parked');
      if (type === 'turn.opened' && run && this.#parked.delete(run)) this.saw('resumed after parking');
    }
    for (const { type, data } of facts)
      if (type === 'review.ended')
        this.saw(VERDICTS[String(data?.['verdict'])] ?? 'reviewed without a verdict');
    for (const fact of facts) if (fact.type === 'task.swapped') this.#swapped(fact.task ?? '');
    for (const delta of deltas) {
      if (is(delta, 'request') && delta.before) this.#request(delta.before, delta.after);
      if (is(delta, 'budget') && delta.before && delta.before.limits !== delta.after.limits)
        this.saw('budget raised');
      if (is(delta, 'session') && !delta.before && delta.after.kind === 'orchestrator' && delta.after.task)
        this.saw('goal given');
      if (is(delta, 'task') && delta.before && delta.before.budget !== delta.after.budget)
        this.saw('budget given late');
      if (is(delta, 'task') && !delta.before?.cancelling && delta.after.cancelling)
        this.saw('cancelled in a turn');
      if (is(delta, 'task') && delta.before?.waitingOn !== delta.after.waitingOn) this.#waits(delta.after);
      if (is(delta, 'message') && !delta.before && delta.after.key.startsWith('budget:'))
        this.saw('goes on with a raised budget');
      if (is(delta, 'plan') && delta.before?.state === 'active' && delta.after.state === 'paused')
        this.saw('plan paused');
      if (!is(delta, 'run')) continue;
      const { before, after } = delta;
      if (before && !before.paused && after.paused && after.turn) this.saw('paused in a turn');
      if (before?.paused && !after.paused) this.saw('resumed');
      if (after.takenOver && !before?.takenOver) this.saw('taken over');
      if (after.end && !before?.end) this.#ended(after.end.error?.message ?? '');
    }
  }

  #waits({ waitingOn, run }: Task): void {
    if (waitingOn !== 'memory' && waitingOn !== 'cpu' && waitingOn !== 'disk') return;
    this.saw(run === null ? `waited for ${waitingOn}` : 'waited to go on');
  }

  saw(what: Sight): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  #decided({ kind, answer }: Request): void {
    const by = this.#ledger.rows.session.get(answer?.by ?? '');
    if (kind === 'plan') this.saw(answer?.text.startsWith('Approved') ? 'plan approved' : 'plan refused');
    if (kind === 'failure') this.saw(`failure decided by ${by?.task ? 'orchestrator' : 'person'}`);
  }

  #swapped(id: string): void {
    const { run: runs, task: tasks } = this.#ledger.rows;
    const run = runs.get(tasks.get(id)?.run ?? '');
    if (!run) this.saw('swapped before it began');
    else this.saw(run.turn ? 'swapped in a turn' : 'swapped at rest');
  }

  #ended(why: string): void {
    const named = { tokens: 'tokens', usd: 'money', money: 'money', turns: 'turns' } as const;
    const [, what] = /^(tokens|usd|money|turns) of /.exec(why) ?? [];
    if (what) this.saw(`ended by ${named[what as keyof typeof named]}`);
    if (why.includes('wall time')) this.saw('ended by wall time');
  }

  #request(before: Request, after: Request): void {
    if (before.with !== after.with) {
      const gone = this.#ledger.rows.session.get(before.with ?? '')?.state === 'ended';
      this.saw(gone ? 'holder ended' : 'request passed on');
    }
    if (before.state !== 'open' || after.state === 'open') return;
    const leave = after.key?.startsWith('wish') === true;
    if (after.state === 'expired') this.saw(leave ? 'leave expired' : 'request expired');
    if (after.state === 'answered' && leave) this.saw('leave answered');
    const open = this.#ledger.rows.run.get(after.run ?? '')?.state === 'open';
    if (after.state === 'closed' && leave && open) this.saw('leave given up');
    if (after.state === 'answered') this.#decided(after);
    if (after.state !== 'answered' || (after.kind !== 'question' && after.kind !== 'approval')) return;
    const by = this.#ledger.rows.session.get(after.answer?.by ?? '')?.kind ?? 'person';
    if (after.action && (by === 'worker' || by === 'person')) this.saw(`bound request answered by ${by}`);
    if (by !== 'terminal') this.saw(`${after.kind} answered by ${by}`);
  }
}
