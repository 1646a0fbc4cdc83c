import type { ExecutorEvent, StartSpec } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { actionOf, ownToolsOf, ruledOut } from '../src/acp/permission.ts';
import { PRESETS, type Preset } from '../src/acp/presets.ts';
import type { AgentAction } from '../src/acp/permission.ts';
import { CLAUDE, type ClaudeOptions } from '../src/claude/options.ts';
import { Guard } from '../src/claude/guard.ts';

describe('what an agent does with its own tools', () => {
  test('[INB2.30] is judged as what it does, in the names of the catalogue, whatever it is called', () => {
    const seen = (call: Record<string, unknown>) => {
      const { tool, kind, command, paths } = actionOf(call, { confined: true, ownTools: new Map() });
      return { tool, kind, command, paths };
    };
    const ran = { tool: 'run_command', kind: 'command', command: 'git push', paths: [] };
    expect(seen({ kind: 'execute', title: 'Push it', rawInput: { command: 'git push' } })).toEqual(ran);
    expect(seen({ kind: 'execute', title: 'git push' })).toEqual(ran);
    expect(seen({ kind: 'execute', rawInput: { command: ['sh', '-c', "echo 'it'"] } }).command).toBe(
      String.raw`sh -c 'echo '\''it'\'''`,
    );
    expect(seen({ kind: 'edit', rawInput: { file_path: '/w/a' }, locations: [{ path: '/w/b' }] })).toEqual({
      tool: 'edit_file',
      kind: 'write',
      command: null,
      paths: ['/w/b', '/w/a'],
    });
    expect(seen({ kind: 'fetch', title: 'x' })).toMatchObject({ tool: 'web_fetch', kind: 'network' });
    expect(seen({ title: 'summon' })).toMatchObject({ tool: 'summon', kind: 'other' });
  });

  test.each([
    [{ command: 'env', args: ['touch', 'm'] }, 'env touch m'],
    [{ cmd: 'env', arguments: ['touch', 'm'] }, 'env touch m'],
    [{ CommandLine: 'touch m' }, 'touch m'],
    [[{ command: 'touch m' }], 'touch m'],
    [{ steps: [{ command: 'touch m' }] }, 'touch m'],
    [{ arguments: '{"command": "touch m"}' }, 'touch m'],
    [{ command: { program: 'touch', args: ['m'] } }, 'touch m'],
    [
      { ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, ''])), command: 'touch m' },
      'touch m',
    ],
    // Each is a line by itself, so that one cannot take in the next.
    [{ command: 'ls <<A', script: 'touch m' }, "sh -c 'ls <<A'\nsh -c 'touch m'"],
    [{ commands: ["echo '", 'touch m'] }, String.raw`sh -c 'echo '\'''` + "\nsh -c 'touch m'"],
    // Where none is named, all that is said may be one.
    [{ do_it: 'touch m' }, "sh -c List\nsh -c 'touch m'"],
    ['touch m', "sh -c List\nsh -c 'touch m'"],
    // Codex says its command twice.
    [{ command: ['ls'], parsed_cmd: [{ cmd: 'ls -l' }] }, 'ls'],
  ])('[INB2.30] a command counts wherever a call says it: %j', (rawInput, command) => {
    const call = { kind: 'execute', title: 'List', rawInput };
    expect(actionOf(call, { confined: true, ownTools: new Map() }).command).toBe(command);
  });

  test('[INB2.30] a call with more in it than is looked through is refused', () => {
    const judging = { writes: true, ownTools: new Map<string, string>() };
    expect(ruledOut({ kind: 'edit', rawInput: { a: Array(30_000).fill('x') } }, judging)).toBe('deny');
    let deep: unknown = { path: 'secret' };
    for (let i = 0; i < 30; i++) deep = [deep];
    expect(ruledOut({ kind: 'edit', rawInput: deep }, judging)).toBe('deny');
    const long = Array.from({ length: 50 }, (_, i) => `${'a/'.repeat(100)}${i}`);
    expect(ruledOut({ kind: 'edit', rawInput: { paths: long } }, judging)).toBe('deny');
    expect(ruledOut({ kind: 'edit', rawInput: { paths: long.slice(0, 10) } }, judging)).toBeNull();
  });

  test('[INB2.30] what no policy can allow or forbid: another mode, a write of one that may not, our own tools', () => {
    const judging = { writes: false, ownTools: toolsOf(CLAUDE) };
    expect(ruledOut({ kind: 'switch_mode' }, judging)).toBe('deny');
    expect(ruledOut({ kind: 'edit' }, judging)).toBe('deny');
    expect(ruledOut({ name: 'mcp__reveille__a2a_send_message' }, judging)).toBe('allow');
    expect(ruledOut({ kind: 'execute', title: 'ls' }, judging)).toBeNull();
  });
});

