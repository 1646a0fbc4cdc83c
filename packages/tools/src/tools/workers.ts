import {
  LENGTHS,
  PASS_ON,
  ReveilleError,
  isTerminal,
  type Plan,
  type PlanView,
  type TaskId,
  type TaskView,
} from '@reveille/protocol';
import { z } from 'zod';
import { quote } from '../fence.ts';
import { planId, requestId, taskId } from '../schema.ts';
import { ACTS, DESTROYS, EVERYBODY, LOOKS, defineTool, type RunWorld, type Tool } from '../tool.ts';
import { ownPlans } from './plans.ts';
import { TaskState, stateOf, taskLine } from './subtasks.ts';

const MOST_SHOWN = 200;

export const listWorkers = defineTool({
  name: 'orchestrator_list_workers',
  title: 'See plans, tasks and workers',
  description: [
    'Shows the plans, with how many tasks are in which state, and every open task with its agent, state, why and since when. With `planId`: one plan, with all its tasks.',
    'You are told of what needs you; do not poll.',
  ],
  input: z.strictObject({ planId: planId('').optional() }),
  output: z.object({
    plans: z.array(
      z.object({
        planId: z.string(),
        name: z.string(),
        state: z.string(),
        why: z.string(),
        counts: z.record(z.string(), z.number()),
      }),
    ),
    tasks: z.array(TaskState),
    left: z.number().describe('How many more tasks there are.'),
  }),
  annotations: LOOKS,
  callers: EVERYBODY,
  async run({ planId: id }, { orchestrator }) {
    const { plans, tasks } =
      id === undefined ? await everything(orchestrator) : onePlan(await orchestrator.getPlan(id));
    const shown = tasks.slice(0, MOST_SHOWN);
    const left = tasks.length - shown.length;
    const lines = [
      ...plans.map(planLine),
      ...shown.map(taskLine),
      ...(left > 0 ? [`… and ${left} more; ask for one plan.`] : []),
    ];
    const list = plans.map(({ id: plan, name, state, why, counts }) => ({
      planId: plan,
      name,
      state,
      why,
      counts,
    }));
    return {
      structured: { plans: list, tasks: shown.map(stateOf), left },
      text: lines.length > 0 ? lines.join('\n') : 'There are no plans, and no task is open.',
    };
  },
});

interface Overview {
  readonly plans: readonly Plan[];
  readonly tasks: readonly TaskView[];
}

const onePlan = ({ plan, tasks }: PlanView): Overview => ({ plans: [plan], tasks });

async function everything(orchestrator: RunWorld['orchestrator']): Promise<Overview> {
  const plans = (await orchestrator.listPlans()).filter(({ state }) =>
    ['draft', 'active', 'paused'].includes(state),
  );
  return { plans, tasks: await orchestrator.listTasks({ open: true }) };
}

function planLine({ id, name, state, why, counts }: Plan): string {
  const states = Object.entries(counts).filter(([, count]) => count > 0);
  return `${id} ${quote(name, 80)}: ${state} (${quote(why)}); ${states.map(([key, count]) => `${count} ${key}`).join(', ')}`;
}

interface Act<I extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string[];
  readonly input: I;
  readonly done: string;
  readonly annotations?: Tool['annotations'];
  readonly change: (world: RunWorld, input: z.output<I>) => Promise<TaskView>;
}

/** A tool that does one thing to a task and shows what became of it. */
function taskAct<I extends z.ZodObject>({ done, change, annotations = ACTS, ...act }: Act<I>): Tool {
  return defineTool({
    ...act,
    output: TaskState,
    annotations,
    callers: EVERYBODY,
    async run(input, world) {
      const view = await change(world, input);
      return { structured: stateOf(view), text: `${done}: ${taskLine(view)}` };
    },
  });
}

