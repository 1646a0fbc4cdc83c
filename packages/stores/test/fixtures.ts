import type { Change, Write } from '@reveille/core';
import type { Budget, Message, Plan, Request, Run, Session, Task } from '@reveille/protocol';

// The casts: these tests are about storing documents, so a field that core adds need not be repeated here.
const AT = 1_700_000_000_000;

export const plan = (over: Partial<Plan> & Pick<Plan, 'id'>): Plan =>
  ({
    name: 'A plan',
    description: '',
    baseBranch: null,
    owner: 'session_owner',
    state: 'active',
    why: 'created',
    since: AT,
    counts: {},
    createdAt: AT,
    ...over,
  }) as Plan;

export const task = (over: Partial<Task> & Pick<Task, 'id'>): Task =>
  ({
    plan: null,
    key: null,
    name: 'A task',
    prompt: 'Do it. Then say “done”.',
    expectedOutput: null,
    resultSchema: null,
    agent: { backend: 'scripted', name: 'worker' },
    model: null,
    priority: 'normal',
    targetFiles: [],
    review: 'none',
    owner: 'session_owner',
    session: 'session_worker',
    depth: 1,
    dependencies: [],
    dependents: [],
    openDependencies: 0,
    badDependencies: 0,
    state: 'ready',
    why: 'created',
    since: AT,
    waitingOn: null,
    cancelling: null,
    run: null,
    lastRun: null,
    attempts: 0,
    createdAt: AT,
    ...over,
  }) as Task;

export const session = (over: Partial<Session> & Pick<Session, 'id'>): Session =>
  ({
    kind: 'worker',
    name: 'A session',
    parent: null,
    rootKind: 'orchestrator',
    depth: 1,
    task: null,
    state: 'open',
    mail: 0,
    childrenTotal: 0,
    childrenOpen: 0,
    spawns: { since: AT, count: 0 },
    createdAt: AT,
    ...over,
  }) as Session;

export const run = (over: Partial<Run> & Pick<Run, 'id'>): Run =>
  ({
    task: 'task_1',
    session: 'session_worker',
    attempt: 1,
    state: 'open',
    host: null,
    epoch: 1,
    identity: null,
    resume: null,
    turn: null,
    turns: 0,
    assigned: false,
    paused: false,
    faults: 0,
    retryAt: null,
    inquiry: null,
    lastWords: '',
    end: null,
    startedAt: AT,
    ...over,
  }) as Run;

export const message = (over: Partial<Message> & Pick<Message, 'id'>): Message =>
  ({
    to: 'session_owner',
    number: 1,
    key: `key of ${over.id}`,
    kind: 'info',
    from: { kind: 'harness' },
    task: null,
    run: null,
    request: null,
    text: 'Something happened.',
    urgent: false,
    state: 'queued',
    taken: null,
    maybeSeen: 0,
    dead: null,
    at: AT,
    ...over,
  }) as Message;

export const request = (over: Partial<Request> & Pick<Request, 'id'>): Request =>
  ({
    kind: 'question',
    from: 'session_worker',
    task: 'task_1',
    run: null,
    text: 'Which way?',
    options: [],
    with: null,
    movedAt: AT,
    state: 'open',
    answer: null,
    at: AT,
    ...over,
  }) as Request;

export const budget = (over: Partial<Budget> & Pick<Budget, 'id'>): Budget =>
  ({
    parent: null,
    limits: {},
    used: { tokens: 0, usd: 0, turns: 0, spawns: 0 },
    reserved: {},
    ...over,
  }) as Budget;

export const change = (over: Partial<Change>): Change => ({
  writes: [],
  guards: [],
  facts: [],
  offers: [],
  drops: [],
  wakes: [],
  at: AT,
  ...over,
});

/** A change that writes rows, and says so with one fact per row. */
export const writing = (...writes: Write[]): Change =>
  change({ writes, facts: writes.map(({ table, id }) => ({ type: `${table}_written`, data: { id } })) });
