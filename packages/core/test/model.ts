import type { PlanId, PlanState, TaskId } from '@reveille/protocol';

/** What the engine is compared with: a plan, its tasks and their mail as a reader of the rules would keep them on paper. */
export interface PlanModel {
  readonly id: PlanId;
  state: PlanState;
  cancelling: boolean;
  readonly items: Item[];
}

export type ItemState = 'pending' | 'blocked' | 'ready' | 'open' | 'completed' | 'failed' | 'cancelled';

export interface Item {
  readonly id: TaskId;
  readonly plan: PlanModel | null;
  readonly parent: Item | null;
  readonly depth: number;
  readonly dependencies: Item[];
  readonly children: Item[];
  state: ItemState;
  /** Attempts that ended: each is told to the owner once. */
  ends: number;
  /** Crashes since the last turn that ended well. */
  faults: number;
  /** What waits for the worker: `end <task> <n>`, `words <n>`, `answer <request>`. */
  mail: string[];
}

export const ended = (item: Item): boolean => ['completed', 'failed', 'cancelled'].includes(item.state);
const bad = (item: Item): boolean => ['blocked', 'failed', 'cancelled'].includes(item.state);

export class Model {
  readonly plans: PlanModel[] = [];
  readonly items: Item[] = [];
  readonly requests: { id: string; of: Item; open: boolean }[] = [];
  words = 0;

  add(made: Pick<Item, 'id' | 'plan' | 'parent' | 'dependencies'>): Item {
    const depth = made.parent ? made.parent.depth + 1 : 1;
    const state = made.plan ? 'pending' : 'open';
    const item: Item = { ...made, depth, state, children: [], ends: 0, faults: 0, mail: [] };
    this.items.push(item);
    made.plan?.items.push(item);
    made.parent?.children.push(item);
    return item;
  }

  /** A task ends: its owner is told, its requests close, its children go with it. */
  end(item: Item, state: 'completed' | 'failed' | 'cancelled'): void {
    item.state = state;
    item.ends++;
    item.faults = 0;
    item.parent?.mail.push(`end ${item.id} ${item.ends}`);
    for (const request of this.requests) if (request.of === item) request.open = false;
    for (const child of item.children) if (!ended(child)) this.end(child, 'cancelled');
  }

  retry(item: Item): void {
    item.state = item.plan ? 'pending' : 'open';
  }

  /** What follows by itself: who is blocked, who is ready, who starts, and what that makes of the plan. */
  settle(): void {
    for (const plan of this.plans) {
      for (let moved = true; moved;) moved = plan.items.map((item) => move(plan, item)).some(Boolean);
      plan.state = derived(plan);
      if (!['draft', 'active', 'paused'].includes(plan.state)) plan.cancelling = false;
      for (const item of plan.items) move(plan, item);
    }
  }
}

function move(plan: PlanModel, item: Item): boolean {
  const before = item.state;
  if (item.state === 'pending' || item.state === 'blocked') {
    item.state = item.dependencies.some(bad) ? 'blocked' : 'pending';
  }
  const free = item.dependencies.every((dependency) => dependency.state === 'completed');
  if (item.state === 'pending' && free && plan.state !== 'draft') item.state = 'ready';
  if (item.state === 'ready' && !['draft', 'paused'].includes(plan.state)) item.state = 'open';
  return item.state !== before;
}

function derived(plan: PlanModel): PlanState {
  if (plan.state === 'draft') return 'draft';
  const canRun = plan.items.some((item) => ['pending', 'ready', 'open'].includes(item.state));
  if (canRun) return plan.state === 'paused' ? 'paused' : 'active';
  if (plan.items.every((item) => item.state === 'completed')) return 'completed';
  return plan.cancelling ? 'cancelled' : plan.state === 'cancelled' ? 'cancelled' : 'failed';
}
