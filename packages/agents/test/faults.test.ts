// Faults of the earlier system that concern definitions, as listed in test/FAULTS.md.
import { describe, expect, test } from 'vitest';
import { TOOL_NAMES, allowedTools, briefing } from '@reveille/agents';
import { nearest } from '@reveille/protocol';
import { place, simple } from './place.ts';

describe('definitions', () => {
  test('[B31] an unknown agent is nobody, and there is a list of those that exist', () => {
    using at = place();
    expect(at.agents.get('revewer')).toBeUndefined();
    expect(nearest('revewer', at.agents.names())[0]).toBe('reviewer');
  });

  test('[F59] a trigger is a word, not a piece of one, and the first that fits is not the one', () => {
    using at = place();
    expect(at.agents.suggest('the latest attestation')).toEqual([]);
    expect(at.agents.suggest('Review the architecture, the structure and the API design')[0]?.name).toBe(
      'architect',
    );
    expect(at.agents.suggest('Review the API')[0]?.name).toBe('reviewer');
  });

  test.for([
    ['in one line', ['tools: [read_file, edit_file]']],
    ['in several', ['tools:', '  - read_file', '  - edit_file']],
    ['not indented', ['tools:', '- read_file', '- edit_file']],
    ['with commas', ['tools: read_file, edit_file']],
    ['quoted', [`tools: ["read_file", 'edit_file']`]],
  ] as const)('[F142] a list %s is read', ([, lines]) => {
    using at = place();
    at.write(
      'home/.claude/agents/x.md',
      '---',
      'name: x',
      'description: d',
      ...lines,
      'model: opus',
      '---',
      'y',
    );
    expect(at.agents.get('x')).toMatchObject({ tools: ['read_file', 'edit_file'], model: 'opus' });
  });

  test('[F143] the tools of a definition are the tools of its runs', () => {
    using at = place();
    const researcher = at.agents.get('researcher');
    const coder = at.agents.get('coder');
    expect(researcher && allowedTools(researcher, TOOL_NAMES)).not.toContain('edit_file');
    expect(coder && allowedTools(coder, TOOL_NAMES)).toContain('edit_file');
  });

  test('[F144] definitions in folders of their own are found, and files that did not change are not read again', () => {
    using at = place();
    at.write('repository/.claude/agents/review/deep/strict.md', ...simple('strict'));
    const found = at.agents.get('strict');
    expect(found).toBeDefined();
    at.agents.refresh();
    expect(at.agents.get('strict')).toBe(found);
  });

  test('[F146] a definition that replaces a built-in one replaces its instructions, and a later one those', () => {
    using at = place();
    at.write('repository/.github/agents/Reviewer.agent.md', ...simple('Reviewer', 'Only look at names.'));
    expect(at.agents.get('reviewer')?.instructions).toBe('Only look at names.');
    at.write('repository/.github/agents/Reviewer.agent.md', ...simple('Reviewer', 'Only look at types.'));
    expect(at.agents.get('reviewer')?.instructions).toBe('Only look at types.');
  });

  test('[F150] no words of a text choose a backend', () => {
    using at = place();
    at.write(
      'home/.claude/agents/x.md',
      ...simple('x', 'Must be compatible with Claude. Use claude: for everything.'),
    );
    expect(at.agents.get('x')?.backend).toBeNull();
    expect(at.agents.suggest('Fix it so that it is compatible with Claude')[0]).toMatchObject({
      name: 'coder',
    });
  });
});

describe('briefing', () => {
  const told = (tools: readonly string[], hasOwnGuidance: boolean): string =>
    briefing({
      task: {
        id: 'task_1',
        name: 'n',
        prompt: 'the only prompt',
        agent: { backend: 'b', name: 'coder' },
        expectedOutput: null,
        resultSchema: null,
        targetFiles: [],
        review: 'none',
      },
      run: 'run_1',
      plan: null,
      parent: { kind: 'terminal', name: 'p' },
      worktree: null,
      tools,
      reportsByLastMessage: false,
      specialists: [],
      hasOwnGuidance,
    });

  test('[B25] a worker is told to report its own task by the one tool that does it', () => {
    using at = place();
    for (const name of at.agents.names()) {
      const definition = at.agents.get(name);
      const tools = definition ? allowedTools(definition, TOOL_NAMES) : [];
      const text = told(tools, definition?.delegation !== '');
      expect(text).toContain('Call a2a_subtask_complete once');
      expect(text).not.toContain('orchestrator_');
    }
  });

  test('[F36] everything is told once, and what the definition says is not said again', () => {
    using at = place();
    const coder = at.agents.get('coder');
    const text = told(TOOL_NAMES, true);
    expect(text.match(/the only prompt/g)).toHaveLength(1);
    const headings = text.match(/^## .*/gm) ?? [];
    expect(new Set(headings).size).toBe(headings.length);
    const own = new Set(coder?.instructions.split('\n').filter((line) => line.trim().length > 20));
    expect(text.split('\n').filter((line) => own.has(line))).toEqual([]);
  });
});
