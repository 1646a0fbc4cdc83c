import type { HTTP_ROUTES } from './http/contract.ts';
import type { Orchestrator } from './orchestrator.ts';

/**
 * The kinds of callers. The credential and the stored rows decide which one a caller is, never an argument (ID3).
 *
 * - `person`: holds the token of the lock file. A hook of a chat holds it too, and looks for mail with it.
 * - `page`: a browser tab that the person let in. It may do what people do all day, but gives out no rights.
 * - `terminal`: the session a person's command line spawns from.
 * - `chat`: a chat of the person (Claude Code, an editor, any MCP client), which a model drives.
 * - `client`: a session of kind `orchestrator` without a task: a program of the person that steers one repository.
 * - `orchestrator`: a run whose session makes plans of a goal.
 * - `worker`: any other run.
 * - `reviewer`: a run that reviews another task's work.
 * - `integrator`: the run of Reveille's own program that merges a plan's branches. No agent has this role.
 */
export const ROLES = [
  'person',
  'page',
  'terminal',
  'chat',
  'client',
  'orchestrator',
  'worker',
  'reviewer',
  'integrator',
] as const;
export type Role = (typeof ROLES)[number];

/**
 * How the thing that a call names must be related to the caller.
 *
 * - `any`: no matter whose it is.
 * - `self`: the call names nothing but the caller itself, its own session, or its own repository.
 * - `held`: a request that waits for this caller, or is about a task below it. Never one that waits for the person.
 * - `own`: a plan or a task that the caller's session owns directly.
 * - `below`: a plan or a task that the caller's session or a session below it owns.
 * - `tree`: the caller's own task, and what is `below`.
 * - `plan`: the caller's own plan with its tasks, and what is in the `tree`.
 * - `repository`: what is in the `tree`, and everything else in the caller's repository.
 * - `kin`: the session of its parent, of a sibling, or below it.
 * - `party`: a message that the caller sent or received.
 */
export type Reach =
  | 'any'
  | 'self'
  | 'held'
  | 'own'
  | 'below'
  | 'tree'
  | 'plan'
  | 'repository'
  | 'kin'
  | 'party';

/**
 * A condition on the state of what is named, or of the caller, for callers that are no person.
 *
 * - `at work`: the caller's run is not paused. A worker that a person paused or took over starts nothing (WRK1).
 * - `no person decides`: no person is to review the task, and it is not in a review that one decides (PLN8).
 * - `reviewed`: if a person or an agent is to review the task, it was approved (PLN8).
 * - `plan approved`: an orchestrator that must ask first has the person's approval for this plan (ORC1).
 * - `goal approved`: until the person has approved a plan for its goal, an orchestrator and everything below it start, and
 *   write to, read-only agents only (ORC1).
 */
export type Guard = 'at work' | 'no person decides' | 'reviewed' | 'plan approved' | 'goal approved';

export interface Right {
  /** The roles that may call it, each with its reach. A role that is missing is refused. */
  readonly may: { readonly [R in Role]?: Reach };
  /**
   * An agent's run needs one of these tools in its definition (AGT4); null: every run has it. People, their sessions and
   * the integrator have no definition.
   */
  readonly tools: readonly string[] | null;
  readonly guards: readonly Guard[];
}

const PERSON = { person: 'any', page: 'any' } as const;
const PERSON_SESSIONS = { terminal: 'self', chat: 'self', client: 'self' } as const;
const RUNS = { orchestrator: 'self', worker: 'self', reviewer: 'self', integrator: 'self' } as const;
const SESSIONS = { ...PERSON_SESSIONS, ...RUNS } as const;
/** People, and their own sessions on what these own. */
const PEOPLE = { ...PERSON, terminal: 'below', chat: 'below', client: 'repository' } as const;
/** Whoever owns a task, or is above its owner. */
const OWNERS = { ...PEOPLE, orchestrator: 'below', worker: 'below' } as const;
const PLAN_OWNERS = {
  ...PERSON,
  terminal: 'own',
  chat: 'own',
  client: 'repository',
  orchestrator: 'own',
  worker: 'own',
} as const;
const READERS = {
  ...PERSON,
  terminal: 'repository',
  chat: 'repository',
  client: 'repository',
  orchestrator: 'tree',
  worker: 'tree',
  reviewer: 'tree',
  integrator: 'plan',
} as const;

/** The same reach for every session. */
const each = <R extends Reach>(reach: R) =>
  ({
    terminal: reach,
    chat: reach,
    client: reach,
    orchestrator: reach,
    worker: reach,
    reviewer: reach,
    integrator: reach,
  }) as const;

/** A right that every run has, whatever its definition says. */
const always = (may: Right['may']): Right => ({ may, tools: null, guards: [] });
/** A right that a run has through a tool of its definition. With no tool, no run has it. */
const through = (may: Right['may'], tools: readonly string[], ...guards: Guard[]): Right => ({
  may,
  tools,
  guards,
});

const SPAWN = ['a2a_spawn_subtask', 'a2a_spawn_parallel_subtasks'];
const RETRY = ['a2a_retry_subtask', 'orchestrator_retry_task'];
const CANCEL = ['a2a_cancel_subtask', 'orchestrator_cancel_task'];

