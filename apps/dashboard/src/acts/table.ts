import { isTerminal, type Client, type Plan, type Pulled, type TaskRow } from '@reveille/protocol';
import { plural } from '../parts/amounts.ts';

/**
 * Everything a person can do, in one table: when it can be done, what is asked before, and the call. The buttons, the
 * palette and the keys are made from it. What is said afterwards is what the daemon answered, never a hope.
 */
export interface Act<T> {
  readonly id: string;
  readonly label: string;
  /** Pressed where its target is shown. */
  readonly key?: string;
  readonly when: (target: T) => boolean;
  /** Asked first: what it does that cannot be taken back. */
  readonly confirm?: (target: T) => string;
  /** Words that go with it. */
  readonly words?: { readonly label: string; readonly needed: boolean };
  /** Does harm if meant otherwise. */
  readonly harm?: boolean;
  /** Likely what the person came for. */
  readonly first?: boolean;
  readonly run: (client: Client, target: T, words: string) => Promise<string>;
}

const isOpen = ({ state }: TaskRow): boolean => !isTerminal(state);
const works = ({ run }: TaskRow): boolean => run?.state === 'open';

export const TASK_ACTS: readonly Act<TaskRow>[] = [
  {
    id: 'start',
    label: 'Start now',
    key: 's',
    first: true,
    when: ({ state }) => state === 'pending' || state === 'ready',
    run: async (client, { id }) => stateWords((await client.deployTask(id)).task),
  },
  {
    id: 'approve',
    label: 'Approve',
    first: true,
    when: ({ state }) => state === 'review',
    run: async (client, { id }) =>
      stateWords((await client.reviewTask({ task: id, verdict: 'approve' })).task),
  },
  {
    id: 'changes',
    label: 'Ask for changes',
    when: ({ state }) => state === 'review',
    words: { label: 'What should be different', needed: true },
    run: async (client, { id }, comment) =>
      stateWords((await client.reviewTask({ task: id, verdict: 'changes', comment })).task),
  },
  {
    id: 'reject',
    label: 'Reject',
    harm: true,
    when: ({ state }) => state === 'review',
    confirm: () => 'The task has failed then. What it made stays on its branch.',
    words: { label: 'Why', needed: false },
    run: async (client, { id }, comment) =>
      stateWords((await client.reviewTask({ task: id, verdict: 'reject', comment })).task),
  },
  {
    id: 'retry',
    label: 'Retry',
    key: 'r',
    first: true,
    when: ({ state }) => state === 'failed' || state === 'cancelled',
    run: async (client, { id }) => stateWords((await client.retryTask(id)).task),
  },
  {
    id: 'message',
    label: 'Message',
    key: 'm',
    when: isOpen,
    words: { label: 'What the agent should know', needed: true },
    run: async (client, { id }, message) => {
      await client.sendMessage({ to: id, message });
      return 'In its mailbox; the mailbox shows when it was read.';
    },
  },
  {
    id: 'pause',
    label: 'Pause',
    key: 'p',
    when: (row) => works(row) && !row.run?.paused,
    run: async (client, { id }) => stateWords((await client.pauseWorker(id)).task),
  },
  {
    id: 'resume',
    label: 'Resume',
    key: 'p',
    first: true,
    when: (row) => works(row) && row.run?.paused === true,
    run: async (client, { id }) => stateWords((await client.resumeWorker(id)).task),
  },
  {
    id: 'interrupt',
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
    label: 'Mark complete',
    when: isOpen,
    confirm: () => 'The task counts as done, and what depends on it begins.',
    words: { label: 'Its result', needed: false },
    run: async (client, { id }, output) => stateWords((await client.completeTask(id, output)).task),
  },
  {
    id: 'discard',
    label: 'Discard worktree',
    harm: true,
    when: (row) => !isOpen(row) && row.hasFiles,
    confirm: () => 'Takes its worktree away. A snapshot is made first; “Restore” brings it back.',
    run: async (client, { id }) => `Discarded. Everything is in ${(await client.discardTask(id)).ref}.`,
  },
  {
    id: 'restore',
    label: 'Restore worktree',
    when: (row) => !isOpen(row) && row.hasFiles,
    run: async (client, { id }) => `Restored: ${(await client.restoreTask(id)).worktree}`,
  },
  {
    id: 'cancel',
    label: 'Cancel',
    key: 'x',
    harm: true,
    when: (row) => isOpen(row) && !row.cancelling,
    confirm: () => 'Ends it with all its subtasks. What they made stays on their branches.',
    words: { label: 'Why', needed: false },
    run: async (client, { id }, why) =>
      stateWords((await client.cancelTask(id, ...(why === '' ? [] : [why]))).task),
  },
];

export const PLAN_ACTS: readonly Act<Plan>[] = [
  {
    id: 'start-plan',
    label: 'Start',
    key: 's',
    first: true,
    when: ({ state }) => state === 'draft',
    run: async (client, { id }) => planWords(await client.startPlan(id)),
  },
  {
    id: 'pause-plan',
    label: 'Pause',
    key: 'p',
    when: ({ state }) => state === 'active',
    run: async (client, { id }) => planWords(await client.pausePlan(id)),
  },
  {
    id: 'resume-plan',
    label: 'Resume',
    key: 'p',
    first: true,
    when: ({ state }) => state === 'paused',
    run: async (client, { id }) => planWords(await client.resumePlan(id)),
  },
  {
    id: 'integrate-plan',
    label: 'Merge into my checkout',
    first: true,
    when: ({ state, integration }) => state === 'completed' && integration !== null,
    confirm: () =>
      'Merges the plan’s branch into your own checkout, if that is clean. A conflict changes nothing.',
    run: async (client, { id }) => pulledWords(await client.bringHome(id)),
  },
  {
    id: 'cancel-plan',
    label: 'Cancel plan',
    key: 'x',
    harm: true,
    when: ({ state, cancelling }) => ['draft', 'active', 'paused'].includes(state) && cancelling === null,
    confirm: () => 'Ends every task of the plan. What was made stays on the branches.',
    words: { label: 'Why', needed: false },
    run: async (client, { id }, why) => planWords(await client.cancelPlan(id, ...(why === '' ? [] : [why]))),
  },
];

/** LIM3: everything, at once. */
export const STOP_ALL: Act<null> = {
  id: 'stop-all',
  label: 'Stop everything',
  harm: true,
  when: () => true,
  confirm: () => 'Cancels every plan and every task, of every repository, at once.',
  run: async (client) => {
    const { stopped } = await client.stop({ scope: 'all' }, 'stopped from the dashboard');
    return `${plural(stopped, 'run')} stopped.`;
  },
};

const stateWords = ({ name, state, why }: { name: string; state: string; why: string }): string =>
  `${name} is ${state}${why === '' ? '' : `: ${why}`}.`;
const planWords = ({ name, state }: Plan): string => `${name} is ${state}.`;

function pulledWords(pulled: Pulled): string {
  if (pulled.merged)
    return `Merged as ${pulled.commit.slice(0, 12)}: ${plural(pulled.files.length, 'file')}.`;
  throw new Error(
    `It conflicts with your checkout in ${pulled.conflicts.map(({ path }) => path).join(', ')}. Nothing was changed.`,
  );
}
