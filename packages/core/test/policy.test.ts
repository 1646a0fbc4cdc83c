import { judge, meet } from '@reveille/core';
import {
  ACTION_KINDS,
  PolicyRules,
  VERDICTS,
  parseApprovals,
  stricter,
  type PolicyChain,
  type PolicyRule,
  type Verdict,
} from '@reveille/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const CODER = { backend: 'builtin', name: 'coder' };
const command = (line: string, held = true) => ({
  tool: 'run_command',
  kind: 'command' as const,
  command: line,
  paths: [],
  held,
});
const file = (path: string, tool: 'edit_file' | 'read_file' = 'edit_file') => ({
  tool,
  kind: tool === 'read_file' ? ('read' as const) : ('write' as const),
  command: null,
  paths: [path],
  held: true,
});
const chain = (rules: PolicyRule[], preset: 'careful' | 'normal' | 'trusting' = 'normal'): PolicyChain => [
  { agent: CODER, layers: [{ from: 'a test', preset, rules }] },
];
const verdict = (rules: PolicyRule[], action: Parameters<typeof judge>[1]): Verdict =>
  judge(chain(rules), action).verdict;

describe('meeting', () => {
  const word = fc.constantFrom('git push', 'npm test', 'rm -rf x', 'src/a.ts', '.env', 'infra/main.tf');
  const rule: fc.Arbitrary<PolicyRule> = fc
    .record(
      {
        tool: fc.constantFrom('run_command', 'edit_file', 'write', '*', 'a2a_*'),
        command: fc.constantFrom('git*', 'npm test', '*', 'rm *'),
        path: fc.constantFrom('*.env', 'src/**', 'infra/'),
        agent: fc.constantFrom('coder', 'builtin:*', 'tester'),
        aboveUsd: fc.double({ min: 0, max: 10, noNaN: true }),
        verdict: fc.constantFrom(...VERDICTS),
      },
      { requiredKeys: ['verdict'] },
    )
    .map((given) => given as PolicyRule);
  const link = fc.record({
    agent: fc.record({
      backend: fc.constantFrom('builtin', 'claude'),
      name: fc.constantFrom('coder', 'tester'),
    }),
    layers: fc.array(
      fc.record({
        from: fc.constant('a test'),
        preset: fc.constantFrom('careful', 'normal', 'trusting'),
        rules: fc.array(rule, { maxLength: 4 }),
      }),
      { maxLength: 3 },
    ),
  });
  const action = fc.record({
    tool: fc.constantFrom('run_command', 'edit_file', 'a2a_spawn_subtask', 'summon'),
    kind: fc.constantFrom(...ACTION_KINDS),
    command: fc.option(fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' && '))),
    paths: fc.array(word, { maxLength: 3 }),
    held: fc.boolean(),
    usd: fc.double({ min: 0, max: 12, noNaN: true }),
  });
  const chains = fc.array(link, { maxLength: 3 });

  test('[INB2.10] a child is never allowed more than its parent, nor than its own policy says', () => {
    fc.assert(
      fc.property(chains, chains, action, (parent, own, wanted) => {
        const child = judge(meet(parent, own), wanted).verdict;
        const both = stricter(judge(parent, wanted).verdict, judge(own, wanted).verdict);
        expect(child).toBe(both);
      }),
      { numRuns: 500 },
    );
  });

  test('[INB2.10] meeting is the same in any order, and twice is once', () => {
    fc.assert(
      fc.property(chains, chains, action, (a, b, wanted) => {
        const said = (some: PolicyChain): Verdict => judge(some, wanted).verdict;
        expect(said(meet(a, b))).toBe(said(meet(b, a)));
        expect(meet(meet(a, b), b)).toEqual(meet(a, b));
      }),
    );
  });

  test('[INB2.10] joined to another, a command is never allowed more than alone', () => {
    fc.assert(
      fc.property(chains, word, word, (some, first, second) => {
        const joined = judge(some, command(`${first} && ${second}`)).verdict;
        expect(stricter(joined, judge(some, command(first)).verdict)).toBe(joined);
        expect(stricter(joined, judge(some, command(second)).verdict)).toBe(joined);
      }),
    );
  });
});

