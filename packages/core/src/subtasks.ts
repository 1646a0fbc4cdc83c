import {
  ReveilleError,
  type AgentType,
  type PolicyChain,
  type Session,
  type SessionId,
  type ParsedSpawn,
  type Spawned,
  type Task,
} from '@reveille/protocol';
import { bornSession, bornTask } from './births.ts';
import type { StartDecision } from './checkout-start.ts';
import { budgetChain, draw, openBudget, shortWords } from './budget.ts';
import { limitWarning } from './budget-notes.ts';
import { newId, type Context } from './context.ts';
import { modelFor } from './definitions.ts';
import { checkAncestry, checkSpawn, countSpawn } from './limits.ts';
import { offerTask } from './offers.ts';
import { policyOf, policyOfSession } from './policy-chain.ts';

import { bornAs } from './orchestrator-session.ts';
import type { Tx } from './tx.ts';

/** What a child is made of: what was asked for, its agent, and its parent's state at this moment. */
type Wanted = ParsedSpawn &
  Partial<StartDecision> & {
    readonly agent: AgentType;
    readonly checkpoint: string | null;
    /** Siblings that the same change has made so far. */
    readonly beside: readonly Spawned[];
  };

/** Creates a child and its link in one change. The same key again returns the same child (SUB1). */
export async function spawn(tx: Tx, context: Context, parentId: SessionId, input: Wanted): Promise<Spawned> {
  if (input.key !== undefined) {
    const [same] = await tx.list('task', { list: 'byKey', equal: [`${parentId}/${input.key}`], limit: 1 });
    if (same) return { task: same.id, ...endedAs(same) };
  }
  const parent = tx.known('session', parentId) ?? (await tx.need('session', parentId));
  if (parent.state === 'ended')
    throw new ReveilleError('wrong_state', `Session ${parentId} has ended and can spawn nothing.`);
  if (input.isolation === 'shared' && parent.task === null)
    throw new ReveilleError(
      'invalid_input',
      'Refused: you have no worktree of your own to share. Leave `isolation` out: the subtask gets one.',
    );
  checkSpawn(context.settings, parent, tx.now);
  const parentTask = parent.task ? await tx.need('task', parent.task) : null;
  if (parentTask?.cancelling)
    throw new ReveilleError('wrong_state', `Task ${parentTask.id} is being cancelled and can spawn nothing.`);
  await checkAncestry(tx, parent, input.agent, input);
  const budget = parentTask?.budget ?? null;
  const short = budget ? await draw(tx, budget, { spawns: 1 }) : null;
  if (short) {
    const why = shortWords(short);
    throw new ReveilleError('budget_exhausted', `Refused: ${why}.`, { data: { why, ...short } });
  }
  const shared = input.targetFiles.length > 0 ? await overlap(tx, parent, input) : null;
  const above = await policyOfSession(tx, context, parent);
  const policy = policyOf(context, input.agent, parent.repository, above);
  const task = createChild(tx, context, { parent, input, budget, policy });
  tx.put('session', countSpawn(await tx.need('session', parentId), tx.now));
  offerTask(tx, task);
  const limits = limitWarning(context, task, await budgetChain(tx, task.budget));
  const warning = [input.note, shared, limits].filter((each) => each).join(' ');
  return warning === '' ? { task: task.id } : { task: task.id, warning };
}

function endedAs({ state }: Task): Pick<Spawned, 'ended'> | null {
  return state === 'completed' || state === 'failed' || state === 'cancelled' ? { ended: state } : null;
}

function createChild(
  tx: Tx,
  context: Context,
  made: { parent: Session; input: Wanted; budget: string | null; policy: PolicyChain | undefined },
): Task {
  const { parent, input } = made;
  const { repository } = parent;
  const id = newId(context, 'task');
  const name = input.name ?? (input.prompt.trim().split('\n', 1)[0] ?? '').slice(0, 60);
  const born = bornAs(context, parent, input.agent);
  const session = bornSession(tx, context, {
    ...born,
    task: id,
    parent: parent.id,
    name,
    repository,
  });
  return bornTask(tx, {
    id,
    plan: null,
    key: input.key ?? null,
    name,
    prompt: input.prompt,
    expectedOutput: input.expectedOutput ?? null,
    resultSchema: input.resultSchema ?? null,
    repository,
    checkpoint: input.isolation === 'shared' ? null : input.checkpoint,
    isolation: input.isolation,
    agent: input.agent,
    model: modelFor(context, input.agent, { repository, model: input.model }),
    priority: 'normal',
    targetFiles: input.targetFiles,
    review: 'none',
    owner: parent.id,
    session: session.id,
    depth: born.depth,
    dependencies: [],
    dependents: [],
    openDependencies: 0,
    badDependencies: 0,
    state: 'ready',
    why: 'spawned',
    budget: openBudget(tx, id, made.budget, input.budget),
    ...(input.startsFrom ? { startsFrom: input.startsFrom } : {}),
    ...(born.kind === 'orchestrator' && input.plans ? { plans: input.plans } : {}),
    ...(made.policy ? { policy: made.policy } : {}),
  });
}

/** Overlapping target files do not refuse a child: each works in its own checkout. They are worth a warning. */
async function overlap(tx: Tx, parent: Session, { targetFiles, beside }: Wanted): Promise<string | null> {
  const wanted = new Set(targetFiles.map(normal));
  const stored = await tx.list('task', { list: 'openByOwner', equal: [parent.id, 1] });
  const made = beside.flatMap(({ task }) => tx.known('task', task) ?? []);
  for (const sibling of [...stored, ...made]) {
    const shared = sibling.targetFiles.map(normal).filter((file) => wanted.has(file));
    if (shared.length > 0)
      return `"${sibling.name}" (${sibling.id}) also works on ${shared.slice(0, 5).join(', ')}; expect to merge.`;
  }
  return null;
}

const normal = (file: string): string => file.replaceAll('\\', '/').replace(/^(\.\/)+/, '');