const toolsOf = (preset: Preset) =>
  ownToolsOf({ preset, ownTools: ['a2a_send_message', 'run_command', 'read_file', 'load_skill'] });
const presetNamed = (name: string): Preset => PRESETS.find((preset) => preset.name === name) ?? CLAUDE;

describe('a tool of ours', () => {
  const send = 'a2a_send_message';
  // As the real agents were seen to ask for it.
  const asked: Record<string, Record<string, unknown>> = {
    codex: {
      kind: 'execute',
      title: `mcp.reveille.${send}`,
      rawInput: { server: 'reveille', tool: send, arguments: { message: 'x' } },
    },
    gemini: { kind: 'other', title: `${send} (reveille MCP Server)`, locations: [] },
    copilot: { kind: 'other', announced: `reveille-${send}`, title: 'Send a message', rawInput: {} },
    opencode: { kind: 'other', announced: `reveille_${send}`, title: `reveille_${send}`, locations: [] },
    claude: { kind: 'other', name: `mcp__reveille__${send}`, title: send, rawInput: { message: 'x' } },
  };

  test.each(Object.entries(asked))('[AGT4.11] is known by the exact name that %s gives it', (name, call) => {
    expect(ruledOut(call, { writes: true, ownTools: toolsOf(presetNamed(name)) })).toBe('allow');
  });

  test.each(Object.keys(asked))('[AGT4.11] is nothing that only looks like it, on %s', (name) => {
    const preset = presetNamed(name);
    const ruled = (call: Record<string, unknown>) =>
      ruledOut(call, { writes: true, ownTools: toolsOf(preset) });
    const own = preset.toolName(send);
    for (const title of [
      'rm -rf ~ # a2a_x',
      'deploy to production (reveille)',
      'shell reveille',
      '/home/u/reveille/secret.env',
      send,
      'Send a message',
      `${own} `,
      `x ${own}`,
      own.toUpperCase(),
      preset.toolName('a2a_unknown'),
    ])
      for (const kind of ['', 'other', 'read', 'think', 'execute', 'search'])
        expect(ruled({ kind, title }), `${kind} ${title}`).toBeNull();
    for (const kind of ['read', 'think', 'search', 'fetch']) expect(ruled({ kind, title: own })).toBeNull();
    // What was announced as something else stays that, whatever it is called in the request.
    expect(ruled({ kind: 'other', announced: 'bash', title: own })).toBeNull();
  });

  test('[AGT4.11] a call that brings a command or files is judged by these, whatever it is called', () => {
    const judging = { writes: true, confined: true, ownTools: toolsOf(CLAUDE) };
    const own = `mcp__reveille__${send}`;
    for (const call of [
      { name: own, rawInput: { command: 'rm -rf x' } },
      { name: own, kind: 'other', rawInput: { cmd: ['rm', '-rf', 'x'] } },
      { name: own, rawInput: { arguments: { command: 'rm -rf x' } } },
      { kind: 'think', title: 'think', rawInput: { command: 'rm -rf x' } },
      { kind: 'read', title: 'read', rawInput: { tool: { input: { command: 'rm -rf x' } } } },
    ]) {
      expect(ruledOut(call, judging), JSON.stringify(call)).toBeNull();
      expect(actionOf(call, judging)).toMatchObject({
        tool: 'run_command',
        kind: 'command',
        command: 'rm -rf x',
      });
    }
    for (const call of [
      { name: own, locations: [{ path: 'secret.env' }] },
      { name: own, rawInput: { path: 'secret.env' } },
      { name: own, content: [{ type: 'diff', path: 'secret.env', newText: 'x' }] },
    ]) {
      expect(ruledOut(call, judging), JSON.stringify(call)).toBeNull();
      expect(actionOf(call, judging)).toMatchObject({ paths: ['secret.env'] });
    }
    const diff = [{ type: 'diff', path: 'a.txt', oldText: '', newText: 'x' }];
    for (const call of [
      { kind: 'read', title: 'read', content: diff },
      { kind: 'think', title: 'think', content: diff },
      { kind: 'execute', title: 'ls', content: diff },
      { kind: 'execute', title: 'ls', rawInput: { command: 'ls' }, content: diff },
      { name: own, content: diff },
    ]) {
      expect(actionOf(call, judging)).toMatchObject({ tool: 'edit_file', kind: 'write', paths: ['a.txt'] });
      expect(ruledOut(call, { ...judging, writes: false })).toBe('deny');
    }
    const reading = { name: 'mcp__reveille__read_file', rawInput: { path: 'a' } };
    expect(actionOf(reading, judging)).toMatchObject({ tool: 'read_file', kind: 'read', paths: ['a'] });
    // Data that it reports is no command of its.
    expect(ruledOut({ name: own, rawInput: { structured: { command: 'x', path: 'y' } } }, judging)).toBe(
      'allow',
    );
  });
});