/** By preset: each kind of action, where something of ours holds it, and where nothing does. */
const PRESETS = {
  careful: { read: 'auto', delegate: 'auto', held: 'ask', free: 'ask', other: 'ask' },
  normal: { read: 'auto', delegate: 'auto', held: 'auto', free: 'ask', other: 'ask' },
  trusting: { read: 'auto', delegate: 'auto', held: 'auto', free: 'auto', other: 'auto' },
} as const;

describe('presets', () => {
  test.each(['careful', 'normal', 'trusting'] as const)('[INB2.11] %s, of every kind of action', (preset) => {
    const { held, free, ...same } = PRESETS[preset];
    for (const kind of ACTION_KINDS) {
      const wanted =
        kind in same ? [same[kind as keyof typeof same], same[kind as keyof typeof same]] : [held, free];
      const found = [true, false].map((isHeld) => {
        const action = { tool: 'any', kind, command: null, paths: [], held: isHeld };
        return judge(chain([], preset), action).verdict;
      });
      expect([kind, ...found]).toEqual([kind, ...wanted]);
    }
  });

  test.each([
    ['careful', ['auto', 'ask', 'ask', 'ask', 'auto']],
    ['normal', ['auto', 'auto', 'auto', 'ask', 'auto']],
    ['trusting', ['auto', 'auto', 'auto', 'auto', 'auto']],
  ] as const)('[INB2.11] %s', (preset, expected) => {
    const spawn = { ...file('a'), tool: 'a2a_spawn_subtask', kind: 'delegate' as const, paths: [] };
    const actions = [file('a', 'read_file'), file('a'), command('make'), command('make', false), spawn];
    expect(actions.map((each) => judge(chain([], preset), each).verdict)).toEqual(expected);
  });
});

describe('rules', () => {
  test.each(['', ' ', '# a remark'])(
    '[INB2.12] a rule for a tool holds for a command that runs nothing: "%s"',
    (line) => {
      expect(verdict([{ tool: 'run_command', verdict: 'deny' }], command(line))).toBe('deny');
      expect(verdict([], command(line))).toBe('auto');
    },
  );

  test.each([
    'git push',
    'git push origin main',
    'cd x && git push',
    'git  "push"',
    "g\\it 'pu'sh",
    'sudo git push',
    'GIT_TRACE=1 git push',
    '/usr/bin/git push',
    'echo $(git push)',
    'echo "`git push`"',
    'sh -c "git push"',
    'bash -lc "cd x; git push --force"',
    'eval git push',
    'true | xargs git push',
    '(git push)',
    'git push &',
    'true\ngit push',
    'timeout 5 git push',
  ])('[INB2.12] a command is found wherever it stands: %s', (line) => {
    expect(verdict([{ command: 'git push', verdict: 'deny' }], command(line))).toBe('deny');
  });

  test('[INB2.12] what only looks like it is another', () => {
    for (const line of ['git pushes', 'echo git push', "echo 'a; git push'", 'git pull'])
      expect(verdict([{ command: 'git push', verdict: 'deny' }], command(line)), line).toBe('auto');
  });

  test('[INB2.12] to let a command through, all of it must be named', () => {
    const allowed = (line: string): Verdict =>
      judge(chain([{ command: 'npm test*', verdict: 'auto' }], 'careful'), command(line)).verdict;
    expect(allowed('npm test')).toBe('auto');
    expect(allowed('npm test -- a.test.ts')).toBe('auto');
    for (const line of [
      'npm test; rm -rf .',
      'npm test $(rm x)',
      'npm test > ~/.bashrc',
      'npm test `x`',
      'npm test $X',
      // What is one part of a larger command is not the whole.
      'if true; then npm test; fi',
      'for i in 1; do npm test; done',
      'function npm { npm test; }',
      'function npm () ( npm test )',
      'npm() { npm test; }',
      '( ( npm test ) ); (( 1 ))',
    ])
      expect(allowed(line), line).toBe('ask');
  });

  test('[INB2.12] files, by name anywhere or by path from the root, whatever the spelling', () => {
    const rules: PolicyRule[] = [
      { path: '*.env', verdict: 'deny' },
      { path: 'infra/', verdict: 'ask' },
    ];
    for (const path of ['.env', 'a/b/.env', 'prod.ENV', './x/../.env'])
      expect(verdict(rules, file(path, 'read_file')), path).toBe('deny');
    for (const path of ['infra/a', 'infra/a/b.tf', './infra/x', 'src/../infra/x', 'a/b/.././../infra/x'])
      expect(verdict(rules, file(path)), path).toBe('ask');
    for (const path of ['src/infra.ts', 'infra/../src/a'])
      expect(verdict(rules, file(path)), path).toBe('auto');
  });

  test('[INB2.12] agents, tools by kind, and what the run has cost', () => {
    const rules: PolicyRule[] = [
      { agent: 'claude:*', verdict: 'deny' },
      { tool: 'write', aboveUsd: 2, verdict: 'ask' },
    ];
    expect(verdict(rules, { ...file('a'), usd: 2 })).toBe('auto');
    expect(verdict(rules, { ...file('a'), usd: 2.01 })).toBe('ask');
    const claude = [{ ...chain(rules)[0]!, agent: { backend: 'claude', name: 'coder' } }];
    expect(judge(claude, file('a'))).toMatchObject({
      verdict: 'deny',
      why: expect.stringContaining('rule 1'),
    });
  });

  test('[INB2.12] patterns and commands without end take no time that matters', () => {
    const pattern = `${'*a'.repeat(200)}b`;
    expect(verdict([{ command: pattern, verdict: 'deny' }], command('a'.repeat(9_000)))).toBe('auto');
    expect(verdict([], command('true;'.repeat(2_000)))).toBe('ask');
    expect(
      verdict([{ path: '**/'.repeat(100).concat('z'), verdict: 'deny' }], file('a/'.repeat(1_000))),
    ).toBe('auto');
  });
});

