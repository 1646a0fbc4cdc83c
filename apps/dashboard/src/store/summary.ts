import {
  isTerminal,
  type Plan,
  type PlanId,
  type Request,
  type SessionId,
  type TaskId,
  type TaskRow,
} from '@reveille/protocol';
import { store } from './store.ts';

export const COLUMNS = ['queued', 'working', 'waiting', 'needs', 'review', 'done', 'failed'] as const;
export type Column = (typeof COLUMNS)[number];

export const emptyColumns = (): Record<Column, TaskRow[]> => ({
  queued: [],
  working: [],
  waiting: [],
  needs: [],
  review: [],
  done: [],
  failed: [],
});

export interface Summary {
  readonly byColumn: Readonly<Record<Column, readonly TaskRow[]>>;
  /** The newest change first. */
  readonly openPlans: readonly Plan[];
  readonly byPlan: ReadonlyMap<PlanId, readonly TaskRow[]>;
  /** The tasks that a session owns: of a worker's session, its subtasks. */
  readonly byOwner: ReadonlyMap<SessionId, readonly TaskRow[]>;
  /** The task of a worker's session. */
  readonly bySession: ReadonlyMap<SessionId, TaskRow>;
  readonly requestOf: ReadonlyMap<TaskId, Request>;
  /** The oldest first: it has waited longest. */
  readonly requests: readonly Request[];
  readonly tokens: number;
  readonly usd: number;
  /** Part of these is an estimate. */
  readonly estimated: boolean;
}

export const isPlanOpen = ({ state }: Plan): boolean =>
  state === 'active' || state === 'paused' || state === 'draft';

let known: { readonly version: number; readonly summary: Summary } | null = null;

/** One pass over all rows for each picture; whoever reads it is drawn again with the next one. */
export function summary(): Summary {
  const version = store.version.value;
  if (known?.version !== version) known = { version, summary: summarise() };
  return known.summary;
}

function summarise(): Summary {
  const requests = [...store.inbox.values()].toSorted((a, b) => a.at - b.at);
  const requestOf = new Map(requests.map((request) => [request.task, request]));
  const byColumn = emptyColumns();
  const bySession = new Map([...store.rows.values()].map((row) => [row.session, row]));
  const byPlan = new Map<PlanId, TaskRow[]>();
  const byOwner = new Map<SessionId, TaskRow[]>();
  let tokens = 0;
  let usd = 0;
  let estimated = false;
  for (const row of store.rows.values()) {
    byColumn[columnOf(row, requestOf.has(row.id))].push(row);
    if (row.plan) add(byPlan, row.plan, row);
    add(byOwner, row.owner, row);
    tokens += row.run?.tokens ?? 0;
    usd += row.run?.usd ?? 0;
    estimated ||= row.run?.estimated ?? false;
  }
  const openPlans = [...store.plans.values()].filter(isPlanOpen).toSorted((a, b) => b.since - a.since);
  return { byColumn, openPlans, byPlan, byOwner, bySession, requestOf, requests, tokens, usd, estimated };
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** The state that a person sorts by: what waits for them first. */
export function columnOf({ state }: TaskRow, asks: boolean): Column {
  if (asks && !isTerminal(state)) return 'needs';
  switch (state) {
    case 'pending':
    case 'blocked':
    case 'ready':
      return 'queued';
    case 'running':
      return 'working';
    case 'waiting':
      return 'waiting';
    case 'review':
      return 'review';
    case 'completed':
      return 'done';
    case 'failed':
    case 'cancelled':
      return 'failed';
    default:
      return state satisfies never;
  }
}

export const COLUMN_WORDS: Readonly<Record<Column, string>> = {
  queued: 'Queued',
  working: 'Working',
  waiting: 'Waiting',
  needs: 'Needs you',
  review: 'In review',
  done: 'Done',
  failed: 'Failed',
};

/** The plan that a task belongs to, itself or by those that spawned it. */
export function planOf({ bySession }: Summary, row: TaskRow): PlanId | null {
  let at: TaskRow | undefined = row;
  for (let steps = 0; at && at.plan === null && steps < 50; steps++) at = bySession.get(at.owner);
  return at?.plan ?? null;
}
