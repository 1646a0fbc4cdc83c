import { formatAgentType, type Run, type SessionId, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { isLiveTask } from './live-branches.ts';
import { enqueue } from './mailbox.ts';
import type { ConflictNews, Findings, Left } from './ports/workspaces.ts';
import { openRequest } from './requests.ts';
import type { Ending } from './ending.ts';
import type { Tx } from './tx.ts';

/**
 * Who got out of its checkout has failed, whatever it says of itself (BND3); and so has one whose work cannot be taken,
 * or its dependents would start without it. What it said stays.
 */
export function judged(ending: Ending, { work, findings }: Left): Ending {
  if (findings.escapes.length > 0)
    return { ...ending, status: 'failed', cause: 'executor', error: escape(findings) };
  if (!work?.problem || ending.status === 'failed' || ending.status === 'cancelled') return ending;
  return { ...ending, status: 'failed', error: { class: 'workspace', message: work.problem } };
}

export const escape = ({ escapes }: Findings) =>
  ({ class: 'escape', message: `changes outside its worktree: ${escapes.slice(0, 20).join('; ')}` }) as const;

/** An escape goes to the person; conflicts of live branches to those who own them, when they begin and when they stop. */
export async function tellFindings(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run,
  findings: Findings,
): Promise<void> {
  for (const news of findings.conflicts) await tellConflict(tx, context, news);
  if (findings.escapes.length === 0) return;
  tx.note({
    type: 'escape.found',
    task: task.id,
    data: { run: run.id, changes: findings.escapes.slice(0, 20) },
  });
  await openRequest(tx, context, task, {
    kind: 'escape',
    run,
    text: `${formatAgentType(task.agent)} made ${escape(findings).message}. Its run ${run.id} was stopped. Nothing was put back.`,
    options: ['seen'],
    toPerson: true,
    key: `escape:${run.id}`,
  });
}

/** The two sides of a conflict; of one with a branch of the person there is one. */
async function tellConflict(tx: Tx, context: Context, news: ConflictNews): Promise<void> {
  const task = await tx.get('task', news.task);
  const other = 'task' in news.with ? await tx.get('task', news.with.task) : null;
  if (!task || other === undefined) return;
  const sides = other ? [task, other] : [task];
  const live = [];
  for (const side of sides) if (await isLiveTask(tx, side)) live.push(side);
  // One that a task takes along into its end is none.
  if (news.began && live.length < sides.length) return;
  const files = news.files.slice(0, SHOWN);
  const by = other ? { with: other.id } : { base: nameOf(news.with) };
  tx.note({ type: news.began ? 'conflict.began' : 'conflict.ended', task: task.id, data: { ...by, files } });
  const text = news.began ? beganText(news, { task, other }) : endedText(news, { task, other, live });
  // Both owners hear of both. When a branch is gone only whoever still has one wants to know.
  for (const to of new Set(live.map(({ owner }) => owner))) await forecast(tx, context, { to, news, text });
}

const SHOWN = 20;

interface Sides {
  readonly task: Task;
  readonly other: Task | null;
}

const nameOf = (side: ConflictNews['with']): string => ('base' in side ? side.base : '');
const called = ({ name, id }: Task): string => `"${name}" (${id})`;

function beganText(news: ConflictNews, { task, other }: Sides): string {
  const more = news.files.length > SHOWN ? ` and ${news.files.length - SHOWN} more` : '';
  const files = `${news.files.slice(0, SHOWN).join(', ')}${more}`;
  if (other)
    return `${called(task)} and ${called(other)} now change the same lines: ${files}. Whoever is merged second will have to resolve it.`;
  const base = nameOf(news.with);
  return `${called(task)} now conflicts with ${base}, which has moved since the task began: ${files}. It will have to be resolved when the task is merged.`;
}

function endedText(
  news: ConflictNews,
  { task, other, live }: Sides & { readonly live: readonly Task[] },
): string {
  if (!other) return `${called(task)} no longer conflicts with ${nameOf(news.with)}.`;
  const gone = [task, other].find((side) => !live.includes(side));
  const why = gone ? `: nothing of "${gone.name}" is to be merged any more` : '';
  return `${called(task)} and ${called(other)} no longer conflict${why}.`;
}

/** A forecast rides along with the next mail of its recipient. The end of a conflict is told to whoever heard of its begin. */
async function forecast(
  tx: Tx,
  context: Context,
  { to, news, text }: { readonly to: SessionId; readonly news: ConflictNews; readonly text: string },
): Promise<void> {
  const began = `conflict:${news.key}`;
  const session = await tx.get('session', to);
  if (session?.state !== 'open') return;
  if (!news.began) {
    const heard = await tx.list('message', { list: 'byKey', equal: [`${to}/${began}`], limit: 1 });
    if (heard.length === 0) return;
  }
  const key = news.began ? began : `${began}:ended`;
  const from = { kind: 'harness' } as const;
  await enqueue(tx, context, { to, key, kind: 'forecast', from, task: news.task, text });
}
