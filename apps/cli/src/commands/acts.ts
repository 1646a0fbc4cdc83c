import { ReveilleError, formatAgentType, type Client, type Plan, type TaskView } from '@reveille/protocol';
import { command } from '../command/spec.ts';
import { findEither, findTask, viewpointOf } from '../find.ts';
import { print, reach } from '../reach.ts';
import { UsageError } from '../usage.ts';
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

/** Another agent goes on where this one is. */
export const swap = command({
  name: 'swap',
  group: 'Work',
  summary: 'gives a task to another agent or model, in the same worktree',
  usage: '<task> [[backend:]agent]',
  about:
    'The agent at work is stopped. The next one has its worktree, mail and subtasks, and is told what was done. For a task that has ended: reveille retry.',
  options: { model: { type: 'string', value: 'NAME', means: 'the model it is to use' } },
  json: '{ task, run, worker, end }',
  async run(call) {
    const [name = '', agent] = call.args;
    const { model } = call.options;
    if (agent === undefined && model === undefined)
      throw new UsageError('Say which agent, or which --model.', 'swap');
    const client = await reach(call);
    const { task } = await findTask(client, name, await viewpointOf(call));
    const by = { ...(agent === undefined ? {} : { agent }), ...(model === undefined ? {} : { model }) };
    const now = await client.swapWorker(task.id, by);
    print(call, now, () => [
      `${now.task.name} goes to ${formatAgentType(now.task.agent)}${now.task.model === null ? '' : `, ${now.task.model}`}.`,
    ]);
  },
});
