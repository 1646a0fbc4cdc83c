import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes that show in a rare moment only, or to one of several. */
export const BUGS_OF_MOMENTS: readonly PlantedBug[] = [
  {
    name: 'holder-of-the-last-epoch-writes',
    invariant: 'one agent',
    file: core('holding.ts'),
    find: `run.epoch !== epoch) return null`,
    replace: `run.epoch - epoch > 1) return null`,
    why: 'a host that lost a run while it wrote, writes into what another host goes on with',
  },
  {
    name: 'wall-clock-back-gives-time',
    invariant: 'budgets',
    file: core('wall-time.ts'),
    find: `Math.max(0, clock.now() - since)`,
    replace: `clock.now() - since`,
    why: 'a wall clock that is set back gives a run hours more',
  },
  {
    name: 'inner-overrun-forgotten',
    invariant: 'budgets',
    file: core('budget.ts'),
    find: `short ??= overruns(next)[0] ?? null;`,
    replace: `short = overruns(next)[0] ?? null;`,
    why: 'whoever is past its own budget works on while its plan has room',
  },
  {
    name: 'raise-told-once',
    invariant: 'ends',
    file: core('budget-acts.ts'),
    find: 'key: `budget:${run.id}`',
    replace: 'key: `budget:${task.id}`',
    why: 'the second time a budget is raised nobody tells the worker to go on',
  },
  {
    name: 'answer-on-its-way-unmarked',
    invariant: 'ends',
    file: core('run-acts.ts'),
    find: `const answer = told === 'no' && message.taken?.by === 'call' ? 'unknown' : told;`,
    replace: `const answer = told;`,
    why: 'mail in an answer that is still on its way is given again, and nothing says so',
  },
  {
    name: 'abandoned-await-keeps-mail',
    invariant: 'liveness',
    file: core('calls.ts'),
    find: `if (this.#answered) return await putBack(this.#context, taken.messages, 'no');`,
    replace: `if (this.#answered) return;`,
    why: 'a call that is given up while it takes its mail keeps it for ever',
  },
  {
    name: 'unreadable-answer-keeps-mail',
    invariant: 'liveness',
    file: core('calls.ts'),
    find: `    await putBack(room.context, messages, 'no');
    throw error;`,
    replace: `    throw error;`,
    why: 'mail that a call took and could not read is never given again',
  },
  {
    name: 'integration-after-one-branch',
    invariant: 'dependencies',
    file: core('integration.ts'),
    find: `.map((task) => task.id);
  const task =`,
    replace: `.map((task) => task.id).slice(0, 1);
  const task =`,
    why: 'a plan is integrated while tasks of it are still at work',
  },
  {
    name: 'next-integration-after-the-added-task',
    invariant: 'dependencies',
    file: core('plans.ts'),
    find: `const open = [added, ...others.filter(({ state }) => state !== 'completed')];`,
    replace: `const open = [added, ...others.slice(0, 0)];`,
    why: 'the integration that replaces one that was given up does not wait for what that one waited for',
  },
  {
    name: 'conflict-told-to-one-owner',
    invariant: 'conflicts',
    file: core('findings.ts'),
    find: `new Set(live.map(({ owner }) => owner))`,
    replace: `new Set(live.slice(0, 1).map(({ owner }) => owner))`,
    why: 'the owner of the other task does not hear that the two conflict',
  },
  {
    name: 'health-does-not-wake',
    invariant: 'wakes',
    file: core('wake-policy.ts'),
    find: `health: true`,
    replace: `health: false`,
    why: 'an orchestrator sleeps beside a worker that is stuck or goes in circles',
  },
  {
    name: 'progress-of-one-turn',
    invariant: 'health',
    file: core('health.ts'),
    find: `const executed = this.#executedBefore + mono - this.turnSince;`,
    replace: `const executed = mono - this.turnSince;`,
    why: 'whoever works in many short turns never reports progress',
  },
];
