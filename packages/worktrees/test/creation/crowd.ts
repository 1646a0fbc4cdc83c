import {
  createCheckout,
  findRepository,
  removeCheckout,
  resolveStart,
  WORKTREE_DEFAULTS,
} from '@reveille/worktrees';
import { AUTHOR, asPerson } from './scratch.ts';

/**
 * A process that makes and removes many worktrees, several at a time: `crowd.ts <root> <how many> <at a time> <who>`.
 * Every second one is linked; all have the same name. It prints how many there were, and what failed.
 */
const [root = '', count = '1', atATime = '1', who = ''] = process.argv.slice(2);
const repository = await findRepository(root, WORKTREE_DEFAULTS);
const start = await resolveStart(repository, { dirty: 'fail' });
const failures: string[] = [];
let next = 0;
const removals: Promise<void>[] = [];
let made = 0;

async function makeOne(i: number): Promise<void> {
  const settings = { ...WORKTREE_DEFAULTS, kind: i % 2 === 0 ? 'clone' : 'linked' } as const;
  const names = { plan: 'crowd', task: 'same', id: `${who}-${i}` };
  const { checkout } = await createCheckout(repository, { ...names, start, author: AUTHOR, settings });
  made += 1;
  // Now and then what an agent does first: it must find everything in its place.
  if (i % 10 === 0 && (await asPerson(checkout.path, 'status', '--porcelain')) !== '')
    throw new Error('not clean');
  removals.push((await removeCheckout(checkout)).deleted);
}

async function makeMany(): Promise<void> {
  for (let i = next++; i < Number(count); i = next++)
    await makeOne(i).catch((error: unknown) =>
      failures.push(error instanceof Error ? error.message : String(error)),
    );
}

await Promise.all(Array.from({ length: Number(atATime) }, makeMany));
await Promise.all(removals);
process.stdout.write(JSON.stringify({ made, failures }));
