import type { Plan } from '@reveille/protocol';
import { isPlanOpen } from '../store/summary.ts';
import { ifSaid, words, type Act } from './act.ts';
import { planWords, pulledWords } from './answers.ts';
import { CHANGES_BUDGET, budgetIn } from './fields.ts';

/** Everything that can be done to a plan. */
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
    id: 'budget-plan',
    ...CHANGES_BUDGET,
    when: isPlanOpen,
    run: async (client, { id }, said) => {
      await client.raiseBudget(id, budgetIn(said));
      return 'The budget of the plan is changed.';
    },
  },
  {
    id: 'cancel-plan',
    label: 'Cancel plan',
    key: 'x',
    harm: true,
    when: ({ state, cancelling }) => ['draft', 'active', 'paused'].includes(state) && cancelling === null,
    confirm: () => 'Ends every task of the plan. What was made stays on the branches.',
    fields: words('Why'),
    run: async (client, { id }, said) => planWords(await client.cancelPlan(id, ...ifSaid(said))),
  },
];
