import { isScarce, type Run, type RunId, type Task, type TaskId } from '@reveille/protocol';
import type { Ports } from './context.ts';
import { wantsPerson } from './ending.ts';
import { isIntegrator } from './integrator.ts';
import { isLiveIn } from './live-branches.ts';
import {
  NOTHING_FOUND,
  type Left,
  type Made,
  type Origin,
  type OpenSpec,
  type Workspace,
} from './ports/workspaces.ts';

type World = Pick<Ports, 'store' | 'workspaces' | 'log'>;

/**
 * What a run left, before the change that ends it. A checkout that cannot be read must not keep an end from being told:
 * the end then says what is the matter, and where the work still is.
 */
export async function collectLeft(world: World, run: RunId): Promise<Left> {
  const { store, workspaces } = world;
  const task = await taskOf(world, run);
  if (!task || !workspaces) return { work: null, findings: NOTHING_FOUND };
  try {
    return await workspaces.collect(task, run, isLiveIn(store));
  } catch (error) {
    world.log?.('warn', 'what a run left could not be collected', { run, error: String(error) });
    const last = task.lastRun ? (await store.get('run', task.lastRun))?.doc.end?.work : null;
    const work = { worktree: last?.worktree ?? '', branch: last?.branch ?? '', commit: null, files: [] };
    return {
      work: { ...work, problem: String(error) },
      findings: NOTHING_FOUND,
      scarce: isScarce(error),
    };
  }
}

async function taskOf({ store }: World, run: RunId): Promise<Task | null> {
  const id = (await store.get('run', run))?.doc.task;
  return (id ? (await store.get('task', id))?.doc : null) ?? null;
}

/** Opens the checkout of a run; null if its task has no files. */
export async function openWorkspace(
  world: World,
  task: Task,
  run: Run,
  { readOnly, signal }: Pick<OpenSpec, 'readOnly' | 'signal'>,
): Promise<Workspace | null> {
  if (!world.workspaces || task.repository === null) return null;
  const { store } = world;
  const plan = task.plan ? ((await store.get('plan', task.plan))?.doc ?? null) : null;
  const last = task.lastRun ? (await store.get('run', task.lastRun))?.doc.end : null;
  // A review that asks for changes goes on with what is there.
  const from = task.from?.attempt === run.attempt ? task.from.snapshot : undefined;
  const ruin = last && !wantsPerson(last) && (last.status === 'failed' || last.status === 'cancelled');
  const fresh = from === undefined ? (ruin ?? false) : from !== null;
  const origin = await originOf(world, task, {
    branch: plan?.baseBranch ?? null,
    startsFrom: task.startsFrom ?? plan?.startsFrom ?? null,
  });
  const spec: OpenSpec = { task, run: run.id, plan, origin, fresh, from, readOnly, signal };
  return world.workspaces.open(spec);
}

async function originOf(
  { store }: World,
  task: Task,
  base: Pick<Extract<Origin, { kind: 'base' }>, 'branch' | 'startsFrom'>,
): Promise<Origin> {
  if (task.reviews) {
    const reviewed = (await store.get('task', task.reviews.task))?.doc;
    if (reviewed) return { kind: 'shared', with: reviewed };
  }
  if (task.isolation === 'shared') {
    const owner = (await store.get('session', task.owner))?.doc;
    const parent = owner?.task ? (await store.get('task', owner.task))?.doc : undefined;
    if (parent) return { kind: 'shared', with: parent };
  }
  if (isIntegrator(task)) return { kind: 'integration', branch: base.branch };
  if (task.checkpoint !== null) return { kind: 'checkpoint', commit: task.checkpoint };
  if (task.dependencies.length === 0) return { kind: 'base', ...base };
  const made = await Promise.all(task.dependencies.map((id) => madeBy(store, id)));
  return { kind: 'dependencies', ...base, made: made.flat() };
}

async function madeBy(store: World['store'], id: TaskId): Promise<Made[]> {
  const task = (await store.get('task', id))?.doc;
  const run = task?.lastRun ? (await store.get('run', task.lastRun))?.doc : undefined;
  return task ? [{ task, commit: run?.end?.work?.commit ?? null }] : [];
}
