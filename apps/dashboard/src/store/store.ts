import { signal } from '@preact/signals';
import type {
  Board,
  Plan,
  PlanId,
  Request,
  RequestId,
  ReveilleEvent,
  SessionId,
  SessionRow,
  TaskId,
  TaskRow,
  WorkerHealth,
} from '@reveille/protocol';
import { clean, oneLine } from '../parts/clean.ts';

export interface ConflictRow {
  readonly a: TaskId;
  readonly b: TaskId;
  readonly files: readonly string[];
}

/** What is known of a mailbox without reading it: how much waits, and what moved last. */
export interface MailRow {
  readonly waiting: number;
  readonly last: string;
  readonly at: number;
}

const MOST_EVENTS = 5_000;
const AT_ONCE = 1_000;

/**
 * Everything the page knows, by id. Rows are never changed in place: whoever holds one sees when it is another. Changes
 * are told together, by `version`, not one by one: two thousand events a second are ten new pictures.
 */
export class Store {
  readonly rows = new Map<TaskId, TaskRow>();
  readonly plans = new Map<PlanId, Plan>();
  readonly sessions = new Map<SessionId, SessionRow>();
  readonly inbox = new Map<RequestId, Request>();
  readonly conflicts = new Map<string, ConflictRow>();
  readonly mail = new Map<SessionId, MailRow>();
  /** The newest ones, oldest first. */
  events: ReveilleEvent[] = [];
  /** The number of the last event that is in the rows. */
  event = 0;
  readonly version = signal(0);
  /** Tasks whose row is to be read again, and which lists. */
  readonly wanted = new Set<TaskId>();
  readonly stale = { inbox: false, plans: false };
  /** Tasks of which events have told since the last rows were asked for: what is read of these may be older. */
  readonly touched = new Set<TaskId>();
  /** On the screen now: what no event tells of these is asked for now and then. */
  readonly visible = new Set<TaskId>();

  /** A little at a time: ten thousand rows at once would be a moment in which nothing moves. */
  async load(board: Board): Promise<void> {
    for (const map of [this.rows, this.plans, this.sessions, this.inbox, this.conflicts, this.mail])
      map.clear();
    this.events = [];
    for (let from = 0; from < board.rows.length; from += AT_ONCE) {
      if (from > 0) await new Promise((resolve) => setTimeout(resolve));
      this.putRows(board.rows.slice(from, from + AT_ONCE));
    }
    this.putPlans(board.plans);
    this.putInbox(board.inbox);
    for (const session of board.sessions)
      this.sessions.set(session.id, { ...session, name: oneLine(session.name).replace(/^person:/, '') });
    this.event = board.event;
    this.version.value++;
  }

  putRows(rows: readonly TaskRow[]): void {
    for (const row of rows)
      this.rows.set(row.id, {
        ...row,
        name: oneLine(row.name),
        why: clean(row.why),
        agent: oneLine(row.agent),
        run: row.run && { ...row.run, ...(row.run.health ? { health: cleanHealth(row.run.health) } : {}) },
      });
  }

  putPlans(plans: readonly Plan[]): void {
    this.plans.clear();
    for (const plan of plans)
      this.plans.set(plan.id, { ...plan, name: oneLine(plan.name), why: clean(plan.why) });
  }

  putInbox(requests: readonly Request[]): void {
    this.inbox.clear();
    for (const request of requests) this.inbox.set(request.id, { ...request, text: clean(request.text) });
  }

  remember(events: readonly ReveilleEvent[]): void {
    this.events.push(...events);
    if (this.events.length > MOST_EVENTS * 1.2) this.events = this.events.slice(-MOST_EVENTS);
  }
}

export const store = new Store();

const cleanHealth = (health: WorkerHealth): WorkerHealth => ({
  ...health,
  text: clean(health.text),
  lastWords: clean(health.lastWords),
});
