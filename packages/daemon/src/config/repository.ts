import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { secretPlaceIn } from '@reveille/worktrees/secrets';
import { expandHome } from './home.ts';
import type { Finding } from './problems.ts';
import { SETTINGS } from './settings.ts';

/** From the top of the checkout. */
export const REPOSITORY_FILE = join('.reveille', 'config.yaml');

/** As what the settings of a repository are trusted: all of them together, since any of them can say what is run. */
export const repositoryItem = (content: string) =>
  ({ kind: 'command', name: '.reveille/config.yaml', content }) as const;

/** Whether there is nothing in it but comments: then there is nothing to trust either. */
export const saysNothing = (content: string): boolean =>
  content.split('\n').every((line) => /^\s*(#.*)?$/.test(line));

/** A repository speaks for its own checkouts; the rest is the person's, trusted or not. */
const GROUPS = new Set(['worktrees', 'sandbox', 'approvals', 'integration']);

/** Of those groups, what is of the person's machine, or of all repositories. */
const NOT_THEIRS = new Set([
  'worktrees.home',
  'worktrees.branchPrefix',
  'worktrees.ports',
  'sandbox.memoryMb',
  'sandbox.processes',
  'sandbox.diskMb',
]);

/** What a repository may only make stricter. */
const STRICTEST: Readonly<Record<string, string>> = {
  'sandbox.mode': 'require',
  'sandbox.audit': 'always',
  'approvals.preset': 'careful',
};

/** What the reference says of a group. */
export function repositoryWords(group: string): string {
  if (!GROUPS.has(group)) return '';
  const of = (names: readonly string[]): string =>
    names
      .filter((name) => name.startsWith(`${group}.`))
      .map((name) => `\`${name}\``)
      .join(', ');
  const not = of([...NOT_THEIRS]);
  const stricter = of(Object.keys(STRICTEST));
  return [
    ` A repository may set these for its own checkouts${not === '' ? '' : `, except ${not}`}.`,
    ...(stricter === ''
      ? []
      : [` It can only make ${stricter} stricter, and open no place with credentials.`]),
  ].join('');
}

const OWN = 'a repository cannot set this; it belongs into your own configuration';

/** What a repository says that it may not say. What is no setting at all is found elsewhere. */
export function refusedOf(value: unknown, home = homedir()): Finding[] {
  return entriesOf(value).flatMap(([group, inside]) => {
    if (!TOP.has(group)) return [];
    if (!GROUPS.has(group)) return [{ path: [group], key: true, problem: OWN }];
    return entriesOf(inside).flatMap(([key, set]) => refusedSetting(`${group}.${key}`, set, home));
  });
}

const TOP = new Set(SETTINGS.map(({ path }) => path[0]));

function refusedSetting(name: string, set: unknown, home: string): Finding[] {
  const path = name.split('.');
  if (NOT_THEIRS.has(name)) return [{ path, key: true, problem: OWN }];
  const strictest = STRICTEST[name];
  if (strictest !== undefined && set !== strictest) {
    const problem = `a repository can only make this stricter: ${strictest}. Less is for your own configuration to say`;
    return [{ path, key: false, problem }];
  }
  if (name !== 'sandbox.reads' && name !== 'sandbox.writes') return [];
  return (Array.isArray(set) ? set : []).flatMap((named: unknown, i) => {
    const secret = typeof named === 'string' ? secretPlaceIn(resolve(expandHome(named, home)), home) : null;
    const problem = `${secret} holds credentials or is of your own; a repository cannot open it to agents`;
    return secret === null ? [] : [{ path: [...path, i], key: false, problem }];
  });
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
