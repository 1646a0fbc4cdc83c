import {
  BudgetNode,
  MessageId,
  PlanId,
  SessionId,
  StopScope,
  TaskId,
  parseInput,
  type Caller,
  type Orchestrator,
} from '@reveille/protocol';
import type { Given, Host } from './host.ts';
import { BACKEND_OPERATIONS, backendOperations } from './operations/backends.ts';
import { CORRESPONDENCE, correspondence } from './operations/correspondence.ts';
import { DELEGATION, delegation } from './operations/delegation.ts';
import { MAIL, mail } from './operations/mail.ts';
import { PLAN_OPERATIONS, planOperations } from './operations/plans.ts';
import { REPORTING, reporting } from './operations/report.ts';
import { SESSION_OPERATIONS, sessionOperations } from './operations/sessions.ts';
import { TASK_OPERATIONS, taskOperations } from './operations/tasks.ts';
import { WORK_OPERATIONS, workOperations } from './operations/work.ts';
import { WORKER_OPERATIONS, workerOperations } from './operations/workers.ts';

type Operations = Partial<Orchestrator>;
type Group = readonly [
  names: readonly (keyof Orchestrator)[],
  make: (host: Host, caller: Caller, given: Given) => Operations,
];

const GROUPS: readonly Group[] = [
  [PLAN_OPERATIONS, planOperations],
  [TASK_OPERATIONS, taskOperations],
  [DELEGATION, delegation],
  [REPORTING, reporting],
  [CORRESPONDENCE, correspondence],
  [SESSION_OPERATIONS, sessionOperations],
  [MAIL, mail],
  [WORK_OPERATIONS, workOperations],
  [WORKER_OPERATIONS, workerOperations],
  [BACKEND_OPERATIONS, backendOperations],
];

/** What the first argument is, where it is no input that the operation parses itself. */
const FIRST: { readonly [K in keyof Orchestrator]?: Parameters<typeof parseInput>[0] } = {
  addPlanTask: PlanId,
  startPlan: PlanId,
  pausePlan: PlanId,
  resumePlan: PlanId,
  cancelPlan: PlanId,
  getPlan: PlanId,
  getTask: TaskId,
  deployTask: TaskId,
  completeTask: TaskId,
  cancelTask: TaskId,
  retryTask: TaskId,
  swapWorker: TaskId,
  pauseWorker: TaskId,
  resumeWorker: TaskId,
  interruptWorker: TaskId,
  diffTask: TaskId,
  pullSubtask: TaskId,
  discardTask: TaskId,
  snapshots: TaskId,
  restoreTask: TaskId,
  bringHome: BudgetNode,
  takeOver: TaskId,
  raiseBudget: BudgetNode,
  getBudget: BudgetNode,
  stop: StopScope,
  endSession: SessionId,
  attach: SessionId,
  mailbox: SessionId,
  getMessage: MessageId,
};

function firstProblem(name: keyof Orchestrator, value: unknown): unknown {
  const schema = FIRST[name];
  if (!schema) return null;
  try {
    parseInput(schema, value);
    return null;
  } catch (error) {
    return error;
  }
}

/** The names of all operations: what may be called by name. */
export const OPERATIONS: ReadonlySet<string> = new Set(GROUPS.flatMap(([names]) => names));

/**
 * The engine's own implementation of the Orchestrator: input is parsed, the caller checked, one decision made. Ten
 * thousand workers hold one each, so it is three fields; a group of operations is made when one of it is called.
 */
class Door {
  readonly host: Host;
  readonly caller: Caller;
  readonly given: Given;

  constructor(host: Host, caller: Caller, given: Given) {
    this.host = host;
    this.caller = caller;
    this.given = given;
  }
}

for (const [names, make] of GROUPS) {
  for (const name of names) {
    Object.defineProperty(Door.prototype, name, {
      value(this: Door, ...args: unknown[]): unknown {
        const wrong = firstProblem(name, args[0]);
        if (wrong) return Promise.reject(wrong);
        const operation = make(this.host, this.caller, this.given)[name] as (...given: unknown[]) => unknown;
        return operation(...args);
      },
    });
  }
}

type Offered = (
  | typeof PLAN_OPERATIONS
  | typeof TASK_OPERATIONS
  | typeof DELEGATION
  | typeof REPORTING
  | typeof CORRESPONDENCE
  | typeof SESSION_OPERATIONS
  | typeof MAIL
  | typeof WORK_OPERATIONS
  | typeof WORKER_OPERATIONS
  | typeof BACKEND_OPERATIONS
)[number];
/** No operation is forgotten: this fails to compile if one is. */
type Complete = Exclude<keyof Orchestrator, Offered> extends never ? Orchestrator : never;

const NOT_NOTED: Given = () => undefined;

export function orchestratorFor(host: Host, caller: Caller, given: Given = NOT_NOTED): Orchestrator {
  // The loop above gave it every operation; the compiler cannot see that, `Complete` can.
  return new Door(host, caller, given) as unknown as Complete;
}
