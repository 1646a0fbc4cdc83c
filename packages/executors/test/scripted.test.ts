import { expect, test } from 'vitest';
import { rig } from './rig.ts';

test('an agent does what its script says and its owner is told', async () => {
  const world = await rig({
    otherwise: async (agent) => {
      agent.say('I begin.');
      agent.edit('src/a.ts');
      await agent.work(500);
      await agent.report('success', 'done');
    },
  });
  const chat = await world.chat();
  const task = await chat.calls.spawnSubtask({ prompt: 'do it' }, { blocking: false });
  await world.clock.pass(1_000);
  const { end } = await world.view(task.task);
  expect(end).toMatchObject({ status: 'success', output: 'done', cause: 'report' });
  expect(chat.mail).toHaveLength(1);
  expect(world.world.lives.size).toBe(0);
  await world.stop();
  expect(world.clock.timers).toBe(0);
});
