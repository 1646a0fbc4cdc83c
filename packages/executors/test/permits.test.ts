import type { ExecutorEvent, StartSpec } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { actionOf, ruledOut } from '../src/acp/permission.ts';
import type { AgentAction } from '../src/acp/permission.ts';
import type { ClaudeOptions } from '../src/claude/options.ts';
import { Guard } from '../src/claude/guard.ts';

describe('what an agent does with its own tools', () => {
  test('[INB2.30] is judged as what it does, in the names of the catalogue, whatever it is called', () => {
    const seen = (call: Record<string, unknown>) => {
      const { tool, kind, command, paths } = actionOf(call, true);
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

  test('[INB2.30] what no policy can allow or forbid: another mode, a write of one that may not, our own tools', () => {
    const judging = { writes: false, ownTools: new Set<string>() };
    expect(ruledOut({ kind: 'switch_mode' }, judging)).toBe('deny');
    expect(ruledOut({ kind: 'edit' }, judging)).toBe('deny');
    expect(ruledOut({ title: 'mcp__reveille__a2a_send_message' }, judging)).toBe('allow');
    expect(ruledOut({ kind: 'execute', title: 'ls' }, judging)).toBeNull();
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
      options: { permits, policy: 'boundary' } as unknown as ClaudeOptions,
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
