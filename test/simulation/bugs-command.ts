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
    name: 'history-of-another-after-a-review',
    invariant: 'swaps',
    file: core('run-acts.ts'),
    find: `last.goesOn && !last.run?.swap ?`,
    replace: `last.goesOn ?`,
    why: 'what was swapped while nobody was at work goes on with the session of the one before it',
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
    name: 'taken-over-unsaid',
    invariant: 'swaps',
    file: core('pausing.ts'),
    find: `takenOver ? newId(context, 'msg') : run.turns`,
    replace: `run.turns`,
    why: 'a worker that was paused again before it went on is not told that a person worked in its checkout',
  },
];
