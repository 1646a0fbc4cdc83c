import { isTerminal, type Fact, type Task } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

/** PLN8: reviews by agents go in rounds, and what each of them says is done in the change that ends it. */
export class ReviewAudit {
  readonly #auditor: Auditor;
  /** Per task: how many rounds it has had since it was last tried again. */
  readonly #rounds = new Map<string, number>();
  /** Per task: its reviewers. */
  readonly #reviewers = new Map<string, string[]>();

  constructor(auditor: Auditor) {
    this.#auditor = auditor;
  }

  look(change: Durable): void {
    for (const delta of change.deltas) {
      if (!is(delta, 'task')) continue;
      const { before, after } = delta;
      if (!before && after.reviews) this.#begins(after);
      if (before && before.state !== after.state) this.#moves(before, after);
    }
    for (const fact of change.facts) if (fact.type === 'review.ended') this.#ended(change, fact);
  }

  #check(holds: boolean, message: string): void {
    this.#auditor.check(holds, 'reviews', message);
  }

  #moves(before: Task, after: Task): void {
    if (after.state === 'review') this.#rounds.set(after.id, (this.#rounds.get(after.id) ?? 0) + 1);
    if (before.state === 'failed' || before.state === 'cancelled') this.#rounds.delete(after.id);
    if (before.state !== 'review') return;
    const open = this.#openReviewers(after.id);
    this.#check(open.length === 0, `${after.id} is not in review any more, and ${open.join(' ')} reviews it`);
  }

  #openReviewers(task: string): string[] {
    const { rows } = this.#auditor.ledger;
    return (this.#reviewers.get(task) ?? []).filter((id) => {
      const reviewer = rows.task.get(id);
      return reviewer && !isTerminal(reviewer.state) && reviewer.cancelling === null;
    });
  }

  #begins({ id, reviews }: Task): void {
    if (!reviews) return;
    const work = this.#auditor.ledger.rows.task.get(reviews.task);
    this.#check(
      work?.state === 'review' && work.reviewing?.task === id && work.lastRun === reviews.run,
      `${id} is to review ${reviews.run} of ${reviews.task}, which is ${work?.state} after ${work?.lastRun}`,
    );
    const round = this.#rounds.get(reviews.task) ?? 0;
    const most = work?.reviewing?.most ?? 0;
    this.#check(
      reviews.round === round && round <= most,
      `${id} begins round ${reviews.round} of ${most} for ${reviews.task}, which has been in review ${round} times`,
    );
    const others = this.#openReviewers(reviews.task);
    this.#check(others.length === 0, `${reviews.task} is reviewed by ${id} and by ${others.join(' ')}`);
    this.#reviewers.set(reviews.task, [...(this.#reviewers.get(reviews.task) ?? []), id]);
  }

  /** Approved, back to the worker, or to the person: what is no clear verdict approves nothing. */
  #ended(change: Durable, { task: id, data }: Fact): void {
    const { rows } = this.#auditor.ledger;
    const task = rows.task.get(id ?? '');
    const reviewer = rows.task.get(String(data?.['by']));
    if (!task || !reviewer) return;
    const verdict = this.#verdictOf(reviewer);
    const { round = 0, most = 0 } = task.reviewing ?? {};
    const said = `${reviewer.id} said "${verdict}" in round ${round} of ${most}`;
    if (verdict === 'approve')
      return this.#check(task.state === 'completed', `${said}, and ${task.id} is ${task.state}`);
    if (verdict === 'changes' && round < most)
      return this.#check(
        task.state === 'ready' && this.#isTold(change, task),
        `${said}, and ${task.id} is ${task.state} or was not told`,
      );
    const asked = change.deltas.some(
      (delta) => is(delta, 'request') && !delta.before && isForPerson(delta, task.id),
    );
    this.#check(
      task.state === 'review' && asked,
      `${said}, and the person was not asked about ${task.id}, which is ${task.state}`,
    );
  }

  #verdictOf({ state, lastRun }: Task): 'approve' | 'changes' | 'none' {
    const end = this.#auditor.ledger.rows.run.get(lastRun ?? '')?.end;
    if (state !== 'completed' || end?.status !== 'success') return 'none';
    const structured = JSON.stringify(end.structured ?? '');
    const words = end.cause === 'report' ? structured : end.cause === 'last_message' ? end.output : '';
    const [, verdict] = /verdict\W+(approve|changes)/.exec(words) ?? [];
    return verdict === 'approve' || verdict === 'changes' ? verdict : 'none';
  }

  #isTold({ deltas }: Durable, { session }: Task): boolean {
    return deltas.some(
      (delta) =>
        is(delta, 'message') &&
        !delta.before &&
        delta.after.to === session &&
        delta.after.kind === 'changes' &&
        delta.after.text !== '',
    );
  }
}

const isForPerson = ({ after }: Delta<'request'>, task: string): boolean =>
  after.kind === 'review' && after.task === task && after.with === null && after.state === 'open';
