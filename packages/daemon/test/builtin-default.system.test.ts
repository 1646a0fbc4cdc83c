import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
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
  // Whatever this machine has installed: git is all that is needed.
  const bin = join(house.folder, 'bin');
  mkdirSync(bin);
  for (const name of ['git', 'bwrap']) {
    const program = findProgram([name], process.env['PATH'] ?? '');
    if (program) symlinkSync(program, join(bin, name));
  }
  house.env['PATH'] = bin;
  const client = await house.connect();
  expect(await client.backends()).toEqual([
    { name: 'builtin', isDefault: true, why: 'no agent is installed, and OPENAI_BASE_URL is set' },
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
