import { formatAgentType, type RunId, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { isIntegrator } from './integrator.ts';
import { depthLeft } from './limits.ts';
import type { Assignment } from './ports/agents.ts';
import type { Store } from './ports/store.ts';
import type { Workspace } from './ports/workspaces.ts';

/** The words in which a worker is handed its task: those of its definition's room, or, where there is none, our own. */
export async function assignmentText(
  { agents, store, settings }: Pick<Context, 'agents' | 'store' | 'settings'>,
  task: Task,
  given: { readonly run: RunId; readonly workspace: Workspace | null },
): Promise<string> {
  if (!agents.briefing || isIntegrator(task)) return plainWords(task, given);
  const session = (await store.get('session', task.session))?.doc;
  const why = session && depthLeft(settings, session);
  return agents.briefing({
    task,
    ...given,
    plan: await placeInPlan(store, task),
    parent: await parentOf(store, task),
    ...(why === undefined ? {} : { mayNotDelegate: why }),
  });
}

function plainWords(
  task: Task,
  { run, workspace }: { readonly run: RunId; readonly workspace: Workspace | null },
): string {
  const lines = [
    `You are ${formatAgentType(task.agent)}. Your task (${task.id}, ${run}):`,
    task.prompt,
    ...(task.expectedOutput ? ['', `Expected output: ${task.expectedOutput}`] : []),
    ...(task.targetFiles.length > 0 ? ['', `Files: ${task.targetFiles.join(', ')}`] : []),
    ...(workspace ? ['', ...place(workspace)] : []),
    '',
    'When you are done, report it with a2a_subtask_complete. Until then the task counts as open.',
  ];
  return lines.join('\n');
}

/** Where it works, and what it should know of that. */
const place = ({ path, branch, notices }: Workspace): string[] => [
  `You work in ${path}, on the branch ${branch}. Commit there; touch nothing outside.`,
  ...notices.map((notice) => `Note: ${notice}`),
];

async function placeInPlan(store: Store, task: Task): Promise<Assignment['plan']> {
  const plan = task.plan ? (await store.get('plan', task.plan))?.doc : undefined;
  if (!plan) return null;
  const { id, name, description, counts } = plan;
  const tasks = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const named = async (ids: readonly string[]): Promise<Task[]> =>
    (await Promise.all(ids.map((other) => store.get('task', other)))).flatMap((row) =>
      row ? [row.doc] : [],
    );
  return {
    id,
    name,
    description,
    tasks,
    before: await named(task.dependencies),
    after: await named(task.dependents),
  };
}

async function parentOf(store: Store, task: Task): Promise<Assignment['parent']> {
  const owner = (await store.get('session', task.owner))?.doc;
  if (!owner) return { kind: 'terminal', name: 'unknown' };
  const { kind, name } = owner;
  const own = owner.task ? (await store.get('task', owner.task))?.doc : undefined;
  return { kind, name, ...(own ? { task: { id: own.id, prompt: own.prompt } } : {}) };
}
