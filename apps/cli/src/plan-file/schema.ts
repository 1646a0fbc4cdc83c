import { BudgetLimits, LENGTHS, PlanInput, PlanTaskInput } from '@reveille/protocol';
import { z } from 'zod';

/**
 * A plan as a person writes it. It is what `savePlan` takes, without the repository, which is the one the person is in,
 * and with inputs and defaults, which are gone before anybody else sees it.
 */
const plan = PlanInput.shape;
const task = PlanTaskInput.shape;

const Scalar = z.union([z.string().max(LENGTHS.prompt), z.number(), z.boolean()]);
const InputName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must be a letter, then letters, digits, "-" or "_"');
const PlanFileInput = z.union([
  Scalar.describe('What it is unless --input says otherwise.'),
  z.null(),
  z.strictObject({
    description: z.string().max(LENGTHS.name).optional().describe('What it is for.'),
    default: Scalar.optional().describe(
      'What it is unless --input says otherwise. Without it, it must be given.',
    ),
  }),
]);
export type PlanFileInput = z.infer<typeof PlanFileInput>;

const { tokens, usd, turns, spawns, wallMs } = BudgetLimits.shape;
const Budget = BudgetLimits.extend({
  tokens: tokens.describe('Tokens, as the backend counts them.'),
  usd: usd.describe('US dollars.'),
  turns: turns.describe('Turns of the agent.'),
  spawns: spawns.describe('Subtasks.'),
  wallMs: wallMs.describe('Milliseconds from its start.'),
}).strict();

const agent = task.agent.describe('[@][backend:]name, such as coder or claude:reviewer.');
const model = task.model.describe('The model, in the words of its backend.');
const priority = task.priority.describe('Among tasks that could start, which comes first.');
const review = task.review.describe(
  'Who has to approve before it counts as completed: none, owner, person, or an agent, [@][backend:]name.',
);
const reviewRounds = task.reviewRounds.describe(
  'How often an agent may look at it; then you decide. The setting engine.review.rounds unless said.',
);

const PlanFileTask = z.strictObject({
  id: task.id.describe('Your name for it; other tasks depend on it by this.'),
  prompt: task.prompt.describe('What is to be done. The agent knows nothing but this and the repository.'),
  name: task.name.describe('What it is called where it is shown; its id unless said.'),
  agent,
  model,
  dependencies: task.dependencies.describe(
    'Ids of tasks that must have completed before; it starts from their changes.',
  ),
  priority,
  targetFiles: task.targetFiles.describe('Files it is about, from the root of the repository.'),
  expectedOutput: task.expectedOutput.describe('What its report should hold.'),
  review,
  reviewRounds,
  budget: Budget.optional().describe('What it and its subtasks may use.'),
});

export const PlanFile = z.strictObject({
  name: plan.name.describe('What the plan is called.'),
  description: plan.description.describe('Why all this; every agent is told.'),
  inputs: z
    .record(InputName, PlanFileInput)
    .optional()
    .describe('What changes from run to run: ${{ inputs.name }} in a text stands for it.'),
  defaults: z
    .strictObject({
      agent,
      model,
      priority,
      review,
      reviewRounds,
      budget: Budget.optional().describe('What each task may use that says nothing else.'),
    })
    .partial()
    .optional()
    .describe('For every task that does not say it itself.'),
  baseBranch: plan.baseBranch.describe('What the tasks start from; where your checkout stands unless said.'),
  verify: plan.verify.describe(
    'A command run after each step of the integration; anything but 0 stops it there.',
  ),
  integrate: plan.integrate.describe('Whether the branches are merged into one at the end.'),
  budget: Budget.optional().describe('What the whole plan may use.'),
  tasks: z.array(PlanFileTask).min(1).max(LENGTHS.tasks),
});

/** Nothing of a plan is forgotten but what each run of it decides: these fail to compile if something is. */
type Lacks<Whole, Has> = Exclude<keyof Whole, keyof Has>;
const complete: [
  Lacks<typeof plan, typeof PlanFile.shape>,
  Lacks<typeof task, typeof PlanFileTask.shape>,
] extends ['repository' | 'dirty', never]
  ? true
  : never = true;
void complete;

/** For editors: completion and remarks while a plan is written. */
export function planJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(PlanFile, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'Reveille plan', ...rest };
}
