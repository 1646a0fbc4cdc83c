import { formatAgentType, type Run, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
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
  for (const news of findings.conflicts) await tellConflict(tx, context, task, news);
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

async function tellConflict(tx: Tx, context: Context, task: Task, news: ConflictNews): Promise<void> {
  const other = await tx.get('task', news.with);
  if (!other) return;
  const files = news.files.slice(0, 20);
  tx.note({
    type: news.began ? 'conflict.began' : 'conflict.ended',
    task: task.id,
    data: { with: other.id, files },
  });
  const text = news.began
    ? `"${task.name}" (${task.id}) and "${other.name}" (${other.id}) now change the same lines: ${files.join(', ')}. Whoever is merged second will have to resolve it.`
    : `"${task.name}" (${task.id}) and "${other.name}" (${other.id}) no longer conflict.`;
  for (const to of new Set([task.owner, other.owner])) {
    const session = await tx.get('session', to);
    if (session?.state !== 'open') continue;
    const from = { kind: 'harness' } as const;
    await enqueue(tx, context, {
      to,
      key: `conflict:${news.key}`,
      kind: 'warning',
      from,
      task: task.id,
      text,
    });
  }
}
