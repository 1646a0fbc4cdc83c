import { isTerminal, ReveilleError, type Client } from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findEither, viewpointOf } from '../find.ts';
import { reach } from '../reach.ts';
import type { Target } from '../view/watch.ts';
import { isEnded } from '../view/words.ts';
import { follow, outcome } from './following.ts';
import { isGoal, seeThrough } from './run.ts';

export const attach = command({
  name: 'attach',
  group: 'Work',
  summary: 'comes back to a plan or a task that runs, and shows it',
  usage: '[plan|task]',
  about: `Without a name, the only plan or task that runs. Several may watch the same; Ctrl-C leaves, and the work goes on.
Exit codes: 0 completed, 1 failed or cancelled, 130 you left.`,
  options: {},
  json: 'every event from now on as a line, and last the plan { plan, tasks } or the task { task, run, worker, end }.',
  async run(call) {
    const client = await reach(call);
    const [name] = call.args;
    const target = name === undefined ? await onlyOne(client) : await named(call, client, name);
    if ('task' in target && isGoal((await client.getTask(target.task)).task.agent))
      return seeThrough(call, client, target.task);
    return outcome(call, await follow(call, client, target), client);
  },
});

async function named(call: Call, client: Client, name: string): Promise<Target> {
  const { plan, task } = await findEither(client, name, await viewpointOf(call));
  return plan ? { plan: plan.id } : { task: task.task.id };
}

async function onlyOne(client: Client): Promise<Target> {
  const tasks = (await client.listTasks({ open: true })).filter(
    ({ task }) => task.plan === null && task.depth <= 1 && !isTerminal(task.state),
  );
  // A plan that an orchestrator made is shown with it.
  const owners = new Set<string>(tasks.map(({ task }) => task.session));
  const plans = (await client.listPlans()).filter(
    ({ state, owner }) => !isEnded(state) && state !== 'draft' && !owners.has(owner),
  );
  const running: Target[] = [
    ...plans.map(({ id }) => ({ plan: id })),
    ...tasks.map(({ task }) => ({ task: task.id })),
  ];
  const [only] = running;
  if (only && running.length === 1) return only;
  if (!only)
    throw new ReveilleError('not_found', 'Nothing runs. `reveille status --all` lists what has ended.');
  const lines = [
    ...plans.map(({ id, name }) => `  ${id}  ${name}`),
    ...tasks.map(({ task }) => `  ${task.id}  ${task.name}`),
  ];
  throw new ReveilleError('invalid_input', [`Say which of these:`, ...lines.slice(0, 10)].join('\n'));
}
