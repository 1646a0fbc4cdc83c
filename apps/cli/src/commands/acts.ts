import { ReveilleError, type Client, type Plan, type TaskView } from '@reveille/protocol';
import { command } from '../command/spec.ts';
import { findEither, viewpointOf } from '../find.ts';
import { print, reach } from '../reach.ts';
import { actOnPlan } from './plan.ts';

const ACTS = {
  retry: { usage: '<task>', does: 'tries a task again that failed or was cancelled', done: 'is tried again' },
  cancel: {
    usage: '<task|plan> [why…]',
    does: 'ends a task with all below it, or a plan',
    done: 'is being cancelled',
  },
  pause: {
    usage: '<task|plan>',
    does: 'stops a worker after its call, or a plan from starting more',
    done: 'is paused',
  },
  resume: { usage: '<task|plan>', does: 'lets a worker or a plan go on that was paused', done: 'goes on' },
} as const;
type Act = keyof typeof ACTS;

/** The same words for a task and for a plan. */
const act = (verb: Act) =>
  command({
    name: verb,
    group: 'Work',
    summary: ACTS[verb].does,
    usage: ACTS[verb].usage,
    about: verb === 'cancel' ? 'What it did is kept on its branch.' : '',
    options: {},
    json: '{ task, run, worker, end } for a task, { plan } for a plan.',
    async run(call) {
      const [name = '', ...why] = call.args;
      const client = await reach(call);
      const { plan, task } = await findEither(client, name, await viewpointOf(call));
      const now = plan
        ? { plan: await onPlan(client, verb, plan, why.join(' ')) }
        : await onTask(client, verb, task, why.join(' '));
      const what = 'plan' in now ? now.plan.name : now.task.name;
      print(call, now, () => [`${what} ${ACTS[verb].done}.`]);
    },
  });

async function onPlan(client: Client, verb: Act, plan: Plan, why: string): Promise<Plan> {
  if (verb !== 'retry') return actOnPlan(client, verb, plan.id, why);
  const { tasks } = await client.getPlan(plan.id);
  const failed = tasks.filter(({ task }) => task.state === 'failed' || task.state === 'cancelled');
  const names = failed.slice(0, 10).map(({ task }) => `  ${task.id}  ${task.name}: ${task.state}`);
  const words =
    failed.length > 0
      ? [`"${plan.name}" is a plan; retry takes a task:`, ...names]
      : [`Nothing of "${plan.name}" has failed.`];
  throw new ReveilleError('wrong_state', words.join('\n'), {
    data: { failed: failed.map(({ task }) => task.id) },
  });
}

function onTask(client: Client, verb: Act, { task }: TaskView, why: string): Promise<TaskView> {
  switch (verb) {
    case 'retry':
      return client.retryTask(task.id);
    case 'cancel':
      return client.cancelTask(task.id, ...(why === '' ? [] : [why]));
    case 'pause':
      return client.pauseWorker(task.id);
    case 'resume':
      return client.resumeWorker(task.id);
    default:
      return verb satisfies never;
  }
}

export const actCommands = [act('retry'), act('cancel'), act('pause'), act('resume')];
