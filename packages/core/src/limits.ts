import {
  ReveilleError,
  isReveilleError,
  type Session,
  type SpawnInput,
  type Task,
  type AgentType,
} from '@reveille/protocol';
import { isOrchestrator } from './orchestrator-session.ts';
import type { Settings } from './settings.ts';
import type { Tx } from './tx.ts';

/** The checks of a spawn, on the stored ancestry and counters (SUB1, SUB7, LIM1). The refusal says both numbers. */
export function checkSpawn(settings: Settings, parent: Session, now: number): void {
  checkDepth(settings, parent);
  checkTotal(settings, parent, 1);
  checkRoom(settings, parent, now);
}

function checkTotal({ children: { total } }: Settings, parent: Session, more: number): void {
  if (parent.childrenTotal + more > total)
    throw refused('children in all', parent.childrenTotal + more, total, 'Use the children you have.');
}

/** The owner of a plan with so many planned tasks more. Those of a worker are its children, whatever they are called. */
export function countPlanned(settings: Settings, owner: Session, more: number): Session {
  if (isOrchestrator(owner)) {
    const { planned: most } = settings.children;
    const planned = (owner.planned ?? 0) + more;
    if (planned > most) throw refused('tasks in your plans', planned, most, 'Make fewer and larger tasks.');
    return { ...owner, planned };
  }
  checkTotal(settings, owner, more);
  return { ...owner, childrenTotal: owner.childrenTotal + more };
}

function checkRoom({ children: { open, perMinute } }: Settings, parent: Session, now: number): void {
  if (parent.childrenOpen + 1 > open)
    throw refused('children at once', parent.childrenOpen + 1, open, 'Wait for one to end.');
  const inWindow = spawnsInWindow(parent, now);
  if (inWindow + 1 > perMinute) throw refused('spawns per minute', inWindow + 1, perMinute, 'Wait a minute.');
}

export function checkDepth(settings: Pick<Settings, 'depth'>, parent: Session): void {
  const depth = parent.depth + 1;
  const max = parent.rootKind === 'orchestrator' ? settings.depth.orchestrator : settings.depth.standalone;
  if (depth > max)
    throw refused('depth', depth, max, 'Do the work yourself, or report that it should be split.');
}

/**
 * Counts another attempt at a task as a start by its owner: whoever may start so many in a minute, and have so many at once,
 * gets no more of them by trying again.
 */
export async function countRetry(tx: Tx, settings: Settings, { owner: id, plan }: Task): Promise<void> {
  const owner = await tx.need('session', id);
  // Those of a plan are started by the plan, as many at once as the host takes.
  checkRoom(settings, plan === null ? owner : { ...owner, childrenOpen: 0 }, tx.now);
  tx.put('session', countStart(owner, tx.now));
}

/** Why its depth lets a session have no subtasks, if so. One that has some, from before a setting was changed, keeps them. */
export function depthLeft(settings: Pick<Settings, 'depth'>, session: Session): string | undefined {
  if (session.childrenTotal > 0) return undefined;
  try {
    checkDepth(settings, session);
    return undefined;
  } catch (error) {
    if (isReveilleError(error, 'limit_reached')) return `depth ${session.depth} is as deep as it goes here`;
    throw error;
  }
}

const MINUTE = 60_000;

function spawnsInWindow(session: Session, now: number): number {
  const age = now - session.spawns.since;
  return age >= 0 && age < MINUTE ? session.spawns.count : 0;
}

/** The parent with one child more. */
export const countSpawn = (session: Session, now: number): Session => ({
  ...countStart(session, now),
  childrenTotal: session.childrenTotal + 1,
  childrenOpen: session.childrenOpen + 1,
});

/** The parent after another start of a child, new or not. */
function countStart(session: Session, now: number): Session {
  const inWindow = spawnsInWindow(session, now);
  return {
    ...session,
    spawns: inWindow > 0 ? { ...session.spawns, count: inWindow + 1 } : { since: now, count: 1 },
  };
}

/** The same agent with the same words, somewhere above: it would hand the task down for ever. */
export async function checkAncestry(
  tx: Tx,
  parent: Session,
  agent: AgentType,
  input: SpawnInput,
): Promise<void> {
  for (let session: Session | undefined = parent; session?.task;) {
    const task: Task = tx.known('task', session.task) ?? (await tx.need('task', session.task));
    if (
      task.agent.name === agent.name &&
      task.agent.backend === agent.backend &&
      sameWords(task.prompt, input.prompt)
    ) {
      throw new ReveilleError(
        'limit_reached',
        `${task.id}, an ancestor, has the same agent and the same task: this would go round for ever. Do it yourself or change the task.`,
        {
          data: { limit: 'cycle', ancestor: task.id },
        },
      );
    }
    session = session.parent ? await tx.get('session', session.parent) : undefined;
  }
}

const sameWords = (a: string, b: string): boolean => a === b || flat(a) === flat(b);
const flat = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, ' ').trim();

function refused(limit: string, value: number, max: number, advice: string): ReveilleError {
  return new ReveilleError(
    'limit_reached',
    `Refused: ${limit} would be ${value}, the limit is ${max}. ${advice}`,
    {
      data: { limit, value, max },
    },
  );
}
