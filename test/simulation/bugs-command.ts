import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about what is decided above the workers: who goes on with what, and who may. */
export const BUGS_OF_COMMAND: readonly PlantedBug[] = [
  {
    name: 'swapped-with-the-old-history',
    invariant: 'swaps',
    file: core('swap.ts'),
    find: `{ ...run, resume: null, assigned: false, inquiry: null }`,
    replace: `{ ...run, inquiry: null }`,
    why: 'another agent is started with the session of the one before it, and not told the task',
  },
  {
    name: 'swapped-beside-the-old-one',
    invariant: 'one agent',
    file: core('worker-run.ts'),
    find: `    await this.line.stop('another agent goes on with it');
`,
    replace: '',
    why: 'the next agent begins while the one before it is still at work',
  },
  {
    name: 'swap-waits-for-a-crash',
    invariant: 'swaps',
    file: core('worker-run.ts'),
    find: `    if (rows.run.swap) return this.#leaveToNext();
`,
    replace: '',
    why: 'who is at work goes on although another was asked for',
  },
  {
    name: 'leave-not-used-up',
    invariant: 'permits',
    file: core('permits.ts'),
    find: `  tx.put('run', { ...run, grants: grants.filter((other) => other !== digest) });
`,
    replace: ``,
    why: 'a yes is for once, and the same is done again and again',
  },
  {
    name: 'leave-for-something-else',
    invariant: 'permits',
    file: core('permits.ts'),
    find: `  if (!grants.includes(digest)) return false;
`,
    replace: `  if (grants.length === 0) return false;
`,
    why: 'a yes to one thing lets the agent do another',
  },
  {
    name: 'rules-of-the-parent-forgotten',
    invariant: 'families',
    file: core('policy-chain.ts'),
    find: `  return meet(parent ?? [], [{ agent, layers: [...layers] }]);
`,
    replace: `  return [{ agent, layers: [...layers] }];
`,
    why: 'a child may do whatever its own agent may',
  },
  {
    name: 'later-word-not-for-those-below',
    invariant: 'families',
    within: 4_000,
    file: core('policy-chain.ts'),
    find: `[...stored.map(({ agent }) => agent), task.agent];`,
    replace: `[task.agent];`,
    why: 'what is taken from an agent is not taken from those it has work for it',
  },
  {
    name: 'looser-below-a-stricter-one',
    invariant: 'families',
    file: core('retry-by.ts'),
    find: `  if (own) await holdBelow(tx, task, own);
`,
    replace: ``,
    why: 'a stricter agent takes over, and those below it may still do what it may not',
  },
  {
    name: 'asked-of-one-that-may-not',
    invariant: 'families',
    file: core('requests.ts'),
    find: `    if (answers && (!action || (await mayAllow(tx, context, session, action)))) return id;
`,
    replace: `    if (answers) return id;
`,
    why: 'a parent that would have to ask itself is asked to allow it',
  },
  {
    name: 'plan-starts-unapproved',
    invariant: 'permits',
    file: core('plan-approval.ts'),
    find: `      return (await tx.need('task', session.task)).plans === 'start' ? null : session;
`,
    replace: `      return (await tx.need('task', session.task)).attempts > 0 ? null : session;
`,
    why: 'what an orchestrator made of a goal starts before the person has seen it',
  },
  {
    name: 'status-wakes',
    invariant: 'wakes',
    file: core('wake-policy.ts'),
    find: `  progress: false,
`,
    replace: `  progress: true,
`,
    why: 'every word of progress costs a turn of the orchestrator',
  },
  {
    name: 'question-waits',
    invariant: 'wakes',
    file: core('wake-policy.ts'),
    find: `  question: true,
`,
    replace: `  question: false,
`,
    why: 'a worker waits for an answer, and nobody wakes the one that has it',
  },
  {
    name: 'decision-not-shown',
    invariant: 'wakes',
    file: core('situation.ts'),
    find: `.filter((request) => request.with === session.id)`,
    replace: `.filter((request) => request.with === session.id && request.kind === 'question')`,
    why: 'an orchestrator is not shown what waits for its decision',
  },
  {
    name: 'inbox-without-what-was-passed-on',
    invariant: 'requests',
    file: core('operations/mail.ts'),
    find: `request.with === null)`,
    replace: `request.with === null && request.at === request.movedAt)`,
    why: 'what was passed on to the person is in no inbox',
  },
  {
    name: 'closed-when-patience-ends',
    invariant: 'requests',
    file: core('approval.ts'),
    find: `goOn(tx, caller, id, !wait.over)`,
    replace: `goOn(tx, caller, id, true)`,
    why: 'who does something else meanwhile is never answered',
  },
  {
    name: 'failure-of-a-plan-not-asked-about',
    invariant: 'requests',
    file: core('failure.ts'),
    find: `  if (task.plan === null && owner.kind !== 'terminal' && !toPerson) return null;
`,
    replace: `  if (owner.kind !== 'terminal' && !toPerson) return null;
`,
    why: 'a task of a plan fails, and nobody is asked what is to be done',
  },
  {
    name: 'as-deep-as-its-parent',
    invariant: 'families',
    file: core('orchestrator-session.ts'),
    find: `depth: parent.depth + 1 }`,
    replace: `depth: parent.depth }`,
    why: 'a chain of subtasks goes on for ever',
  },
  {
    name: 'nonsense-is-an-answer',
    invariant: 'one answer',
    file: core('choices.ts'),
    find: `    checkChoice(request, chosen);
`,
    replace: ``,
    why: 'what is none of the choices closes a request, and nothing is done',
  },
  {
    name: 'late-budget-forgets',
    invariant: 'families',
    file: core('budget-acts.ts'),
    find: `  for (const key of ['tokens', 'usd', 'turns', 'spawns'] as const) used[key] += budget.used[key];
`,
    replace: '',
    why: 'a budget that a plan is given late has less on it than those of its tasks',
  },
];
