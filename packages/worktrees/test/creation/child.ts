import { writeSync } from 'node:fs';
import {
  fillPool,
  removeCheckout,
  resolveStart,
  createCheckout,
  findRepository,
  WORKTREE_DEFAULTS,
} from '@reveille/worktrees';
import { AUTHOR } from './scratch.ts';

/**
 * A process that makes and removes worktrees until it is killed: `child.ts <root> <kind> <id>`. It says on stdout, with
 * a write that is over before it goes on, what it has made and what it is about to remove.
 */
const [root = '', kind = 'clone', id = ''] = process.argv.slice(2);
const setup = { command: 'true', lockFiles: ['a.txt'], movable: false };
const settings = {
  ...WORKTREE_DEFAULTS,
  kind: kind === 'linked' ? 'linked' : 'clone',
  pool: 1,
  setup,
} as const;
const say = (word: string, name: string): number => writeSync(1, `${word} ${name}\n`);

const repository = await findRepository(root, settings);
for (let i = 0; ; i += 1) {
  const start = await resolveStart(repository, { dirty: 'head' });
  const filling = i % 3 === 0 ? fillPool(repository, { settings, commit: start.commit }) : null;
  const { checkout } = await createCheckout(repository, {
    plan: 'plan',
    task: 'task',
    id: `${id}-${i}`,
    start,
    author: AUTHOR,
    settings,
    runSetup: async () => ({ code: 0 }),
  });
  say('made', checkout.name);
  await filling;
  if (i % 4 === 3) continue;
  say('removing', checkout.name);
  await (
    await removeCheckout(checkout)
  ).deleted;
  say('removed', checkout.name);
}