describe('contradictions', () => {
  const problems = (rules: unknown): string[] =>
    PolicyRules.safeParse(rules).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ??
    [];

  test('[INB2.13] are said, each with its place', () => {
    expect(
      problems([
        { command: 'git push*', verdict: 'ask' },
        { command: 'git push*', verdict: 'auto' },
        { tool: 'read_file', command: 'x', verdict: 'ask' },
        { tool: 'run_command', path: 'x', verdict: 'ask' },
        { aboveUsd: 1, verdict: 'auto' },
        { tool: 'run_comand', verdict: 'ask' },
      ]),
    ).toEqual([
      '1: it contradicts rule 1, which comes first and says ask where this says auto',
      '2: it can never apply: read_file runs no command',
      '3: it can never apply: of run_command no path is known; name the command instead',
      '4: it would allow more the more has been spent: above an amount, ask or deny',
      '5: there is no tool "run_comand"; nearest: run_command, command, run_tests',
    ]);
  });

  test('[INB2.13] a rule that an earlier one leaves nothing for is said too; odd numbers and words are refused', () => {
    expect(problems([{ verdict: 'deny' }, { tool: 'edit_file', verdict: 'auto' }])).toEqual([
      '1: it contradicts rule 1, which comes first and says deny where this says auto',
    ]);
    for (const wrong of [
      { aboveUsd: -1, verdict: 'ask' },
      { aboveUsd: 1e12, verdict: 'ask' },
      { verdict: 'maybe' },
      { comand: 'x', verdict: 'ask' },
    ])
      expect(problems([wrong]), JSON.stringify(wrong)).not.toEqual([]);
  });

  test('[INB2.13] in a definition: a preset, rules, or both', () => {
    expect(parseApprovals('careful')).toEqual({ approvals: { preset: 'careful', rules: [] } });
    expect(parseApprovals([{ path: 'infra/**', verdict: 'deny' }])).toMatchObject({
      approvals: { preset: 'trusting' },
    });
    expect(parseApprovals({ preset: 'normal', rules: [{ verdict: 'perhaps' }] })).toMatchObject({
      problems: [expect.stringContaining('approvals.rules.0.verdict')],
    });
    expect(parseApprovals(7)).toMatchObject({ problems: [expect.any(String)] });
  });
});
