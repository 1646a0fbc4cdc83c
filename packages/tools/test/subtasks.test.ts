import { describe, expect, test } from 'vitest';
import { rig } from './rig.ts';

describe('handing work on', () => {
  test('[TOL2.3] a blocking spawn returns what the child reported', async () => {
    await using world = await rig({ scripts: { coder: (agent) => agent.report('success', 'built it') } });
    const chat = await world.chat();
    const result = await chat.call('a2a_spawn_subtask', { agentType: 'coder', prompt: 'build it' });
    expect(result.isError).toBe(false);
    expect(result.structured).toMatchObject({ state: 'ended', status: 'success' });
    expect(result.text).toContain('built it');
  });
});
