import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HTTP_OPERATION_NAMES, type HttpOperation } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { anotherIn, budgetIn, checkAnother, checkBudget } from '../src/acts/fields.ts';

const SOURCES = join(import.meta.dirname, '..', 'src');

/** What no page calls, and why. */
const ELSEWHERE: Partial<Record<HttpOperation, string>> = {
  spawnSubtask: 'an agent or a session of its own does',
  spawnSubtasks: 'an agent does',
  awaitSubtasks: 'an agent does',
  checkUpdates: 'an agent does',
  reportCompletion: 'an agent does',
  notifyParent: 'an agent does',
  pullSubtask: 'an agent does, into its own checkout',
  addPlanTask: 'an orchestrator does, to its plan',
  openSession: 'a page is no session: it has no mailbox',
  endSession: 'a page is no session',
  getMessage: 'the mailbox shows all of them',
  getPlan: 'its rows are here already',
  listTasks: 'its rows are here already',
  getBudget: 'the view of runs holds it',
  backends: 'an agent that cannot be run is refused in words',
};

test('[DSH1.20] every operation that is a person’s can be done from the page', () => {
  const code = globSync('**/*.{ts,tsx}', { cwd: SOURCES }).map((file) =>
    readFileSync(join(SOURCES, file), 'utf8'),
  );
  const called = new Set(
    code.flatMap((text) => [...text.matchAll(/(?:client|api\(\))\s*\.(\w+)\(/g)].map(([, name]) => name)),
  );
  const missing = HTTP_OPERATION_NAMES.filter((name) => !called.has(name) && !(name in ELSEWHERE));
  const needless = HTTP_OPERATION_NAMES.filter((name) => called.has(name) && name in ELSEWHERE);
  expect({ missing, needless }).toEqual({ missing: [], needless: [] });
});

test('[DSH1.27] amounts are read as people write them, and what is none is said', () => {
  expect(checkBudget({})).toBe('Say how much of what.');
  expect(checkBudget({ tokens: 'plenty' })).toContain('“plenty” is no amount');
  expect(checkBudget({ tokens: '-5' })).toContain('is no amount');
  const said = { tokens: '1.5m', usd: '$2.50', turns: '', spawns: '0', minutes: '30' };
  expect(checkBudget(said)).toBe(null);
  expect(budgetIn(said)).toEqual({ tokens: 1_500_000, usd: 2.5, spawns: 0, wallMs: 1_800_000 });
  expect(budgetIn({ tokens: '2_000' })).toEqual({ tokens: 2_000 });
});

test('[DSH1.25] another agent, another model, or both; not neither', () => {
  expect(checkAnother({ agent: '', model: '' })).toBe('Say which agent, which model, or both.');
  expect(checkAnother({ agent: '', model: 'quick' })).toBe(null);
  expect(anotherIn({ agent: 'claude:coder', model: '' })).toEqual({ agent: 'claude:coder' });
});
