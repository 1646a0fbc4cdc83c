import {
  isTerminal,
  type Plan,
  type SessionId,
  type TaskId,
  type TaskState,
  type TaskView,
} from '@reveille/protocol';
import type { WakeUp } from './probe.ts';
import type { Stage } from './stage.ts';

/** A task as one line of the tree. */
export interface Row {
  readonly task: TaskId;
  readonly name: string;
  readonly agent: string;
  readonly depth: number;
  readonly last: boolean;
  readonly state: TaskState;
  /** How long it has been so; for one that ended, how long its last run took. Null while it has not begun. */
  readonly ms: number | null;
  readonly why: string;
  readonly attempt: number;
}

/** Everything the terminal shows, at one moment, read from the records. */
export interface Picture {
  readonly plan: Plan;
  readonly elapsed: number;
  readonly rows: readonly Row[];
  readonly wakeUps: readonly WakeUp[];
  readonly views: readonly TaskView[];
}

/** The last picture, with the history of the branch that everything was merged into. */
export interface Ended extends Picture {
  readonly history: readonly string[];
}

export async function look(stage: Stage): Promise<Picture> {
  const { orchestrator, probe } = stage;
  const { plan, tasks } = await orchestrator.getPlan(stage.plan);
  const children = new Map<SessionId, readonly TaskView[]>();
  for (const { task } of tasks) {
    if (task.attempts > 0) children.set(task.session, await orchestrator.listTasks({ owner: task.session }));
  }
  const all = [...tasks, ...[...children.values()].flat()];
  const named = new Map(all.map((view) => [view.task.id, view]));
  const teller = new Teller(stage, named, children);
  const rows = tasks.flatMap((view) => {
    const below = children.get(view.task.session) ?? [];
    return [
      teller.row(view, 0, false),
      ...below.map((child, i) => teller.row(child, 1, i === below.length - 1)),
    ];
  });
  return { plan, elapsed: probe.elapsed, rows, wakeUps: probe.wakeUps, views: all };
}

/** Says of a task why it is as it is, in a few words. */
class Teller {
  readonly #stage: Stage;
  readonly #tasks: ReadonlyMap<TaskId, TaskView>;
  readonly #children: ReadonlyMap<SessionId, readonly TaskView[]>;
  readonly #now = Date.now();

  constructor(
    stage: Stage,
    tasks: ReadonlyMap<TaskId, TaskView>,
    children: ReadonlyMap<SessionId, readonly TaskView[]>,
  ) {
    this.#stage = stage;
    this.#tasks = tasks;
    this.#children = children;
  }

  row(view: TaskView, depth: number, last: boolean): Row {
    const { task } = view;
    const { id, name, agent, state, attempts } = task;
    return {
      task: id,
      name,
      agent: agent.name,
      depth,
      last,
      state,
      ms: this.#ms(view),
      why: this.#why(view),
      attempt: attempts,
    };
  }

  #ms({ task, run, end }: TaskView): number | null {
    if (isTerminal(task.state)) return run && end ? end.at - run.startedAt : null;
    return task.attempts === 0 ? null : Math.max(0, this.#now - task.since);
  }

  #why(view: TaskView): string {
    const { task, end } = view;
    const { questions, probe } = this.#stage;
    switch (task.state) {
      case 'pending':
        return `after ${task.dependencies
          .filter((id) => this.#open(id))
          .map((id) => this.#name(id))
          .join(', ')}`;
      case 'running':
        return probe.words.get(task.id) ?? task.why;
      case 'waiting':
        if (task.waitingOn === 'answer') return `asks you: ${questions.get(task.id) ?? task.why}`;
        return task.waitingOn === 'children' ? this.#waitsFor(view) : task.why;
      case 'completed':
        return end?.output ?? task.why;
      case 'failed':
        return end?.error?.message ?? task.why;
      case 'blocked':
      case 'ready':
      case 'review':
      case 'cancelled':
        return task.why;
      default:
        return task.state satisfies never;
    }
  }

  #waitsFor({ task }: TaskView): string {
    const children = this.#children.get(task.session) ?? [];
    const open = children.filter((child) => !isTerminal(child.task.state)).length;
    return `waits for ${open} of ${children.length} subtasks`;
  }

  #open(id: TaskId): boolean {
    const state = this.#tasks.get(id)?.task.state;
    return state === undefined || !isTerminal(state);
  }

  #name(id: TaskId): string {
    return this.#tasks.get(id)?.task.name ?? id;
  }
}
