import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOOL_NAMES, WORKER_TOOLS, agentFileName, agentTemplate, allowedTools } from '@reveille/agents';
import { parseAgentType } from '@reveille/protocol';
import { place, simple, type Place } from './place.ts';

const EIGHT = ['agent', 'architect', 'coder', 'orchestrator', 'product', 'researcher', 'reviewer', 'tester'];

describe('the built-in definitions', () => {
  let at: Place;
  beforeAll(() => {
    at = place();
  });
  afterAll(() => at[Symbol.dispose]());

  test('[AGT6.1] there are eight, and they load without a remark', () => {
    expect(at.agents.names()).toEqual(EIGHT);
    expect(at.agents.problems()).toEqual([]);
  });

  test.for(EIGHT)('[AGT6.1] %s says everything that is expected of a definition', (name) => {
    const definition = at.agents.get(name);
    const text = readFileSync(definition?.path ?? '', 'utf8');
    expect(definition?.description.length).toBeGreaterThan(40);
    expect(definition?.role.length).toBeGreaterThan(80);
    expect(definition?.expertise.length).toBeGreaterThan(1);
    expect(definition?.whenToUse).toMatch(/^(When|Before) /);
    expect(definition?.delegation.length).toBeGreaterThan(100);
    expect(text).toContain('\ntriggers:');
    expect(text).toContain('\ntools:');
    for (const heading of ['Role', 'Workflow', 'Output format', 'Delegation'])
      expect(definition?.instructions).toContain(`\n## ${heading}\n`);
    // A model reads all of it at the start of every run.
    expect(text.length).toBeLessThan(8_000);
  });

  test.for(EIGHT)('[AGT6.1] the delegation guidance of %s says both when and when not', (name) => {
    const { delegation = '' } = at.agents.get(name) ?? {};
    expect(delegation).toMatch(/Hand on|Delegation is your work/);
    expect(delegation).toMatch(/Do yourself|[Nn]ever|Do not|not hand on/);
  });

  test('[AGT6.1] who is a specialist has triggers and can be suggested; who is not, is not', () => {
    for (const name of EIGHT) {
      const specialist = name !== 'agent' && name !== 'orchestrator';
      const definition = at.agents.get(name);
      expect([name, definition?.suggested]).toEqual([name, specialist]);
      expect([name, (definition?.triggers.length ?? 0) > 5]).toEqual([name, specialist]);
    }
  });

  test.for(EIGHT)('[AGT6.2] %s speaks only of tools that it has and of agents that exist', (name) => {
    const definition = at.agents.get(name);
    const has = definition ? allowedTools(definition, TOOL_NAMES) : [];
    const spoken = definition?.instructions.match(
      /\b(?:a2a|orchestrator)_[a-z_]+|\b[a-z]+_(?:file|text|command|tests|directory|to_symbol|usages|module|skill)\b/g,
    );
    for (const tool of spoken ?? []) expect(has).toContain(tool);
    for (const [, type] of definition?.instructions.matchAll(/@([\w:-]+)/g) ?? []) {
      const parsed = parseAgentType(type ?? '', 'any');
      expect(EIGHT).toContain(parsed?.name);
      expect(parsed?.backend).toBe('any');
    }
    for (const tool of definition?.tools ?? [])
      expect(['*', 'orchestrator_*', ...TOOL_NAMES]).toContain(tool);
  });

  test('[AGT6.3] who can write and who cannot', () => {
    const readOnly = EIGHT.filter((name) => at.agents.get(name)?.readOnly);
    expect(readOnly).toEqual(['architect', 'orchestrator', 'product', 'researcher', 'reviewer']);
    for (const name of readOnly) {
      const definition = at.agents.get(name);
      const tools = definition ? allowedTools(definition, TOOL_NAMES) : [];
      for (const writing of ['create_file', 'edit_file', 'delete_file', 'run_command', 'run_tests'])
        expect(tools).not.toContain(writing);
    }
    for (const name of ['agent', 'coder', 'tester']) {
      const definition = at.agents.get(name);
      const tools = definition ? allowedTools(definition, TOOL_NAMES) : [];
      expect(tools).toEqual(
        expect.arrayContaining(['create_file', 'edit_file', 'run_tests', 'a2a_pull_subtask_changes']),
      );
      expect(tools.filter((tool) => tool.startsWith('orchestrator_'))).toEqual([]);
    }
  });
});

describe('a new one', () => {
  test.for([
    ['db-expert', {}],
    ['@Reader', { readOnly: true, description: 'Reads "everything": #1, and\nmore.' }],
    ['null', {}],
    ['true', { description: '- [x] {y}' }],
  ] as const)('[AGT6.4] a template for %s loads without a remark', ([name, options]) => {
    using at = place();
    const file = agentFileName(name);
    at.write(`home/.reveille/agents/${file}`, agentTemplate(name, options));
    expect(at.agents.problems()).toEqual([]);
    const written = name.replace('@', '').toLowerCase();
    expect(file).toBe(`${written}.agent.md`);
    expect(at.agents.get(written)).toMatchObject({ name: written, readOnly: 'readOnly' in options });
    if ('description' in options)
      expect(at.agents.get(written)?.description).toBe(options.description.replaceAll('\n', ' '));
    expect(at.agents.get(written)?.delegation).not.toBe('');
  });

  test.for(['', 'a/b', '../x', '1st', 'a.b', 'claude:coder', 'ü', 'a'.repeat(65), 'x\n'.repeat(2)])(
    '[AGT6.4] %j is refused as a name',
    (name) => {
      const refusal = expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringContaining('cannot be'),
      });
      expect(() => agentTemplate(name)).toThrow(refusal);
      expect(() => agentFileName(name)).toThrow(refusal);
    },
  );

  test('[AGT6.5] one file, and the specialist can be named, is listed and is suggested', () => {
    using at = place();
    at.write(
      'repository/.reveille/agents/kubernetes.agent.md',
      '---',
      'name: kubernetes',
      'description: Writes and repairs Kubernetes manifests.',
      'triggers: [kubernetes, helm, manifest]',
      'tools: [read, edit]',
      '---',
      'You know Kubernetes.',
    );
    expect(at.agents.names()).toContain('kubernetes');
    expect(at.agents.list()).toContainEqual({ definition: at.agents.get('kubernetes'), state: 'used' });
    expect(at.agents.suggest('Fix the Kubernetes manifests of the staging cluster')[0]).toMatchObject({
      name: 'kubernetes',
      reason: expect.stringContaining('triggers: kubernetes, manifest'),
    });
    const definition = at.agents.get('kubernetes');
    expect(definition && allowedTools(definition, TOOL_NAMES).toSorted()).toEqual(
      ['read_file', 'list_directory', 'create_file', 'edit_file', 'delete_file', ...WORKER_TOOLS].toSorted(),
    );
  });

  test('[AGT6.5] a file of Claude Code with nothing but a description is enough to be suggested', () => {
    using at = place();
    at.write(
      'home/.claude/agents/k8s.md',
      '---',
      'name: k8s',
      'description: Expert for Kubernetes manifests',
      '---',
      'You know Kubernetes.',
    );
    at.write('home/.claude/agents/other.md', ...simple('other'));
    expect(at.agents.suggest('Fix the Kubernetes manifests')[0]?.name).toBe('k8s');
    expect(at.agents.suggest('Fix the parser')[0]?.name).toBe('coder');
  });
});
