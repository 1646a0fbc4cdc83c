import type { StartSpec } from '@reveille/core';
import type { World } from './world.ts';

/** A report of the run's last epoch was still on its way, and arrives now: it must be refused. */
export function sayLate(world: World, spec: StartSpec): void {
  const caller = { kind: 'worker', session: spec.session, run: spec.run, epoch: spec.epoch - 1 } as const;
  world.timeline.after(world.chance.int(0, 300), () => {
    const life = world.anyLife();
    if (!life) return;
    const say = () => life.engine.as(caller).reportCompletion({ status: 'failed', output: 'late' });
    world.invoke(life, `a late report of ${spec.run}, epoch ${caller.epoch}`, say).then(
      () => world.fail('one agent', `a report of epoch ${caller.epoch} was heard, ${spec.run} is past it`),
      (error: unknown) => world.say(life, `the late report is refused: ${String(error)}`),
    );
  });
}
