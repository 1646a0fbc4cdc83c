import { core, type PlantedBug } from './planted-bug.ts';

/** Mistakes about checkouts and what is made in them. */
export const BUGS_OF_FILES: readonly PlantedBug[] = [
  {
    name: 'end-without-its-work',
    invariant: 'work',
    file: core('tx.ts'),
    find: `    if (!left) throw new NotCollected(run);
`,
    replace: `    if (!left) return null;
`,
    why: 'a run ends before anybody has looked at what it left',
  },
  {
    name: 'retry-on-ruins',
    invariant: 'work',
    file: core('checkouts.ts'),
    find: `(last.status === 'failed' || last.status === 'cancelled')`,
    replace: `last.status === 'cancelled'`,
    why: 'a second attempt goes on with what the first one left half done',
  },
  {
    name: 'dependent-from-the-base',
    invariant: 'work',
    file: core('checkouts.ts'),
    find: `  if (task.dependencies.length === 0) return { kind: 'base', ...base };
`,
    replace: `  if (task.dependencies.length < 2) return { kind: 'base', ...base };
`,
    why: 'a dependent starts without what it depends on',
  },
  {
    name: 'escape-forgiven',
    invariant: 'work',
    file: core('findings.ts'),
    find: `  if (findings.escapes.length > 0)
    return`,
    replace: `  if (findings.escapes.length > 9)
    return`,
    why: 'who got out of its checkout and then reports success has succeeded',
  },
  {
    name: 'untaken-work-counts',
    invariant: 'work',
    file: core('findings.ts'),
    find: `  if (!work?.problem ||`,
    replace: `  if (work?.problem !== '' ||`,
    why: 'a task whose work could not be taken completes, and its dependents start without it',
  },
];
