import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { place, simple, type Place } from './place.ts';

describe('which specialist', () => {
  let built: Place;
  beforeAll(() => {
    built = place();
  });
  afterAll(() => built[Symbol.dispose]());

  test.for([
    ['Review the tests for the parser', 'reviewer'],
    ['Write tests for the parser', 'tester'],
    ['Fix the failing test in the core package', 'coder'],
    ['How does authentication work in this codebase?', 'researcher'],
    ['Design the API structure for the export feature', 'architect'],
    ['Investigate why the daemon leaks memory', 'researcher'],
    ['Implement a retry with backoff in the HTTP client', 'coder'],
    ['What should the error message say when the port is in use?', 'product'],
    ['Add unit tests for edge cases of the date parser', 'tester'],
    ['Audit this change for security problems', 'reviewer'],
    ['Please find out where the config file is loaded', 'researcher'],
    ['Should we use SQLite or Postgres for the queue?', 'architect'],
    ['We are refactoring the scheduler into smaller functions', 'coder'],
    ['Reproduce the crash on startup with a test', 'tester'],
    ['Check whether the migration is safe', 'reviewer'],
    ['Clarify the requirements of the onboarding flow', 'product'],
    ['Explain how the event stream resumes after a disconnect', 'researcher'],
    ['Rename the option and update its users', 'coder'],
    ['The build is broken: fix the type errors in the stores package', 'coder'],
    ['Improve test coverage of the mailbox', 'tester'],
    ['Which files would be affected if we changed the Task type?', 'researcher'],
    ['Decide between polling and events for the dashboard', 'architect'],
    ['Verify that the new endpoint does not leak tokens', 'reviewer'],
    ['Upgrade the dependency to version 5', 'coder'],
    ['Trace what happens when a child process is killed', 'researcher'],
    ['Write acceptance criteria for the login page', 'product'],
    ['Split the module into two packages; which approach is best?', 'architect'],
    ['Users complain that the onboarding is confusing', 'product'],
    ['Delete the old endpoint and everything that uses it', 'coder'],
    ['Can you give me a second opinion on this pull request?', 'reviewer'],
    ['I need to understand the flow of a message from the queue to the client.', 'researcher'],
    ['Ask the reviewer to look at it', 'reviewer'],
    ['@claude:tester please take care of this review', 'tester'],
  ] as const)('[AGT7.4] %s', ([task, name]) => {
    expect(built.agents.suggest(task)[0]?.name).toBe(name);
  });

  test.for(['', 'hello world', 'the of and to', '日本語のテキスト', '!!! ??? ...', '@nobody'])(
    '[AGT7.4] nothing in %j speaks for anybody',
    (task) => {
      expect(built.agents.suggest(task)).toEqual([]);
    },
  );

  test('[AGT7.4] a score, and the reason for it in the words of the task', () => {
    using at = place();
    const [first, second] = at.agents.suggest(
      'Review the concurrency of the scheduler, then write tests for it.',
    );
    expect(first).toEqual({
      name: 'reviewer',
      score: 6.5,
      reason: 'triggers: review; expertise: concurrency',
    });
    expect(second).toEqual({ name: 'tester', score: 5, reason: 'triggers: write tests' });
  });

  test('[AGT7.4] nobody who is not trusted, hidden, or does not want to be', () => {
    using at = place({ isTrusted: () => false });
    const header = (name: string) => ['---', `name: ${name}`, 'description: d', 'triggers: [zebra]'];
    at.write('repository/.claude/agents/stranger.md', ...header('stranger'), '---', 'x');
    at.write('home/.claude/agents/shy.md', ...header('shy'), 'suggest: false', '---', 'x');
    at.write(
      'home/.claude/agents/alone.md',
      ...header('alone'),
      'disable-model-invocation: true',
      '---',
      'x',
    );
    at.write('home/.claude/agents/open.md', ...header('open'), '---', 'x');
    expect(at.agents.suggest('paint the zebra').map(({ name }) => name)).toEqual(['open']);
  });
});

describe('words', () => {
  test('[AGT7.5] endings do not count, parts of words do', () => {
    using at = place();
    const names = (task: string) => at.agents.suggest(task).map(({ name }) => name);
    for (const task of ['investigate it', 'investigating it', 'an investigation', 'Investigations!'])
      expect(names(task)).toEqual(['researcher']);
    for (const task of ['the latest contest', 'a product-free fixation', 'reviewable'])
      expect(names(task).filter((name) => name !== 'product')).toEqual([]);
  });

  test('[AGT7.5] the longer phrase counts, and no word of the task twice', () => {
    using at = place();
    at.write(
      'home/.claude/agents/p.md',
      '---',
      'name: p',
      'description: d',
      'triggers: [zebra, zebras, wild zebra]',
      '---',
      'x',
    );
    expect(at.agents.suggest('a wild zebra')).toEqual([
      { name: 'p', score: 11, reason: 'triggers: wild zebra' },
    ]);
  });

  test('[AGT7.5] of equal ones the nearer is first, then the name decides, whatever the order of the files', () => {
    using at = place();
    const lines = (name: string) => [
      '---',
      `name: ${name}`,
      'description: d',
      'triggers: [zebra]',
      '---',
      'x',
    ];
    at.write('home/.claude/agents/1.md', ...lines('beta'));
    at.write('home/.claude/agents/2.md', ...lines('alpha'));
    at.write('repository/.claude/agents/3.md', ...lines('gamma'));
    const first = at.agents.suggest('zebra');
    expect(first.map(({ name }) => name)).toEqual(['alpha', 'beta', 'gamma']);
    at.remove('home/.claude/agents/1.md');
    at.write('home/.claude/agents/9.md', ...lines('beta'));
    expect(at.agents.suggest('zebra')).toEqual(first);
  });

  test('[AGT7.5] a task as long as a book is answered', () => {
    using at = place();
    expect(at.agents.suggest(`Review it. ${'and the rest '.repeat(100_000)}`)[0]?.name).toBe('reviewer');
    expect(at.agents.suggest(`Review it. ${'.'.repeat(190_000)}x`)[0]?.name).toBe('reviewer');
    expect(at.agents.suggest(simple('x').join('\n'))).toEqual([]);
  });
});
