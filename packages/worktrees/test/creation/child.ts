import { writeSync } from 'node:fs';
import {
  createCheckout,
  fillPool,
  findRepository,
  removeCheckout,
  resolveStart,
  WORKTREE_DEFAULTS,
} from '@reveille/worktrees';
import { AUTHOR } from './scratch.ts';

/**
 * A process that makes and removes worktrees until it is killed: `child.ts <root> <kind> <pool>`. It says on stdout,
 * with a write that is over before it goes on, what it has made and what it is about to remove.
 */
const [root = '', kind = 'clone', pool = '0'] = process.argv.slice(2);
const setup = { command: 'true', lockFiles: ['a.txt'], movable: false };
const settings = {
  ...WORKTREE_DEFAULTS,
  kind: kind === 'linked' ? 'linked' : 'clone',
  pool: Number(pool),
  setup,
} as const;
const say = (word: string, name: string): number => writeSync(1, `${word} ${name}\n`);

const repository = await findRepository(root, settings);
for (let i = 0; ; i += 1) {
  const start = await resolveStart(repository, { dirty: 'head' });
  if (settings.pool > 0) await fillPool(repository, { settings, commit: start.commit });
  const { checkout } = await createCheckout(repository, {
    plan: 'plan',
    task: 'task',
    id: `task_${i}`,
    start,
    author: AUTHOR,
    settings,
    runSetup: async () => ({ code: 0 }),
  });
  say('made', checkout.name);
  if (i % 4 === 3) continue;
  say('removing', checkout.name);
  await (
    await removeCheckout(checkout)
  ).deleted;
}
