import {
  LENGTHS,
  PRIORITIES,
  ReveilleError,
  ReviewRounds,
  defuse,
  isId,
  isReveilleError,
  type AddTaskInput,
  type Plan,
  type PlanId,
  type PlanInput,
  type PlanView,
  type StartedPlan,
} from '@reveille/protocol';
import { z } from 'zod';
import { quote } from '../fence.ts';
import { budget, planId, withoutWords } from '../schema.ts';
import { ACTS, EVERYBODY, SETS, defineTool, type RunWorld, type Tool } from '../tool.ts';
import { TaskState, stateOf, taskLine } from './subtasks.ts';

const name = z.string().trim().min(1).max(LENGTHS.name);

// What may be empty here is refused where the whole plan is checked, together with all else that is wrong with it (PLN1).
const planTask = {
  description: z
    .string()
    .max(LENGTHS.prompt)
    .describe('The whole task; the agent knows only this and what its dependencies changed.'),
  name: name.optional().describe(''),
  agent: z.string().max(120).optional().describe('`[@][backend:]name`; left out: the general agent.'),
  dependencies: z
    .array(z.string().max(LENGTHS.name))
    .max(LENGTHS.tasks)
    .default([])
    .describe('Ids of tasks that must be completed first; it starts from what they changed.'),
  targetFiles: z
    .array(z.string().max(4_096))
    .max(LENGTHS.files)
    .default([])
    .describe('Files it will change, if known.'),
  priority: z.enum(PRIORITIES).default('normal'),
  model: z.string().max(120).optional(),
  expectedOutput: z.string().max(LENGTHS.prompt).optional().describe('What its report must hold.'),
  review: z
    .string()
    .min(1)
    .max(120)
    .default('none')
    .describe(
      'Who must approve it before it counts as completed: none, owner (you), person, or an agent, such as reviewer.',
    ),
  reviewRounds: ReviewRounds.optional().describe('Most reviews by an agent; then the person decides.'),
  budget: budget('', false),
};

type PlanTask = z.output<z.ZodObject<typeof planTask>>;

const PlanState = z.object({
  planId: z.string(),
  name: z.string(),
  state: z.string(),
  why: z.string(),
  tasks: z.array(TaskState.extend({ id: z.string().nullable() })),
});

/** The tools of the seeds call `description` what a task itself calls its prompt. */
function taskInput(id: string, { description, ...rest }: PlanTask): AddTaskInput {
  const given = Object.entries({ ...rest, id, prompt: description }).filter(
    ([, value]) => value !== undefined,
  );
  // What is left has the types it had: only what was not given is gone.
  return Object.fromEntries(given) as unknown as AddTaskInput;
}

/** What is wrong with a plan, at the places where whoever called has put it. */
function inOurWords(error: unknown): unknown {
  if (!isReveilleError(error, 'invalid_input')) return error;
  const words = error.message.replaceAll(/(tasks\[\d+\])\.prompt\b/g, '$1.description');
  return new ReveilleError('invalid_input', words, { data: error.data, cause: error });
}

export const savePlan = defineTool({
  name: 'orchestrator_save_plan',
  title: 'Save a plan',
  description: [
    'Saves a plan: tasks and what depends on what. If anything is wrong you are told all of it and nothing is saved. It starts only with `autoStart` or orchestrator_start_plan.',
    'Make tasks that one agent can finish and check by itself, with a dependency only where one needs what another made: the rest run side by side. In the end their branches are merged into one.',
    'Example: {"name":"Dark mode","tasks":[{"id":"tokens","description":"Introduce colour tokens …","agent":"coder"},{"id":"switch","description":"…","dependencies":["tokens"]}]}',
  ],
  input: z.strictObject({
    name,
    description: z
      .string()
      .max(LENGTHS.prompt)
      .default('')
      .describe('What the plan is for; every worker is told.'),
    baseBranch: z.string().max(250).optional().describe('Left out: where the checkout stands.'),
    verify: z
      .string()
      .max(LENGTHS.command)
      .optional()
      .describe('A command that must pass after each step of the merge.'),
    integrate: z.boolean().default(true).describe('false: leave the branches unmerged.'),
    tasks: z
      .array(
        z.strictObject({
          id: z.string().max(LENGTHS.name).describe('Your name for it, for dependencies.'),
          ...planTask,
        }),
      )
      .min(1)
      .max(LENGTHS.tasks),
    budget: budget('At most this much for the whole plan.'),
    autoStart: z.boolean().default(false),
  }),
  output: PlanState,
  annotations: ACTS,
  callers: EVERYBODY,
  async run({ autoStart, tasks, ...plan }, { orchestrator, repository }) {
    const input = {
      ...Object.fromEntries(Object.entries(plan).filter(([, value]) => value !== undefined)),
      ...(repository === null ? {} : { repository }),
      tasks: tasks.map(({ id, ...task }) => taskInput(id, task)),
      // As above.
    } as unknown as PlanInput;
    const view = await orchestrator.savePlan(input, { start: autoStart }).catch((error: unknown) => {
      throw inOurWords(error);
    });
    const next = autoStart
      ? 'It is running; ready tasks start by themselves.'
      : 'It is a draft: orchestrator_start_plan starts it.';
    return {
      structured: planState(view),
      text: [planText(view), ...noteLines(view.warning), next].join('\n'),
    };
  },
});

