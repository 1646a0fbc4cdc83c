import { z } from 'zod';
import { BudgetLimits } from '../budget.ts';
import { MessageId, PlanId, SessionId, TaskId } from '../ids.ts';
import {
  AddTaskInput,
  AnswerInput,
  AwaitInput,
  BudgetNode,
  NotifyInput,
  ReportInput,
  RetryInput,
  SwapInput,
  ReviewInput,
  SendInput,
  SpawnInput,
  StartInput,
  StopScope,
  type Orchestrator,
} from '../orchestrator.ts';
import { invalidInput, problemIn } from '../parse.ts';
import { LENGTHS, RepositoryPath } from '../plan.ts';
import { SessionKind } from '../session.ts';

/** `attach` is a conversation and has a route of its own. */
export type HttpOperation = Exclude<keyof Orchestrator, 'attach'>;

export interface HttpContract {
  /** What each argument must be. */
  readonly args: readonly z.ZodType[];
  /** Nothing is done twice if the answer was lost and the call is made again. */
  readonly repeatable: boolean;
  /** It may be answered much later, and can be given up. */
  readonly waits: boolean;
  /** It may carry a plan or a whole result. */
  readonly large: boolean;
}

type Traits = Partial<Omit<HttpContract, 'args'>>;
const op = (args: readonly z.ZodType[], traits: Traits = {}): HttpContract => ({
  args,
  repeatable: false,
  waits: false,
  large: false,
  ...traits,
});
const READ: Traits = { repeatable: true };
const LARGE: Traits = { large: true };

const text = z.string().max(LENGTHS.text);
/** It becomes part of an event for every task that it is about. */
const why = z.string().max(2_000);
const ms = z.number().int().min(0).max(86_400_000);
const count = z.number().int().min(0);
const TaskFilter = z.strictObject({
  plan: PlanId.optional(),
  owner: SessionId.optional(),
  open: z.boolean().optional(),
});
const SpawnOptions = z.strictObject({ blocking: z.boolean().optional(), patienceMs: ms.optional() });
const UpdateFilter = z.strictObject({ taskIds: z.array(TaskId).max(10_000).optional() });

/**
 * Every operation over HTTP: `POST /v1/op/<name>` with its arguments as a JSON array. The arguments are parsed here,
 * at the door, because in another process nobody's compiler has checked them; what comes back is what the
 * Orchestrator interface says.
 */
export const HTTP_OPERATIONS = {
  // The engine says everything that is wrong with a plan, shape and meaning, at once; the door would say less.
  savePlan: op([z.unknown(), z.strictObject({ start: z.boolean().optional() }).optional()], LARGE),
  addPlanTask: op([PlanId, AddTaskInput], LARGE),
  startPlan: op([PlanId, StartInput.optional()]),
  pausePlan: op([PlanId]),
  resumePlan: op([PlanId]),
  cancelPlan: op([PlanId, why.optional()]),
  getPlan: op([PlanId], READ),
  listPlans: op([], READ),

  getTask: op([TaskId], READ),
  listTasks: op([TaskFilter], READ),
  deployTask: op([TaskId]),
  completeTask: op([TaskId, text.optional()], LARGE),
  cancelTask: op([TaskId, why.optional()]),
  retryTask: op([TaskId, RetryInput.optional()]),
  reviewTask: op([ReviewInput], LARGE),
  swapWorker: op([TaskId, SwapInput]),
  pauseWorker: op([TaskId]),
  resumeWorker: op([TaskId]),
  interruptWorker: op([TaskId]),
  raiseBudget: op([BudgetNode, BudgetLimits], { repeatable: true }),
  getBudget: op([BudgetNode], READ),
  stop: op([StopScope, why]),

  spawnSubtask: op([SpawnInput, SpawnOptions.optional()], { waits: true, large: true }),
  spawnSubtasks: op([z.array(SpawnInput).max(LENGTHS.tasks)], LARGE),
  // What an answer that was lost had taken is queued again, so asking again misses nothing.
  awaitSubtasks: op([AwaitInput], { waits: true, repeatable: true }),
  checkUpdates: op([UpdateFilter.optional()], { repeatable: true }),
  reportCompletion: op([ReportInput], LARGE),
  notifyParent: op([NotifyInput], LARGE),
  sendMessage: op([SendInput], LARGE),
  answer: op([AnswerInput], LARGE),

  diffTask: op([TaskId], READ),
  pullSubtask: op([TaskId]),
  discardTask: op([TaskId]),
  snapshots: op([TaskId], READ),
  restoreTask: op([TaskId, z.string().max(1_000).optional()]),
  bringHome: op([BudgetNode]),
  takeOver: op([TaskId], { repeatable: true }),

  openSession: op([
    SessionKind.exclude(['worker']),
    z.string().max(LENGTHS.prompt),
    z.strictObject({ repository: RepositoryPath.optional() }).optional(),
  ]),
  endSession: op([SessionId]),
  mailbox: op([SessionId], READ),
  getMessage: op([MessageId], READ),
  inbox: op([], READ),
  events: op([count, count], READ),
  backends: op([], READ),
} as const satisfies Record<HttpOperation, HttpContract>;

export const HTTP_OPERATION_NAMES = Object.keys(HTTP_OPERATIONS) as readonly HttpOperation[];

export const isHttpOperation = (name: string): name is HttpOperation => Object.hasOwn(HTTP_OPERATIONS, name);

/** The arguments as the operation takes them. A wrong one is said with its place, as it would be in process. */
export function parseArguments(operation: HttpOperation, given: unknown): unknown[] {
  const { args }: HttpContract = HTTP_OPERATIONS[operation];
  if (!Array.isArray(given))
    throw invalidInput([{ at: 'input', problem: 'send the arguments of the operation as a JSON array' }]);
  if (given.length > args.length)
    throw invalidInput([
      { at: 'input', problem: `${operation} takes at most ${args.length} arguments, got ${given.length}` },
    ]);
  const problems: { at: string; problem: string }[] = [];
  const parsed = args.map((schema, i) => {
    const result = schema.safeParse(given[i]);
    if (result.success) return result.data;
    for (const issue of result.error.issues)
      problems.push({ at: place(i, issue.path), problem: problemIn(issue) });
    return undefined;
  });
  if (problems.length > 0) throw invalidInput(problems);
  return parsed;
}

/** As in process, where the first argument is the input and has no name. */
function place(argument: number, path: readonly PropertyKey[]): string {
  const inside = path.map(String).join('.');
  if (argument === 0) return inside || 'input';
  return inside ? `argument ${argument + 1}, ${inside}` : `argument ${argument + 1}`;
}
