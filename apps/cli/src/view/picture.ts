import { INTEGRATOR, verdictIn } from '@reveille/core';
import {
  isTerminal,
  type AgentType,
  type Request,
  type RunEnd,
  type TaskState,
  type TaskView,
  withoutCause,
} from '@reveille/protocol';
import { type ShownHealth, type Used, shownHealth } from './words.ts';
import type { WakeUp, Watch } from './watch.ts';

/** A task as one line of the tree. */
export interface Row {
  readonly id: string;
  /** The lines of the tree before its name. */
  readonly branch: string;
  readonly name: string;
  readonly agent: string;
  readonly state: TaskState;
  /** How long it has been so; for one that ended, how long its last run took. Null while it has not begun. */
  readonly ms: number | null;
  readonly why: string;
  readonly attempt: number;
  /** Absent: nothing is wrong with its worker. */
  readonly health?: ShownHealth | undefined;
}

/** Who was woken by whom, why, and how fast. */
export type Woken = Omit<WakeUp, 'at'>;

/** Everything that is shown of a plan, or of a task and what is below it, at one moment. */
export interface Picture {
  readonly title: string;
  readonly state: string;
  readonly why: string;
  readonly elapsed: number;
  readonly used: Used;
  readonly rows: readonly Row[];
  readonly wakeUps: readonly Woken[];
  readonly requests: readonly Request[];
}

export function pictureOf(watch: Watch, now: number): Picture {
  const { plan } = watch;
  const views = [...watch.tasks.values()];
  const tree: Tree = { watch, byOwner: watch.byOwner, now };
  const roots = tree.byOwner.get(null) ?? [];
  const rows = roots.flatMap((view) => rowsOf(tree, view, { branch: '', below: '' }));
  const [root] = roots;
  const about = plan ?? root?.task;
  const end = watch.ended ? (plan?.since ?? root?.end?.at ?? now) : now;
  return {
    title: about?.name ?? '',
    state: about?.state ?? '',
    why: about?.why ?? '',
    elapsed: Math.max(0, end - (about?.createdAt ?? now)),
    used: usedBy(views),
    rows,
    wakeUps: watch.wakeUps,
    requests: watch.requests,
  };
}

export const usedBy = (views: readonly TaskView[]): Used =>
  views.reduce<Used>(
    (sum, { run }) => {
      const unpriced = (sum.unpriced?.tokens ?? 0) + (run?.used.unpriced?.tokens ?? 0);
      const estimated = {
        tokens: (sum.estimated?.tokens ?? 0) + (run?.used.estimated?.tokens ?? 0),
        usd: (sum.estimated?.usd ?? 0) + (run?.used.estimated?.usd ?? 0),
      };
      return {
        estimated,
        tokens: sum.tokens + (run?.used.tokens ?? 0),
        usd: sum.usd + (run?.used.usd ?? 0),
        ...(unpriced > 0 ? { unpriced: { tokens: unpriced } } : {}),
      };
    },
    { tokens: 0, usd: 0 },
  );

/** What the person is to know of budgets: what they cannot do, and what is overrun. Each once, however many tasks it is about. */
export function budgetNotes(views: readonly TaskView[]): string[] {
  const warnings = views.flatMap(({ warning }) => (warning === undefined ? [] : [`Note: ${warning}`]));
  const overruns = views.flatMap(({ task, overrun }) =>
    overrun === undefined ? [] : [`Over budget: ${task.name} ${overrun}.`],
  );
  return [...new Set([...warnings, ...overruns])];
}

interface Tree {
  readonly watch: Watch;
  readonly byOwner: Watch['byOwner'];
  readonly now: number;
}

interface Place {
  readonly branch: string;
  /** What stands before the branches of those below it. */
  readonly below: string;
}

function rowsOf(tree: Tree, view: TaskView, { branch, below }: Place): Row[] {
  const { task } = view;
  const children = tree.byOwner.get(task.session) ?? [];
  const row: Row = {
    id: task.id,
    branch,
    name: task.name,
    agent: agentWords(task.agent),
    state: task.state,
    ms: msOf(view, tree.now),
    why: whyOf(tree.watch, view, children),
    attempt: task.attempts,
    health: shownHealth(view, tree.now),
  };
  return [
    row,
    ...children.flatMap((child, i) => {
      const last = i === children.length - 1;
      return rowsOf(tree, child, {
        branch: `${below}${last ? '└ ' : '├ '}`,
        below: `${below}${last ? '  ' : '│ '}`,
      });
    }),
  ];
}

/** Which vendor's agent it is; of the integration, which runs on none, its name alone. */
const agentWords = ({ backend, name }: AgentType): string =>
  backend === INTEGRATOR.backend ? name : `${backend}:${name}`;

function msOf({ task, run, end }: TaskView, now: number): number | null {
  if (isTerminal(task.state)) return run && end ? end.at - run.startedAt : null;
  return task.attempts === 0 && task.state !== 'ready' ? null : Math.max(0, now - task.since);
}

function verdictWords(end: RunEnd): string {
  const verdict = verdictIn(end)?.verdict;
  return verdict === undefined ? 'no clear verdict' : verdict === 'approve' ? 'approves' : 'wants changes';
}

/** Why it is as it is, in a few words. */
function whyOf(watch: Watch, { task, end }: TaskView, children: readonly TaskView[]): string {
  if (task.cancelling) return `is being cancelled: ${task.cancelling.why}`;
  switch (task.state) {
    case 'pending': {
      const open = task.dependencies.filter((id) => watch.tasks.get(id)?.task.state !== 'completed');
      return open.length > 0 ? `after ${open.map((id) => watch.name(id)).join(', ')}` : task.why;
    }
    case 'waiting': {
      const asked = watch.requests.find((request) => request.task === task.id);
      if (asked) return `asks you: ${asked.text}`;
      if (task.waitingOn !== 'children' || children.length === 0) return task.why;
      const open = children.filter((child) => !isTerminal(child.task.state)).length;
      return `waits for ${open} of ${children.length} subtasks`;
    }
    case 'completed':
      return (task.reviews && end ? `${verdictWords(end)}: ` : '') + (end?.output ?? task.why);
    case 'failed':
      return end?.error?.message ?? withoutCause(task.why);
    case 'blocked':
    case 'ready':
    case 'running':
    case 'review':
    case 'cancelled':
      return withoutCause(task.why);
    default:
      return task.state satisfies never;
  }
}
