import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about requests, budgets and what is paused. */
export const BUGS_OF_STEERING: readonly PlantedBug[] = [
  {
    name: 'second-answer-acknowledged',
    invariant: 'one answer',
    file: core('operations/correspondence.ts'),
    find: `  const request = await tx.need('request', answer.request);
`,
    replace: `  const request = await tx.need('request', answer.request);
  if (request.state === 'answered') return request;
`,
    why: 'two answer at once, both are told that it counts, and one of them is thrown away',
  },
  {
    name: 'late-answer-taken',
    invariant: 'one answer',
    file: core('requests.ts'),
    find: `  if (request.state !== 'open') {
    const how`,
    replace: `  if (request.state === 'answered') {
    const how`,
    why: 'what was given up or has expired is answered all the same',
  },
  {
    name: 'leave-used-again',
    invariant: 'one answer',
    file: core('approval.ts'),
    find: `    const [first] = take(tx, answer, takenBy(this.#room.context, this.#caller));
    if (!first) return null;
    markRead(tx, [first]);
    return first.text;
`,
    replace: `    return answer[0]?.text ?? null;
`,
    why: 'an answer that an agent waited for is left in its mailbox, and comes again',
  },
  {
    name: 'passed-on-to-nobody',
    invariant: 'holders',
    file: core('requests.ts'),
    find: `  if (next) await tellHolder(`,
    replace: `  if (next && !holder.parent) await tellHolder(`,
    why: 'a request moves up and nobody tells the next one',
  },
  {
    name: 'asked-of-one-that-has-ended',
    invariant: 'holders',
    file: core('settle.ts'),
    find: `  await leaveRequests(tx, context, child, last.id);
`,
    replace: '',
    why: 'a parent ends, its children are handed up, and what they asked it stays with it',
  },
  {
    name: 'spawns-while-paused',
    invariant: 'paused',
    file: core('plan-approval.ts'),
    find: `  if (!run.paused) return;
`,
    replace: `  if (!run.paused || run.turn !== null) return;
`,
    why: 'a worker that is paused in its turn still spawns until it is stopped',
  },
  {
    name: 'started-while-paused',
    invariant: 'paused',
    file: core('run-acts.ts'),
    find: `const quiet = run.paused || (`,
    replace: `const quiet = (`,
    why: 'a host that starts again starts the agents of paused workers too',
  },
  {
    name: 'turn-while-paused',
    invariant: 'paused',
    file: core('run-acts.ts'),
    find: `  if (run.paused || task.cancelling || (`,
    replace: `  if (task.cancelling || (`,
    why: 'mail wakes a worker that is paused',
  },
  {
    name: 'paused-plan-starts',
    invariant: 'paused',
    file: core('graph.ts'),
    find: `!['draft', 'paused'].includes(plan.state)`,
    replace: `plan.state !== 'draft'`,
    why: 'a plan that is paused starts what becomes ready',
  },
  {
    name: 'turn-in-a-cancelled-tree',
    invariant: 'cancelled trees',
    file: core('run-acts.ts'),
    find: `  if (run.paused || task.cancelling || (`,
    replace: `  if (run.paused || (`,
    why: 'mail opens a turn for a worker that is being cancelled',
    // The mail has to come in the moment between the wish to cancel and the stop.
    within: 6_000,
  },
  {
    name: 'child-draws-on-itself-alone',
    invariant: 'families',
    file: core('budget.ts'),
    find: `    nodes.push(node);
    next = node.parent;
`,
    replace: `    nodes.push(node);
    next = null;
`,
    why: 'what a child uses is not taken from its parent',
  },
  {
    name: 'turn-past-the-budget',
    invariant: 'budgets',
    file: core('budget.ts'),
    find: `overruns(node)[0] ?? exceeded(node, amounts)`,
    replace: `exceeded(node, amounts)`,
    why: 'whoever is past its budget begins the next turn all the same',
  },
  {
    name: 'overrun-not-stopped',
    invariant: 'budgets',
    file: core('worker-run.ts'),
    find: `    if (recorded.over) line.failure ??=`,
    replace: `    if (recorded.over && line.turn === null) line.failure ??=`,
    why: 'an agent that is past its budget works on to the end of its turn',
  },
  {
    name: 'wall-time-forgotten',
    invariant: 'budgets',
    file: core('wall-time.ts'),
    find: `await storedChain(store, task?.doc.budget ?? null);`,
    replace: `await storedChain(store, null);`,
    why: 'a run goes on long after its time',
  },
];