describe('Claude Code', () => {
  const signal = new AbortController().signal;
  function guard(judged: 'auto' | 'ask' | 'deny', allowed = true) {
    const asked: AgentAction[] = [];
    const said: ExecutorEvent[] = [];
    const permits: NonNullable<ClaudeOptions['permits']> = {
      judge: async () => judged,
      permit: async (_, action) => {
        asked.push(action);
        return allowed ? { allowed } : { allowed, why: 'not today' };
      },
    };
    const made = new Guard({
      // Only what the guard reads of them.
      spec: { role: null } as unknown as StartSpec,
      options: { permits, policy: 'boundary', ownTools: ['a2a_send_message'] } as unknown as ClaudeOptions,
      launch: { argv: [], env: {}, cwd: '/', workdir: '/w', confined: true, dispose: async () => undefined },
      say: (event) => said.push(event),
    });
    return { guard: made, asked, said };
  }
  const bash = { tool_name: 'Bash', tool_input: { command: 'git push' } };

  test('[INB2.31] before every call the policy is looked at: denied is denied, asked goes to whoever is asked', async () => {
    const decided = async (judged: 'auto' | 'ask' | 'deny'): Promise<unknown> => {
      const { hookSpecificOutput: said } = await guard(judged).guard.before(bash);
      return (said as { permissionDecision?: string } | undefined)?.permissionDecision;
    };
    expect(await decided('auto')).toBeUndefined();
    expect(await decided('ask')).toBe('ask');
    expect(await decided('deny')).toBe('deny');
    const ours = { tool_name: 'mcp__reveille__a2a_send_message', tool_input: {} };
    expect(await guard('deny').guard.before(ours)).toEqual({});
  });

  test('[INB2.31] asked, it waits for the answer and says so; what is free is not asked', async () => {
    const input = { command: 'git push' };
    const yes = guard('ask');
    expect(await yes.guard.canUseTool('Bash', input, { signal })).toEqual({
      behavior: 'allow',
      updatedInput: input,
    });
    expect(yes.asked).toMatchObject([{ tool: 'run_command', command: 'git push', held: true }]);
    expect(yes.said.map(({ type }) => type)).toEqual(['permission_asked', 'permission_settled']);
    const no = guard('ask', false);
    expect(await no.guard.canUseTool('Bash', input, { signal })).toEqual({
      behavior: 'deny',
      message: 'not today',
    });
    const free = guard('auto');
    expect(await free.guard.canUseTool('Bash', input, { signal })).toMatchObject({ behavior: 'allow' });
    expect(free.asked).toEqual([]);
  });
});
