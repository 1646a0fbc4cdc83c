import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Task } from '@reveille/protocol';
import { Trust } from '@reveille/worktrees';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RepositoryAgents } from '../src/compose/repository-agents.ts';
import { makeShop } from './shop.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-agents-')));
  mkdirSync(join(folder, 'home'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const DEFINITION = `---
name: sweeper
description: Sweeps.
tools: [read_file]
agents: [tester]
backend: claude
model: small
reports-by-last-message: true
---
Sweep the floor.
`;

test('[DMN1.94] who an agent of a repository is counts once it is trusted, also for a daemon that has just started', async () => {
  const shop = makeShop(join(folder, 'shop'));
  shop.write('.reveille/agents/sweeper.agent.md', DEFINITION);
  shop.write('AGENTS.md', 'Wipe your feet.\n');
  const trust = new Trust({ folder: join(folder, 'trust') });
  // Only what is read of a task is written here.
  const task = {
    repository: shop.root,
    agent: { backend: 'claude', name: 'sweeper' },
    model: 'small',
    targetFiles: [],
  } as Partial<Task> as Task;
  const home = join(folder, 'home');

  const before = new RepositoryAgents(trust, { home });
  try {
    expect(await before.role(task)).toMatchObject({ tools: [], readOnly: true });
    expect(before.defined('sweeper', shop.root)).toBeUndefined();
    await trust.grant(shop.gitDir, [{ kind: 'agent', name: 'sweeper', content: DEFINITION }]);
    expect(await before.role(task)).toMatchObject({ tools: ['read_file'] });
  } finally {
    before.close();
  }

  const after = new RepositoryAgents(trust, { home });
  try {
    const role = await after.role(task);
    expect(role).toMatchObject({ tools: ['read_file'], readOnly: true, model: 'small' });
    for (const words of ['Sweep the floor.', 'Wipe your feet.']) expect(role.systemPrompt).toContain(words);
    expect(after.defined('sweeper', shop.root)).toMatchObject({ backend: 'claude', delegatesTo: ['tester'] });
    expect(after.defined('sweeper', null)).toBeUndefined();
    expect(after.reportsByLastMessage(task.agent, shop.root)).toBe(true);
    expect(after.reportsByLastMessage(task.agent, null)).toBe(false);
  } finally {
    after.close();
  }
});
