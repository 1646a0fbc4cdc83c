import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about reviews by agents. */
export const BUGS_OF_REVIEWS: readonly PlantedBug[] = [
  {
    name: 'one-round-too-many',
    invariant: 'reviews',
    file: core('review-start.ts'),
    find: `if (by && run && round <= most) return`,
    replace: `if (by && run && round <= most + 1) return`,
    why: 'an agent looks at the same work more often than it may, and the person is not asked',
  },
  {
    name: 'changes-approve',
    invariant: 'reviews',
    file: core('review.ts'),
    find: `if (verdict?.verdict === 'approve') return`,
    replace: `if (verdict) return`,
    why: 'work that a reviewer wants changed counts as completed',
  },
  {
    name: 'no-verdict-sends-back',
    invariant: 'reviews',
    file: core('review.ts'),
    find: `  if (verdict && round < most)
    return sendBack(tx, context, next, { comment: verdict.comments, from: senderOf(reviewer) });`,
    replace: `  if (round < most)
    return sendBack(tx, context, next, { comment: verdict?.comments ?? 'again', from: senderOf(reviewer) });`,
    why: 'a reviewer that cannot tell costs a round, and the person is not asked',
  },
  {
    name: 'reviewer-of-nothing',
    invariant: 'reviews',
    file: core('settle.ts'),
    find: `  await cancelTree(tx, context, await tx.need('task', reviewing.task), wish);
`,
    replace: ``,
    why: 'a reviewer works on although the person has decided',
  },
  {
    name: 'rounds-of-the-last-attempt',
    invariant: 'reviews',
    file: core('review-start.ts'),
    find: `reviewing: { ...reviewing, round: 0, task: null, said: '' }`,
    replace: `reviewing: { ...reviewing, task: null, said: '' }`,
    why: 'a task that is tried again has no rounds left',
  },
];