export const addPlanTask = defineTool({
  name: 'orchestrator_add_plan_task',
  title: 'Add a task to a plan',
  description: [
    'Adds one task to a plan that has not ended. If the plan is running, it starts as soon as its dependencies are completed.',
  ],
  input: z.strictObject({
    planId: planId('The plan; left out: your only open one.').optional(),
    id: name.optional().describe('Your own name for it in the plan; made up if you give none.'),
    ...withoutWords(planTask),
  }),
  output: TaskState,
  annotations: ACTS,
  callers: EVERYBODY,
  async run({ planId: given, id, dependencies, ...task }, world) {
    const { orchestrator } = world;
    const plan = await orchestrator.getPlan(given ?? (await onlyPlan(world)));
    const input = { ...task, dependencies: dependencies.map((dependency) => keyOf(plan, dependency)) };
    const added = await orchestrator.addPlanTask(plan.plan.id, taskInput(id ?? freeId(plan), input));
    return { structured: stateOf(added), text: `Added: ${taskLine(added)}` };
  },
});

/** A dependency may be named by the author's id or by the task's own. */
function keyOf({ tasks }: PlanView, dependency: string): string {
  if (!isId('task', dependency)) return dependency;
  return tasks.find(({ task }) => task.id === dependency)?.task.key ?? dependency;
}

function freeId({ tasks }: PlanView): string {
  const taken = new Set(tasks.map(({ task }) => task.key));
  let number = tasks.length + 1;
  while (taken.has(`task-${number}`)) number += 1;
  return `task-${number}`;
}

const OPEN = new Set<Plan['state']>(['draft', 'active', 'paused']);

export async function ownPlans({ orchestrator, caller }: RunWorld): Promise<Plan[]> {
  const plans = await orchestrator.listPlans();
  return plans.filter(
    ({ state, owner }) => OPEN.has(state) && (caller.kind === 'person' || owner === caller.session),
  );
}

async function onlyPlan(world: RunWorld): Promise<PlanId> {
  const [only, ...others] = await ownPlans(world);
  if (only && others.length === 0) return only.id;
  const which = only
    ? [only, ...others].map(({ id, name: title }) => `${id} (${quote(title, 60)})`).join(', ')
    : 'you have none';
  throw new ReveilleError('invalid_input', `Say which plan, by planId: ${which}.`);
}

/** Three tools that do one thing to a plan. */
function planAct(act: {
  name: string;
  title: string;
  description: string[];
  change: (world: RunWorld, plan: PlanId) => Promise<StartedPlan>;
}): Tool {
  return defineTool({
    ...act,
    input: z.strictObject({ planId: planId('') }),
    output: z.object({ planId: z.string(), name: z.string(), state: z.string(), why: z.string() }),
    annotations: SETS,
    callers: EVERYBODY,
    async run({ planId: id }, world) {
      const { name: title, state, why, warning } = await act.change(world, id);
      return {
        structured: { planId: id, name: title, state, why },
        text: [`Plan ${id} ${quote(title, 80)} is ${state} (${quote(why)}).`, ...noteLines(warning)].join(
          '\n',
        ),
      };
    },
  });
}

export const startPlan = planAct({
  name: 'orchestrator_start_plan',
  title: 'Start a plan',
  description: [
    'Starts a draft. Its tasks run by priority, as their dependencies are completed; you are told of what needs you.',
  ],
  change: ({ orchestrator }, plan) => orchestrator.startPlan(plan),
});

export const pausePlan = planAct({
  name: 'orchestrator_pause_plan',
  title: 'Pause a plan',
  description: [
    'No further task of the plan starts. Those that run go on; to stop one, orchestrator_cancel_task.',
  ],
  change: ({ orchestrator }, plan) => orchestrator.pausePlan(plan),
});

export const resumePlan = planAct({
  name: 'orchestrator_resume_plan',
  title: 'Resume a plan',
  description: ['Lets a paused plan go on.'],
  change: ({ orchestrator }, plan) => orchestrator.resumePlan(plan),
});

const noteLines = (warning: string | undefined): string[] =>
  warning === undefined ? [] : [`Note: ${defuse(warning)}`];

function planState({ plan, tasks }: PlanView): z.infer<typeof PlanState> {
  const { id, name: title, state, why } = plan;
  return {
    planId: id,
    name: title,
    state,
    why,
    tasks: tasks.map((view) => ({ ...stateOf(view), id: view.task.key })),
  };
}

function planText({ plan, tasks }: PlanView): string {
  const lines = tasks.map((view) => `- ${quote(view.task.key ?? '', 60)}: ${taskLine(view)}`);
  return [`Plan ${plan.id} ${quote(plan.name, 80)} is ${plan.state}. Its tasks:`, ...lines].join('\n');
}
