import type { TaskId } from '@reveille/protocol';
import { plural } from '../parts/amounts.ts';
import { oneLine } from '../parts/clean.ts';
import { go } from '../router.ts';
import type { Act } from './act.ts';
import { AGENT, REPOSITORY } from './fields.ts';

/** LIM3: everything, at once. */
export const STOP_ALL: Act<null> = {
  id: 'stop-all',
  label: 'Stop everything',
  harm: true,
  when: () => true,
  confirm: () => 'Cancels every plan and every task, of every repository, at once.',
  run: async (client) => {
    const { stopped } = await client.stop({ scope: 'all' }, 'stopped from the dashboard');
    return `${plural(stopped, 'run')} stopped.`;
  },
};

const NAME_LENGTH = 60;

/** One task for one agent, as a plan of its own: it is shown, paused and merged like any other. */
export const START_ONE: Act<null> = {
  id: 'start-one',
  label: 'Start one task',
  key: 'c',
  when: () => true,
  fields: [
    { name: 'prompt', label: 'What is to be done', needed: true, long: true },
    { ...AGENT, hint: 'the usual one' },
    REPOSITORY,
  ],
  run: async (client, _, { prompt = '', agent = '', repository = '' }) => {
    const task = { id: 'task', prompt, ...(agent === '' ? {} : { agent }) };
    const { plan, tasks } = await client.savePlan(
      {
        name: oneLine(prompt, NAME_LENGTH),
        ...(repository === '' ? {} : { repository }),
        tasks: [{ ...task, name: oneLine(prompt, NAME_LENGTH) }],
      },
      { start: true },
    );
    const begun: TaskId | undefined = tasks.find(({ task: { key } }) => key === 'task')?.task.id;
    go(begun ? `/task/${begun}` : `/plan/${plan.id}`);
    return `${plan.name} is started.`;
  },
};