export const deployTask = taskAct({
  name: 'orchestrator_deploy_task',
  title: 'Start a task by hand',
  description: [
    'Starts a task now, although its plan is a draft or paused. Its dependencies must be completed. In a running plan tasks start by themselves.',
  ],
  input: z.strictObject({
    taskId: taskId('Left out: the next one that could start.').optional(),
  }),
  done: 'Started',
  change: async (world, { taskId: id }) => world.orchestrator.deployTask(id ?? (await nextTask(world))),
});

async function nextTask(world: RunWorld): Promise<TaskId> {
  for (const { id, state } of await ownPlans(world)) {
    if (state === 'active') continue;
    const { tasks } = await world.orchestrator.getPlan(id);
    const next = tasks.find(
      ({ task }) =>
        !isTerminal(task.state) && task.run === null && !task.byHand && task.openDependencies === 0,
    );
    if (next) return next.task.id;
  }
  throw new ReveilleError('wrong_state', 'No task of yours waits to be started by hand.');
}

export const completeTask = taskAct({
  name: 'orchestrator_complete_task',
  title: 'Call a task completed',
  description: [
    'Calls a task completed, or approves one in review. A worker that is still at it is stopped, and what it did is kept. Only when you have seen that the work is done: tasks that depend on it start.',
  ],
  input: z.strictObject({
    taskId: taskId(''),
    output: z
      .string()
      .max(LENGTHS.text)
      .optional()
      .describe('What counts as its report; left out: its last words.'),
  }),
  done: 'Completed',
  change: ({ orchestrator }, { taskId: id, output }) => orchestrator.completeTask(id, output),
});

export const cancelTask = taskAct({
  name: 'orchestrator_cancel_task',
  title: 'Cancel a task',
  description: [
    'Stops a task and everything it started. What it did is kept on its branch. Tasks that depend on it are blocked until it is tried again.',
  ],
  input: z.strictObject({ taskId: taskId(''), reason: z.string().max(2_000).optional() }),
  done: 'Cancelled',
  annotations: DESTROYS,
  change: ({ orchestrator }, { taskId: id, reason }) => orchestrator.cancelTask(id, reason),
});

export const retryTask = taskAct({
  name: 'orchestrator_retry_task',
  title: 'Try a task again',
  description: [
    'Starts a failed or cancelled task anew; what the last attempt left is kept as a snapshot. Find out first why it failed. What it should do differently, tell it with a2a_send_message.',
  ],
  input: z.strictObject({
    taskId: taskId(''),
    agent: z.string().max(120).optional().describe('Another agent.'),
    model: z.string().max(120).optional().describe('Another model.'),
    from: z
      .string()
      .min(1)
      .max(300)
      .optional()
      .describe('"last": from what the last attempt left; or a snapshot’s ref.'),
  }),
  done: 'To be tried again',
  change: ({ orchestrator }, { taskId: id, agent, model, from }) =>
    orchestrator.retryTask(id, {
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined ? {} : { model }),
      ...(from === undefined ? {} : { from }),
    }),
});

export const answer = defineTool({
  name: 'orchestrator_answer',
  title: 'Answer a question or an approval request',
  description: [
    'Answers a request that waits for you, by the id it came with. The asker is woken with your answer. Where choices were given, send the number or the words of one. For a review: "approve", "reject", or "changes: what is to be different".',
    'What only a person can decide, answer with "pass on".',
  ],
  input: z.strictObject({
    requestId: requestId(''),
    answer: z.string().max(LENGTHS.text),
  }),
  output: z.object({ requestId: z.string(), taskId: z.string(), state: z.string() }),
  annotations: ACTS,
  callers: EVERYBODY,
  async run({ requestId: id, answer: words }, { orchestrator }) {
    const { task, state } = await orchestrator.answer({ request: id, answer: words });
    const open = words.trim().toLowerCase() === PASS_ON ? 'Passed on' : 'Still open';
    const done = state === 'open' ? `${open}: ${id} of ${task}.` : `Answered ${id} of ${task}.`;
    return { structured: { requestId: id, taskId: task, state }, text: done };
  },
});
