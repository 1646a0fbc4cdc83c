import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { withScript } from '@reveille/executors';
import { findProgram } from '@reveille/executors/acp';
import { startModelServer, withModelScript } from '@reveille/model-server';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';

test('[EXE2.22] with a model and no agent, an agent that names no backend is our own; with neither, the scripted one', async () => {
  await using server = await startModelServer();
  await using house = new House({
    REVEILLE_ENGINE_DEFAULT_BACKEND: undefined,
    OPENAI_BASE_URL: `${server.url}/v1`,
    OPENAI_MODEL: 'scripted',
  });
  house.env['PATH'] = onlyGit(house.folder);
  const client = await house.connect();
  expect(await client.backends()).toEqual([
    {
      name: 'builtin',
      isDefault: true,
      why: 'no agent that can be used is installed, and OPENAI_BASE_URL is set',
    },
    { name: 'scripted', isDefault: false },
  ]);
  const report = { call: 'a2a_subtask_complete', input: { status: 'success', output: 'by our own' } };
  const prompt = withModelScript('Do it.', { steps: [report] });
  const { tasks } = await client.savePlan(
    { name: 'p', tasks: [{ id: 'a', agent: 'coder', prompt }] },
    { start: true },
  );
  const { id } = tasks[0]!.task;
  await until(async () => (await client.getTask(id)).end !== null);
  expect((await client.getTask(id)).end).toMatchObject({ status: 'success', output: 'by our own' });
  await house.kill('SIGTERM');

  for (const name of ['OPENAI_BASE_URL', 'OPENAI_MODEL']) delete house.env[name];
  house.env['OLLAMA_HOST'] = '127.0.0.1:9';
  const [usual] = await (await house.connect()).backends();
  expect(usual).toMatchObject({ name: 'scripted', isDefault: true, why: expect.stringContaining('no key') });
});

test('[AGT2.20] with nothing installed no agent reports success: what cannot run here is refused with what to do, over every door', async () => {
  await using house = new House({ REVEILLE_ENGINE_DEFAULT_BACKEND: undefined, OLLAMA_HOST: '127.0.0.1:9' });
  house.env['PATH'] = onlyGit(house.folder);
  const client = await house.connect();
  const { id } = await client.openSession('chat', 'test');
  const { credential } = await client.grantSession({ session: id });
  const chat = client.as(credential);
  const refusals: Record<string, string> = {
    agent:
      'a script in the prompt says, and there is none; no other backend is installed, and `reveille doctor`',
    'claude:agent': 'the Agent SDK of Claude Code is not installed. To install it: npm install --prefix',
    'codex:coder': 'Codex is not installed: there is no codex-acp. To install it: npm install',
    'builtin:coder': 'it has no model: set ANTHROPIC_API_KEY',
    'cluade:coder': 'there is no backend "cluade"; there are: scripted',
  };
  for (const [agentType, words] of Object.entries(refusals)) {
    const refusal = { code: 'unknown_agent', message: expect.stringContaining(words) };
    await expect(chat.spawnSubtask({ prompt: 'Fix it.', agentType }), agentType).rejects.toMatchObject(
      refusal,
    );
    const tasks = [{ id: 'a', prompt: 'Fix it.', agent: agentType }];
    await expect(client.savePlan({ name: 'p', tasks }), agentType).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(words),
    });
  }
  expect(await client.listTasks({})).toEqual([]);
  const prompt = withScript('Do it.', { steps: [{ do: 'report', output: 'as written' }] });
  const { task } = await chat.spawnSubtask({ prompt });
  expect((await client.getTask(task)).end).toMatchObject({ status: 'success', output: 'as written' });
});

/** A PATH with git and a sandbox on it, and nothing else that the machine has installed. */
function onlyGit(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of ['git', 'bwrap']) {
    const program = findProgram([name], process.env['PATH'] ?? '');
    if (program) symlinkSync(program, join(bin, name));
  }
  return bin;
}
