import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOOL_NAMES, WORKER_TOOLS, allowedTools } from '@reveille/agents';
import { place, simple, type Place } from './place.ts';

let at: Place;
beforeAll(() => {
  at = place({ builtins: '/nonexistent' });
});
afterAll(() => at[Symbol.dispose]());

/** The one definition that a file with these lines makes. */
function define(path: string, ...lines: string[]) {
  at.write(path, ...lines);
  const [entry] = at.agents.list();
  const problems = at.agents.problems();
  at.remove(path);
  return { definition: entry?.definition, problems };
}
const withTools = (...header: string[]) =>
  define('home/.claude/agents/x.md', '---', 'name: x', 'description: d', ...header, '---', 'Do it.');

describe('the two formats', () => {
  test('[AGT5.2] a file of VS Code, with everything that is written in one', () => {
    const { definition, problems } = define(
      'repository/.github/agents/Db-Expert.agent.md',
      '---',
      'description: Knows databases.',
      "tools: ['read', 'search/codebase', 'github/search_code', 'web']",
      "model: ['Claude Sonnet 4.5 (copilot)', 'GPT-5']",
      'argument-hint: a question',
      'handoffs:',
      '  - label: Fix it',
      '    agent: coder',
      '---',
      '# Db expert',
      '',
      '## Role',
      'You know databases.',
      '',
      '## Expertise',
      '- SQL',
      '- indexes',
      '',
      '## When to Delegate to This Agent',
      'When a query is slow.',
      '## Delegation Guidance',
      'Never delegate.',
    );
    expect(problems).toEqual([]);
    expect(definition).toMatchObject({
      name: 'db-expert',
      description: 'Knows databases.',
      role: 'You know databases.',
      expertise: ['SQL', 'indexes'],
      whenToUse: 'When a query is slow.',
      delegation: 'Never delegate.',
      model: 'Claude Sonnet 4.5 (copilot)',
      backend: null,
      reportsByLastMessage: false,
      place: 'repository',
      format: 'vscode',
      readOnly: false,
    });
    expect(definition?.tools).toContain('mcp:github/search_code');
    expect(definition?.instructions).toMatch(/^# Db expert[\s\S]*Never delegate\.$/);
    expect(definition?.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test('[AGT5.2] a file of Claude Code, with windows lines and a mark at its start', () => {
    const { definition, problems } = define(
      'home/.claude/agents/helpers/code-reviewer.md',
      [
        '\uFEFF---',
        'name: code-reviewer',
        'description: "Use this agent after: every change"',
        'tools: Read, Grep, Glob, Agent(researcher, tester)',
        'model: inherit',
        'color: red',
        '---',
        '',
        'You review code.',
      ].join('\r\n'),
    );
    expect(problems).toEqual([]);
    expect(definition).toMatchObject({
      name: 'code-reviewer',
      description: 'Use this agent after: every change',
      role: 'Use this agent after: every change',
      instructions: 'You review code.',
      model: null,
      delegatesTo: ['researcher', 'tester'],
      place: 'home',
      format: 'claude',
      readOnly: true,
    });
    expect(definition?.tools).toEqual(
      expect.arrayContaining(['read_file', 'search_text', 'a2a_spawn_subtask']),
    );
  });

  test('[AGT5.2] keys of ours in any style', () => {
    const { definition, problems } = withTools(
      'when_to_use: When it rains.',
      'triggers: [rain, heavy rain]',
      'expertise: water, clouds',
      'Reports-By-Last-Message: true',
      'backend: Claude',
      'suggest: false',
    );
    expect(problems).toEqual([]);
    expect(definition).toMatchObject({
      whenToUse: 'When it rains.',
      triggers: ['rain', 'heavy rain'],
      expertise: ['water', 'clouds'],
      reportsByLastMessage: true,
      backend: 'claude',
      suggested: false,
    });
  });

  test('[AGT5.2] what is not said follows from the rest', () => {
    const { definition, problems } = define(
      'home/.reveille/agents/Plan-Mode.agent.md',
      '---',
      'name: Plan Mode',
      '---',
      '# Title',
      '',
      'Plans things',
      'in two lines.',
    );
    expect(problems).toEqual([]);
    expect(definition).toMatchObject({
      name: 'plan-mode',
      description: 'Plans things in two lines.',
      tools: ['*'],
      delegatesTo: null,
      suggested: true,
    });
  });

  test('[AGT5.2] headings inside a block of code are not sections', () => {
    const { definition } = define(
      'home/.claude/agents/x.md',
      ...simple('x', ['```', '## Role', 'not this', '```', '## Role', 'this'].join('\n')),
    );
    expect(definition?.role).toBe('this');
  });

  test('[AGT5.2] a heading may be closed, and one that is made to be slow is none of ours', () => {
    const slow = `#${' '.repeat(20_000)}\u2028x`;
    const { definition } = define(
      'home/.claude/agents/x.md',
      ...simple('x', [slow, '##  Role ###', 'this', '# Other'].join('\n')),
    );
    expect(definition?.role).toBe('this');
  });
});

describe('what cannot be used', () => {
  const problem = (...lines: string[]) => define('home/.claude/agents/x.md', ...lines).problems[0];

  test.for([
    ['a broken list', ['---', 'name: x', 'tools: [a, b', '---', 'y'], 3, 13, /flow|list|Flow/],
    ['a key twice', ['---', 'name: x', 'name: y', 'description: d', '---', 'y'], 3, 1, /unique/],
    [
      'a key twice in two styles',
      ['---', 'name: x', 'description: d', 'when-to-use: a', 'whenToUse: b', '---', 'y'],
      5,
      1,
      /twice/,
    ],
    ['a tab', ['---', 'name: x', 'tools:', '\t- a', '---', 'y'], 4, 1, /tab/i],
    ['no map', ['---', '- a', '---', 'y'], 2, 1, /key: value/],
    ['no front matter', ['# x'], 1, 1, /no front matter/],
    ['an end that never comes', ['---', 'name: x'], 1, 1, /no front matter/],
    ['no name', ['---', 'description: d', '---', 'y'], 1, 1, /no name/],
    ['no description and no text', ['---', 'name: x', '---', ''], 1, 1, /no description/],
    [
      'an empty list of tools',
      ['---', 'name: x', 'description: d', 'tools:', '---', 'y'],
      4,
      7,
      /write \[\]/,
    ],
    [
      'a map of tools',
      ['---', 'name: x', 'description: d', 'tools:', '  a: b', '---', 'y'],
      5,
      3,
      /is a list/,
    ],
    [
      'a list in a list',
      ['---', 'name: x', 'description: d', 'tools: [read, [write]]', '---', 'y'],
      4,
      15,
      /list of texts/,
    ],
    [
      'a word where a flag is',
      ['---', 'name: x', 'description: d', 'suggest: perhaps', '---', 'y'],
      4,
      10,
      /true or false/,
    ],
    [
      'a name with a dot',
      ['---', 'description: d', 'name: a.b', '---', 'y'],
      3,
      7,
      /"a.b" cannot be the name/,
    ],
    [
      'a path as a name',
      ['---', 'description: d', 'name: ../../etc/passwd', '---', 'y'],
      3,
      7,
      /cannot be the name/,
    ],
    [
      'a backend that cannot be',
      ['---', 'name: x', 'description: d', 'backend: a b', '---', 'y'],
      4,
      10,
      /backend/,
    ],
    ['an alias', ['---', 'name: x', 'description: &d text', 'model: *d', '---', 'y'], 4, 8, /is a list/],
  ] as const)('[AGT5.3] %s', ([, lines, line, column, message]) => {
    expect(problem(...lines)).toMatchObject({ severity: 'error', line, column });
    expect(problem(...lines)?.message).toMatch(message);
  });

  test('[AGT5.3] the others load, and the problem names the file', () => {
    using own = place();
    const bad = own.write('repository/.claude/agents/bad.md', '---', 'name: [', '---', 'x');
    own.write('repository/.claude/agents/good.md', ...simple('good'));
    expect(own.agents.names()).toContain('good');
    expect(own.agents.problems()).toMatchObject([{ path: bad, severity: 'error' }]);
  });

  test('[AGT5.3] a front matter without end in length or depth is not even parsed', () => {
    for (const header of [
      '['.repeat(10_000),
      `description: ${'x'.repeat(20_000)}`,
      `hooks: ${'{a: '.repeat(60)}`,
    ]) {
      const { definition, problems } = withTools(header);
      expect(definition).toBeUndefined();
      expect(problems).toHaveLength(1);
      expect(problems[0]?.message).toMatch(/longer than 16384 characters, or deeper than 50/);
    }
  });

  test('[AGT5.3] thousands of entries are refused, not read', () => {
    const { definition, problems } = withTools(
      `triggers: [${Array.from({ length: 201 }, (_, i) => `t${i}`).join(', ')}]`,
    );
    expect(definition).toBeUndefined();
    expect(problems[0]?.message).toBe('triggers has 201 entries; 200 are allowed');
  });
});

describe('what is worth a remark', () => {
  const remark = (...header: string[]) => {
    const { definition, problems } = withTools(...header);
    expect(definition?.name).toBe('x');
    return problems;
  };

  test('[AGT5.4] a description in one line with colons, as Claude Code makes them, is read as it is meant', () => {
    const { definition, problems } = define(
      'home/.claude/agents/x.md',
      '---',
      'name: x',
      String.raw`description: Use this agent when asked. Examples:\n<example>Context: a bug. user: "fix: it" </example>`,
      'model: sonnet',
      '---',
      'Do it.',
    );
    expect(definition).toMatchObject({
      description: 'Use this agent when asked. Examples: <example>Context: a bug. user: "fix: it" </example>',
      model: 'sonnet',
    });
    expect(problems).toMatchObject([{ severity: 'warning', line: 3 }]);
    expect(problems[0]?.message).toMatch(/in quotes/);
  });

  test('[AGT5.4] an unknown key and an unknown tool name the nearest', () => {
    expect(remark('trigers: [a]')).toMatchObject([
      { severity: 'warning', line: 4, message: '"trigers" means nothing here; nearest: triggers' },
    ]);
    const [unknown] = remark('tools: [read_file, edit_fil]');
    expect(unknown?.message).toMatch(/no tool "edit_fil"; nearest: edit_file/);
  });

  test('[AGT5.4] a title that cannot be a name gives way to the name of the file', () => {
    const { definition, problems } = define(
      'home/.github/agents/beast.agent.md',
      '---',
      'name: Beast Mode 3.1!',
      'description: d',
      '---',
      'Do it.',
    );
    expect(definition?.name).toBe('beast');
    expect(problems).toMatchObject([{ severity: 'warning', line: 2, column: 7 }]);
  });

  test('[AGT5.4] characters that are not seen are pointed at', () => {
    const { problems } = define('home/.claude/agents/x.md', ...simple('x', 'Be good.\nOr \u202Eelse.'));
    expect(problems).toMatchObject([{ severity: 'warning', line: 6, column: 4 }]);
    expect(problems[0]?.message).toContain('U+202E');
  });
});

describe('tools', () => {
  const allowed = (...header: string[]) => {
    const { definition } = withTools(...header);
    return definition ? allowedTools(definition, TOOL_NAMES) : [];
  };
  const without = (names: readonly string[]) =>
    names.filter((name) => !WORKER_TOOLS.some((tool) => tool === name));

  test('[AGT4.1] exactly what is allowed, and what every worker needs', () => {
    expect(without(allowed('tools: [read_file, run_tests]')).toSorted()).toEqual(['read_file', 'run_tests']);
    expect(allowed('tools: []').toSorted()).toEqual([...WORKER_TOOLS].toSorted());
    expect(allowed('tools: [read_file]', 'disallowedTools: a2a_subtask_complete')).toContain(
      'a2a_subtask_complete',
    );
  });

  test('[AGT4.1] everything is everything of a worker; what orchestrates has to be named', () => {
    for (const header of [[], ['tools: "*"'], ["tools: ['*']"]]) {
      const names = allowed(...header);
      expect(names).toEqual(TOOL_NAMES.filter((name) => !name.startsWith('orchestrator_')));
    }
    expect(without(allowed('tools: [orchestrator_*]'))).toEqual(
      TOOL_NAMES.filter((name) => name.startsWith('orchestrator_')),
    );
  });

  test('[AGT4.1] what does not exist is not given', () => {
    const { definition } = withTools('tools: [read_file, find_usages]');
    expect(definition && allowedTools(definition, ['read_file', 'edit_file'])).toEqual(['read_file']);
  });

  test.for([
    ['Read, Grep, Glob', ['read_file', 'search_text', 'list_directory']],
    ['Edit', ['edit_file']],
    ['edit', ['create_file', 'edit_file', 'delete_file']],
    ['Write, Bash', ['create_file', 'run_command']],
    ['execute/runTests', ['run_tests']],
    ['search/usages', ['navigate_to_symbol', 'find_usages', 'explore_module', 'document_outline', 'type_of']],
    ['edit/*', ['create_file', 'edit_file', 'delete_file']],
    ['WebFetch, fetch', ['web_fetch']],
    ['mcp__github__create_issue, mcp__linear', ['mcp:github/create_issue', 'mcp:linear/*']],
    ['playwright/*', ['mcp:playwright/*']],
    ['problems, AskUserQuestion', []],
    ['constructor', []],
  ] as const)('[AGT4.2] %s', ([tools, ours]) => {
    expect(withTools(`tools: ${tools}`).definition?.tools).toEqual(ours);
  });

  test.for([
    ['tools: Read, Grep, Glob, WebSearch', true],
    ['tools: [read, search, agent]', true],
    ['tools: []', true],
    ['tools: [orchestrator_*, read_file]', true],
    ['tools: Read, Bash', false],
    ['tools: [read_file, run_tests]', false],
    ['tools: [a2a_*]', false],
    ['tools: [read_file, github/*]', false],
    ['model: sonnet', false],
    ['permissionMode: plan', true],
    ["permissionMode: plan\ntools: ['*', github/*]", false],
    ['disallowedTools: Write, Edit, Bash', false],
    ['disallowedTools: [edit, execute, a2a_pull_subtask_changes]', true],
  ] as const)('[AGT4.3] %s: read-only is %s', ([header, readOnly]) => {
    expect(withTools(header).definition?.readOnly).toBe(readOnly);
  });

  test('[AGT4.4] what allows or denies only some uses of a tool', () => {
    const { definition, problems } = withTools('tools: Read, Bash(git *)');
    expect(definition?.tools).toEqual(['read_file']);
    expect(problems[0]?.message).toMatch(/Bash\(…\) allows only some uses/);
    expect(allowed('disallowedTools: Bash(rm *)')).not.toContain('run_command');
  });

  test('[AGT4.4] whoever plans only writes nothing', () => {
    const names = allowed('permissionMode: plan');
    expect(names).toContain('read_file');
    for (const name of ['edit_file', 'create_file', 'delete_file', 'run_command', 'run_tests'])
      expect(names).not.toContain(name);
  });

  test('[AGT4.4] whom it may spawn', () => {
    expect(withTools("agents: ['*']").definition?.delegatesTo).toBeNull();
    expect(withTools("agents: [Researcher, '@tester']").definition?.delegatesTo).toEqual([
      'researcher',
      'tester',
    ]);
    const names = allowed('agents: []');
    expect(names).not.toContain('a2a_spawn_subtask');
    expect(names).not.toContain('a2a_spawn_parallel_subtasks');
  });
});
