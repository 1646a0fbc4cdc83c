import type { Assignment } from '@reveille/core';
import { DELEGATION_TOOLS, type Task } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { TOOL_NAMES, allowedTools } from '../src/tool-names.ts';
import { place, simple } from './place.ts';

const task = (name: string, more: Partial<Task> = {}): Task =>
  ({
    id: 'task_1',
    name: 'work',
    prompt: 'the prompt',
    agent: { backend: 'scripted', name },
    model: null,
    expectedOutput: null,
    resultSchema: null,
    targetFiles: [],
    review: 'none',
    isolation: 'own',
    ...more,
    // Only what is read of a task is written here.
  }) as Task;

const assignment = (name: string): Assignment => ({
  task: task(name),
  run: 'run_1',
  plan: null,
  parent: { kind: 'chat', name: 'mine' },
  workspace: { path: '/w', branch: 'b', environment: {}, notices: [] },
});

test('[AGT5.10] the definition, the instructions on the way to its files, and the skills it can load', async () => {
  using at = place();
  at.write('repository/AGENTS.md', 'Use tabs.');
  at.write('repository/src/AGENTS.md', 'Use spaces.');
  at.write('repository/.claude/skills/pdf/SKILL.md', '---', 'name: pdf', 'description: Fills forms.', '---');
  const role = await at.agents.role(task('coder', { targetFiles: ['src/a.ts'], model: 'large' }));
  for (const words of [
    at.agents.get('coder')?.instructions ?? '?',
    'Use tabs.',
    'Use spaces.',
    '- pdf: Fills',
  ])
    expect(role.systemPrompt).toContain(words);
  expect(role).toMatchObject({ readOnly: false, model: 'large', tools: at.agents.get('coder')?.tools });
  expect((await at.agents.role(task('coder'))).systemPrompt).not.toContain('Use spaces.');
});

test('[AGT4.12] whoever can hand nothing on gets no tool for it, and reads nothing of it', async () => {
  using at = place();
  const usual = await at.agents.role(task('coder'));
  const deepest = await at.agents.role(task('coder'), {
    mayNotDelegate: 'depth 1 is as deep as it goes here',
  });
  const given = (role: typeof usual): string[] => allowedTools(role, TOOL_NAMES);
  expect(given(usual).filter((tool) => !given(deepest).includes(tool))).toEqual(
    given(usual).filter((tool) => DELEGATION_TOOLS.includes(tool)),
  );
  expect(given(deepest)).toContain('a2a_send_message');
  expect(usual.systemPrompt).toContain('Hand on:');
  expect(deepest.systemPrompt).not.toMatch(/Hand on|Delegation|@\w+/);
  expect(deepest.systemPrompt).toContain('## Output format');
});

test('[AGT5.10] whoever cannot load a skill is told of none', async () => {
  using at = place();
  at.write('repository/.claude/skills/pdf/SKILL.md', '---', 'name: pdf', 'description: Fills forms.', '---');
  at.write(
    'repository/.claude/agents/plain.md',
    '---',
    'name: plain',
    'description: Reads.',
    'tools: Read',
    '---',
    'x',
  );
  const role = await at.agents.role(task('plain'));
  expect(role).toMatchObject({ tools: ['read_file'], readOnly: true });
  expect(role.systemPrompt).toBe('x');
});

test('[AGT5.10] a definition that is gone leaves nothing to write with', async () => {
  using at = place();
  at.write('repository/AGENTS.md', 'Use tabs.');
  const role = await at.agents.role(task('nobody'));
  expect(role).toMatchObject({ tools: [], deniedTools: [], readOnly: true });
  expect(role.systemPrompt).toContain('Use tabs.');
  expect(at.agents.briefing(assignment('nobody'))).toContain('the prompt');
});

test('[AGT8.1] a worker hears of the tools and of the specialists that its definition has', () => {
  using at = place();
  const told = at.agents.briefing(assignment('coder'));
  for (const words of ['the prompt', 'run_1', '"/w"', '- @reviewer: ', 'a2a_subtask_complete'])
    expect(told).toContain(words);
  expect(told).not.toContain('- @coder: ');
  expect(at.agents.briefing(assignment('reviewer'))).toContain('You may read and not write');
});

test('[AGT8.2] of no specialist that it may not hand work to', () => {
  using at = place();
  at.write(
    'repository/.github/agents/lead.agent.md',
    '---',
    'name: lead',
    'description: Leads.',
    'agents: [tester]',
    '---',
    'x',
  );
  at.write('repository/.github/agents/one.agent.md', ...simple('one'));
  const told = at.agents.briefing(assignment('lead'));
  expect(told).toContain('- @tester: ');
  expect(told).not.toContain('- @reviewer: ');
  expect(told).not.toContain('- @one: ');
});

test('[AGT7.6] a specialist that fits the task much better is named to whoever has it, if work may be handed to it', () => {
  using at = place();
  const told = (name: string, prompt: string, more: Partial<Assignment> = {}) => {
    const given = { ...assignment(name), ...more, task: task(name, { prompt }) };
    const words = /looks like work for @(\w+)/.exec(at.agents.briefing(given))?.[1] ?? null;
    expect(at.agents.betterFor(given)?.name ?? null).toBe(words);
    return words;
  };
  expect(told('coder', 'Write tests for the parser')).toBe('tester');
  expect(told('tester', 'Investigate why the daemon leaks memory')).toBe('researcher');
  // What it is chosen for, what fits nobody clearly, and who is chosen for anything.
  expect(told('tester', 'Write tests for the parser')).toBeNull();
  expect(told('coder', 'Fix the failing test in the core package')).toBeNull();
  expect(told('coder', 'the prompt')).toBeNull();
  expect(told('agent', 'Write tests for the parser')).toBeNull();
  expect(told('coder', 'Write tests for the parser', { mayNotDelegate: 'too deep' })).toBeNull();
  at.write(
    'repository/.claude/agents/lonely.md',
    '---',
    'name: lonely',
    'description: Writes.',
    'expertise: [prose]',
    'agents: [reviewer]',
    '---',
    'x',
  );
  expect(told('lonely', 'Write tests for the parser')).toBeNull();
});
