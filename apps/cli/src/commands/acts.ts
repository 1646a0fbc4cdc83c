import { ReveilleError, formatAgentType, type Client, type Plan, type TaskView } from '@reveille/protocol';
import { command } from '../command/spec.ts';
import { findEither, findTask, viewpointOf } from '../find.ts';
import { print, reach } from '../reach.ts';
import { UsageError } from '../usage.ts';
import { actOnPlan } from './plan.ts';

const ACTS = {
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
        ? { plan: await actOnPlan(client, verb, plan.id, why.join(' ')) }
        : await onTask(client, verb, task, why.join(' '));
      const what = 'plan' in now ? now.plan.name : now.task.name;
      print(call, now, () => [`${what} ${ACTS[verb].done}.`]);
    },
  });

async function noneOf(client: Client, plan: Plan): Promise<never> {
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

const retry = command({
  name: 'retry',
  group: 'Work',
  summary: 'tries a task again that failed or was cancelled',
  usage: '<task> [[backend:]agent]',
  about: `It begins where it began; what the last attempt left is kept as a snapshot. With --from it begins in its worktree as a snapshot
has it, or, with --from last, as it was left. Snapshots: reveille restore <task> --list.`,
  options: {
    from: { type: 'string', value: 'SNAPSHOT', means: 'where it begins: a snapshot, or last' },
    model: { type: 'string', value: 'NAME', means: 'the model it is to use' },
  },
  json: '{ task, run, worker, end }',
  async run(call) {
    const [name = '', agent] = call.args;
    const client = await reach(call);
    const { plan, task } = await findEither(client, name, await viewpointOf(call));
    if (plan) return noneOf(client, plan);
    const { from, model } = call.options;
    const given = Object.entries({ agent, model, from }).filter(([, value]) => value !== undefined);
    const now = await client.retryTask(task.task.id, Object.fromEntries(given));
    print(call, now, () => [`${now.task.name} is tried again.`]);
  },
});

export const actCommands = [retry, act('cancel'), act('pause'), act('resume')];

/** Another agent goes on where this one is. */
export const swap = command({
  name: 'swap',
  group: 'Work',
  summary: 'gives a task to another agent or model, in the same worktree',
  usage: '<task> [[backend:]agent]',
  about:
    'The agent at work is stopped. The next one has its worktree, mail and subtasks, and is told where the work is and what was said last. For a task that has ended: reveille retry.',
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
