import type { Client, StopScope } from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findEither, viewpointOf } from '../find.ts';
import { print, reach } from '../reach.ts';
import { UsageError } from '../usage.ts';
import { plural } from '../view/words.ts';

export const stop = command({
  name: 'stop',
  group: 'Work',
  summary: 'stops everything, one plan, or one task with all below it, at once',
  usage: '[plan|task]',
  about: `Every agent in it is stopped and its tasks are cancelled; what they did is kept. The daemon goes on: that is ended by
\`reveille daemon stop\`, after which everything goes on where it was.`,
  options: {
    all: { type: 'boolean', means: 'everything that runs, in every repository' },
    why: { type: 'string', value: 'TEXT', means: 'what is recorded as the reason' },
  },
  json: '{ stopped }: how many tasks.',
  async run(call) {
    const { all, why = 'stopped by the person' } = call.options;
    const [name] = call.args;
    if (all === (name !== undefined))
      throw new UsageError('Say what to stop: --all, or the name of a plan or a task.', 'stop');
    const client = await reach(call);
    const stopped = await client.stop(
      name === undefined ? { scope: 'all' } : await scopeOf(call, client, name),
      why,
    );
    print(call, stopped, () => [
      stopped.stopped === 0 ? 'Nothing ran.' : `Stopped ${plural(stopped.stopped, 'task')}.`,
    ]);
  },
});

async function scopeOf(call: Call, client: Client, name: string): Promise<StopScope> {
  const { plan, task } = await findEither(client, name, await viewpointOf(call));
  return plan ? { scope: 'plan', plan: plan.id } : { scope: 'tree', task: task.task.id };
}