/** Operations of a route that are not the Orchestrator's own. */
export type RouteOperation = `http.${Exclude<keyof typeof HTTP_ROUTES, 'operation'>}` | 'http.mcp';
export type Operation = keyof Orchestrator | RouteOperation;

/**
 * Who may call what, and on what (ID6). In-process calls, HTTP, MCP and stdio are all authorised by this table; whatever
 * it does not allow is refused. An operation without a row does not compile.
 */
export const AUTHORITY: { readonly [O in Operation]: Right } = {
  savePlan: through(
    { ...PERSON, ...PERSON_SESSIONS, orchestrator: 'self', worker: 'self' },
    ['orchestrator_save_plan'],
    'at work',
  ),
  addPlanTask: through(PLAN_OWNERS, ['orchestrator_add_plan_task'], 'at work', 'plan approved'),
  startPlan: through(PLAN_OWNERS, ['orchestrator_start_plan', 'orchestrator_save_plan'], 'at work'),
  pausePlan: through(PLAN_OWNERS, ['orchestrator_pause_plan']),
  resumePlan: through(PLAN_OWNERS, ['orchestrator_resume_plan'], 'at work'),
  cancelPlan: through(PLAN_OWNERS, ['orchestrator_cancel_task']),
  getPlan: always(READERS),
  listPlans: always(READERS),

  getTask: always(READERS),
  listTasks: always(READERS),
  deployTask: through(OWNERS, ['orchestrator_deploy_task'], 'at work', 'plan approved'),
  completeTask: through(OWNERS, ['orchestrator_complete_task'], 'no person decides'),
  cancelTask: through({ ...OWNERS, reviewer: 'below', integrator: 'below' }, CANCEL),
  // Whoever may start a child may start it again.
  retryTask: through(OWNERS, [...RETRY, ...SPAWN], 'at work', 'plan approved', 'goal approved'),
  reviewTask: through(OWNERS, ['orchestrator_answer'], 'no person decides'),
  swapWorker: through(PEOPLE, []),
  pauseWorker: through(PEOPLE, []),
  resumeWorker: through(PEOPLE, []),
  interruptWorker: through(PEOPLE, []),
  raiseBudget: through({ ...PERSON, terminal: 'below' }, []),
  getBudget: always(READERS),
  stop: through(PEOPLE, []),

  spawnSubtask: through(SESSIONS, SPAWN, 'at work', 'goal approved'),
  spawnSubtasks: through(SESSIONS, SPAWN, 'at work', 'goal approved'),
  awaitSubtasks: always(each('own')),
  checkUpdates: always(SESSIONS),
  reportCompletion: always(RUNS),
  notifyParent: always(RUNS),
  sendMessage: through(
    { ...PERSON, ...each('kin'), client: 'repository' },
    ['a2a_send_message'],
    'goal approved',
  ),
  // A terminal is never asked: whatever would wait for it waits for the person.
  answer: through(
    {
      ...PERSON,
      chat: 'held',
      client: 'repository',
      orchestrator: 'held',
      worker: 'held',
      reviewer: 'held',
    },
    ['orchestrator_answer', 'a2a_send_message'],
  ),

  diffTask: through({ ...OWNERS, reviewer: 'below' }, ['a2a_subtask_diff']),
  pullSubtask: through({ orchestrator: 'below', worker: 'below' }, ['a2a_pull_subtask_changes'], 'reviewed'),
  discardTask: through(OWNERS, ['a2a_discard_subtask']),
  snapshots: through(OWNERS, [...RETRY, ...SPAWN]),
  restoreTask: through({ ...PERSON, terminal: 'below', chat: 'below' }, []),
  bringHome: through({ ...PERSON, terminal: 'below', chat: 'below' }, [], 'reviewed'),
  takeOver: through({ ...PERSON, terminal: 'below' }, []),

  openSession: through(PERSON, []),
  endSession: through({ ...PERSON, ...PERSON_SESSIONS }, []),
  attach: through({ ...PERSON, ...PERSON_SESSIONS }, []),
  mailbox: always({ ...PERSON, ...SESSIONS }),
  getMessage: always({ ...PERSON, ...each('party') }),
  inbox: through({ ...PERSON, terminal: 'repository', chat: 'repository', client: 'repository' }, []),
  events: always(READERS),
  backends: always({ ...PERSON, ...SESSIONS }),

  'http.health': always({ ...PERSON, ...SESSIONS }),
  'http.events': always(READERS),
  'http.attach': through({ ...PERSON, ...PERSON_SESSIONS }, []),
  'http.receipt': through({ ...PERSON, ...PERSON_SESSIONS }, []),
  'http.detach': through({ ...PERSON, ...PERSON_SESSIONS }, []),
  // What gives out or takes away rights needs the token of the lock file itself: a page is not enough.
  'http.grant': through({ person: 'any' }, []),
  'http.rotate': through({ person: 'any' }, []),
  'http.stop': through({ person: 'any' }, []),
  'http.ticket': through({ person: 'any' }, []),
  'http.view': through(PERSON, []),
  // Each tool call is authorised by itself.
  'http.mcp': always({ ...PERSON, ...SESSIONS }),
};
