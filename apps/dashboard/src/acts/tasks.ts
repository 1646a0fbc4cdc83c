import { formatAgentType, isTerminal, type Client, type TaskId, type TaskRow } from '@reveille/protocol';
import { oneLine } from '../parts/clean.ts';
import { ifSaid, words, wordsIn, type Act } from './act.ts';
import { pulledWords, stateWords } from './answers.ts';
import { ANOTHER, CHANGES_BUDGET, anotherIn, budgetIn, checkAnother } from './fields.ts';

const isOpen = ({ state }: TaskRow): boolean => !isTerminal(state);
const works = ({ run }: TaskRow): boolean => run?.state === 'open';

const isTaken = ({ run }: TaskRow): boolean => run?.takenBy !== null && run?.takenBy !== undefined;

const AGAIN_MS = 200;

/** Its turn is stopped first, which takes as long as its agent's last call. */
async function takenOver(client: Client, id: TaskId): Promise<string> {
  for (;;) {
    const taken = await client.takeOver(id);
    if (taken.ready) return taken.worktree;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Everything that can be done to a task. */
export const TASK_ACTS: readonly Act<TaskRow>[] = [
  {
    id: 'start',
    label: 'Start now',
    key: 's',
    first: true,
    when: ({ state }) => state === 'pending' || state === 'ready',
    run: async (client, { id }) => stateWords(await client.deployTask(id)),
  },
  {
    id: 'approve',
    label: 'Approve',
    first: true,
    when: ({ state }) => state === 'review',
    run: async (client, { id }) => stateWords(await client.reviewTask({ task: id, verdict: 'approve' })),
  },
  {
    id: 'changes',
    label: 'Ask for changes',
    when: ({ state }) => state === 'review',
    fields: words('What should be different', true),
    run: async (client, { id }, said) =>
      stateWords(await client.reviewTask({ task: id, verdict: 'changes', comment: wordsIn(said) })),
  },
  {
    id: 'reject',
    label: 'Reject',
    harm: true,
    when: ({ state }) => state === 'review',
    confirm: () => 'The task has failed then. What it made stays on its branch.',
    fields: words('Why'),
    run: async (client, { id }, said) =>
      stateWords(await client.reviewTask({ task: id, verdict: 'reject', comment: wordsIn(said) })),
  },
  {
    id: 'retry',
    label: 'Retry',
    key: 'r',
    first: true,
    when: ({ state }) => state === 'failed' || state === 'cancelled',
    run: async (client, { id }) => stateWords(await client.retryTask(id)),
  },
  {
    id: 'message',
    label: 'Message',
    key: 'm',
    when: isOpen,
    fields: words('What the agent should know', true),
    run: async (client, { id }, said) => {
      await client.sendMessage({ to: id, message: wordsIn(said) });
      return 'In its mailbox; the mailbox shows when it was read.';
    },
  },
  {
    id: 'pause',
    label: 'Pause',
    key: 'p',
    when: (row) => works(row) && !row.run?.paused,
    run: async (client, { id }) => stateWords(await client.pauseWorker(id)),
  },
  {
    id: 'resume',
    label: 'Resume',
    key: 'p',
    first: true,
    when: (row) => works(row) && row.run?.paused === true && !isTaken(row),
    run: async (client, { id }) => stateWords(await client.resumeWorker(id)),
  },
  {
    id: 'give-back',
    label: 'Give it back',
    key: 'p',
    first: true,
    when: (row) => works(row) && isTaken(row),
    run: async (client, { id }) => {
      await client.resumeWorker(id);
      return 'Its agent goes on, and is told what you changed.';
    },
  },
  {
    id: 'swap',
    label: 'Give to another agent',
    rare: true,
    when: (row) => isOpen(row) && row.state !== 'review',
    confirm: () =>
      'The agent at work is stopped. The next one has its worktree, its mail and its subtasks, and is told where the work is and what was said last.',
    fields: ANOTHER,
    check: checkAnother,
    run: async (client, { id }, said) => {
      const { task } = await client.swapWorker(id, anotherIn(said));
      const model = task.model === null ? '' : `, ${task.model}`;
      return `${task.name} goes to ${formatAgentType(task.agent)}${model}.`;
    },
  },
  {
    id: 'retry-with',
    label: 'Retry with another agent',
    rare: true,
    when: ({ state }) => state === 'failed' || state === 'cancelled',
    fields: ANOTHER,
    check: checkAnother,
    run: async (client, { id }, said) => stateWords(await client.retryTask(id, anotherIn(said))),
  },
  {
    id: 'take-over',
    label: 'Take over the worktree',
    rare: true,
    when: (row) => works(row) && row.hasFiles && !isTaken(row),
    confirm: () =>
      'Pauses its agent, so that you can work in its worktree. “Give it back” lets it go on, and tells it what you changed.',
    run: async (client, { id }) => `Its worktree is yours: ${await takenOver(client, id)}`,
  },
  {
    id: 'budget',
    ...CHANGES_BUDGET,
    when: isOpen,
    run: async (client, { id }, said) => {
      await client.raiseBudget(id, budgetIn(said));
      return 'Its budget is changed; “Runs” shows it.';
    },
  },
  {
    id: 'interrupt',
    rare: true,
    label: 'Interrupt turn',
    when: (row) => works(row) && row.run?.inTurn === true,
    run: async (client, { id }) => {
      await client.interruptWorker(id);
      return 'Its turn ends; the agent stays.';
    },
  },
  {
    id: 'integrate',
    label: 'Merge into my checkout',
    when: (row) => row.state === 'completed' && row.hasFiles,
    confirm: () => 'Merges its branch into your own checkout, if that is clean. A conflict changes nothing.',
    run: async (client, { id }) => pulledWords(await client.bringHome(id)),
  },
  {
    id: 'complete',
    rare: true,
    label: 'Mark complete',
    when: isOpen,
    confirm: () => 'The task counts as done, and what depends on it begins.',
    fields: words('Its result'),
    run: async (client, { id }, said) => stateWords(await client.completeTask(id, ...ifSaid(said))),
  },
  {
    id: 'discard',
    rare: true,
    label: 'Discard worktree',
    harm: true,
    when: (row) => !isOpen(row) && row.hasFiles,
    confirm: () => 'Takes its worktree away. A snapshot is made first; “Restore” brings it back.',
    run: async (client, { id }) => `Discarded. Everything is in ${(await client.discardTask(id)).ref}.`,
  },
  {
    id: 'restore',
    rare: true,
    label: 'Restore worktree',
    when: (row) => !isOpen(row) && row.hasFiles,
    confirm: () =>
      'Puts its worktree back as a snapshot has it. A snapshot of what is there now is made first.',
    fields: [
      {
        name: 'snapshot',
        label: 'As it was',
        only: true,
        among: async (client, { id }) =>
          (await client.snapshots(id)).map(({ ref, why, at }) => ({
            value: ref,
            label: `${new Date(at).toLocaleString()}: ${oneLine(why, 80)}`,
          })),
      },
    ],
    run: async (client, { id }, { snapshot = '' }) =>
      `Restored: ${(await client.restoreTask(id, ...(snapshot === '' ? [] : [snapshot]))).worktree}`,
  },
  {
    id: 'cancel',
    label: 'Cancel',
    key: 'x',
    harm: true,
    when: (row) => isOpen(row) && !row.cancelling,
    confirm: () => 'Ends it with all its subtasks. What they made stays on their branches.',
    fields: words('Why'),
    run: async (client, { id }, said) => stateWords(await client.cancelTask(id, ...ifSaid(said))),
  },
];
