import {
  AnswerInput,
  AwaitInput,
  BudgetNode,
  MessageId,
  PlanId,
  ReviewInput,
  SendInput,
  SessionId,
  StopScope,
  TaskId,
  isId,
  parseInput,
  type Caller,
  type Orchestrator,
} from '@reveille/protocol';
import { authorize, type Named } from './authority.ts';
import type { CallExchange } from './hand-overs.ts';
import type { Host } from './host.ts';
import { BACKEND_OPERATIONS, backendOperations } from './operations/backends.ts';
import { CORRESPONDENCE, correspondence } from './operations/correspondence.ts';
import { DELEGATION, delegation } from './operations/delegation.ts';
import { MAIL, mail } from './operations/mail.ts';
import { PLAN_OPERATIONS, planOperations, repositoryIn } from './operations/plans.ts';
import { REPORTING, reporting } from './operations/report.ts';
import { SESSION_OPERATIONS, sessionOperations } from './operations/sessions.ts';
import { TASK_OPERATIONS, taskOperations } from './operations/tasks.ts';
import { WORK_OPERATIONS, workOperations } from './operations/work.ts';
import { WORKER_OPERATIONS, workerOperations } from './operations/workers.ts';

type Operations = Partial<Orchestrator>;
type Group = readonly [
  names: readonly (keyof Orchestrator)[],
  make: (host: Host, caller: Caller, call: CallExchange) => Operations,
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

/** What a call names, from its arguments. Parsing refuses an argument that is no id, before anything is looked up. */
type NameReader = (first: unknown) => readonly Named[];

const nothing: NameReader = () => [];
const task: NameReader = (id) => [{ task: parseInput(TaskId, id) }];
const plan: NameReader = (id) => [{ plan: parseInput(PlanId, id) }];
const session: NameReader = (id) => [{ session: parseInput(SessionId, id) }];
const node: NameReader = (id) => {
  const found = parseInput(BudgetNode, id);
  return [isId('plan', found) ? { plan: found } : { task: found }];
};

/** Total, so that no operation is served without somebody having said what it is about. */
const NAMED: { readonly [K in keyof Orchestrator]: NameReader } = {
  savePlan: (input) => {
    const repository = repositoryIn(input);
    return repository === null ? [] : [{ repository }];
  },
  addPlanTask: plan,
  startPlan: plan,
  pausePlan: plan,
  resumePlan: plan,
  cancelPlan: plan,
  getPlan: plan,
  listPlans: nothing,
  getTask: task,
  listTasks: nothing,
  deployTask: task,
  completeTask: task,
  cancelTask: task,
  retryTask: task,
  reviewTask: (input) => [{ task: parseInput(ReviewInput, input).task }],
  swapWorker: task,
  pauseWorker: task,
  resumeWorker: task,
  interruptWorker: task,
  raiseBudget: node,
  getBudget: node,
  stop: (given) => {
    const scope = parseInput(StopScope, given);
    if (scope.scope === 'all') return ['everything'];
    return scope.scope === 'plan' ? [{ plan: scope.plan }] : [{ task: scope.task }];
  },
  spawnSubtask: nothing,
  spawnSubtasks: nothing,
  awaitSubtasks: (input) => parseInput(AwaitInput, input).taskIds.map((id) => ({ task: id })),
  checkUpdates: nothing,
  reportCompletion: nothing,
  notifyParent: nothing,
  sendMessage: (input) => {
    const { to } = parseInput(SendInput, input);
    return [isId('task', to) ? { task: to } : { session: to }];
  },
  answer: (input) => [{ request: parseInput(AnswerInput, input).request }],
  diffTask: task,
  pullSubtask: task,
  discardTask: task,
  snapshots: task,
  restoreTask: task,
  bringHome: node,
  takeOver: task,
  openSession: nothing,
  endSession: session,
  attach: session,
  mailbox: session,
  getMessage: (id) => [{ message: parseInput(MessageId, id) }],
  inbox: nothing,
  events: nothing,
  backends: nothing,
};

/** The names of all operations: what may be called by name. */
export const OPERATIONS: ReadonlySet<string> = new Set(GROUPS.flatMap(([names]) => names));

/**
 * Operations that prove nothing about the mail that was handed over before. Clients look on their own account, also on
 * the way of an answer to whoever asked for it; a report settles by itself what its worker had.
 */
const NO_SIGN: ReadonlySet<keyof Orchestrator> = new Set([
  ...MAIL,
  ...SESSION_OPERATIONS,
  ...REPORTING,
  ...BACKEND_OPERATIONS,
  'getPlan',
  'listPlans',
  'getTask',
  'listTasks',
  'getBudget',
] as const);

/**
 * The engine's own implementation of the Orchestrator: the caller is authorised, input is parsed, one decision made. Ten
 * thousand workers hold one each, so it is three fields; a group of operations is made when one of it is called.
 */
class Door {
  readonly host: Host;
  readonly caller: Caller;
  /** The exchange that all calls belong to; null: each is one of its own, whose answer arrives when it returns. */
  readonly call: CallExchange | null;

  constructor(host: Host, caller: Caller, call: CallExchange | null) {
    this.host = host;
    this.caller = caller;
    this.call = call;
  }
}

for (const [names, make] of GROUPS) {
  for (const name of names) {
    Object.defineProperty(Door.prototype, name, {
      // Authority first (ID6): nothing of the operation runs before the table has allowed it.
      async value(this: Door, ...args: unknown[]): Promise<unknown> {
        const { host, caller } = this;
        const call = this.call ?? host.begin();
        await authorize(host.records, caller, name, NAMED[name](args[0]));
        if (!NO_SIGN.has(name)) await host.alive(caller, call);
        const operation = make(host, caller, call)[name] as (...given: unknown[]) => unknown;
        const answer = await operation(...args);
        if (!this.call) call.answered();
        return answer;
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

export function orchestratorFor(host: Host, caller: Caller, call: CallExchange | null = null): Orchestrator {
  // The loop above gave it every operation; the compiler cannot see that, `Complete` can.
  return new Door(host, caller, call) as unknown as Complete;
}
