import { join } from 'node:path';
import type { Script } from '@reveille/executors';
import { gate, openWorld, temporaryFolder, type World } from './world.ts';

/** A parent that spawns when it is told to, and counts the ends it is handed. */
export interface FanOut {
  readonly world: World;
  /** Milliseconds from the first spawn call to the hand-over of the last end. */
  run(children: number): Promise<number>;
}

export async function withFanOut<T>(
  use: (fan: FanOut) => Promise<T>,
  scripts: Record<string, Script> = {},
): Promise<T> {
  using folder = temporaryFolder();
  let children = 0;
  let received = 0;
  let began = 0;
  let finished = gate();
  const parent: Script = async (agent) => {
    if (agent.turn.turn === 1) {
      began = performance.now();
      const spawn = (i: number) =>
        agent.orchestrator.spawnSubtask({ prompt: `child ${i}`, agentType: 'child' }, { blocking: false });
      await Promise.all(Array.from({ length: children }, (_, i) => spawn(i)));
      return;
    }
    received += agent.turn.given.length;
    if (received === children) finished.open();
  };
  const child: Script = (agent) => agent.orchestrator.reportCompletion({ status: 'success', output: 'done' });
  await using world = await openWorld(join(folder.path, 'db'), { ...scripts, parent, child });
  const person = world.engine.as({ kind: 'person', name: 'bench' });
  return await use({
    world,
    async run(count) {
      children = count;
      received = 0;
      finished = gate();
      const { plan, tasks } = await person.savePlan(
        { name: 'W', tasks: [{ id: 'parent', prompt: 'fan out', agent: 'parent' }] },
        { start: true },
      );
      await finished.passed;
      const took = performance.now() - began;
      const task = tasks[0]?.task.id;
      if (task) await person.completeTask(task);
      if ((await person.getPlan(plan.id)).plan.state !== 'completed')
        throw new Error('the plan did not complete');
      return took;
    },
  });
}
