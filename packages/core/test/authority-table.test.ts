import {
  AUTHORITY,
  ROLES,
  type Caller,
  type MessageId,
  type Orchestrator,
  type PlanId,
  type Reach,
  type RequestId,
  type Role,
  type SessionId,
  type TaskId,
} from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start, type World } from './world.ts';

const HERE = '/repos/here';
const ELSEWHERE = '/repos/elsewhere';
const ALL = { backend: null, model: null, delegatesTo: null, deniedTools: [], readOnly: false };
const AGENTS = ['agent', 'bare', 'coder', 'reviewer', 'researcher', 'orchestrator'];

/** `bare` has no tool but those that every worker has. */
const defined = (name: string) => ({
  ...ALL,
  tools: name === 'bare' ? [] : ['*', 'orchestrator_*'],
  readOnly: name === 'researcher',
});

/** One of everything that can be named, all of it owned by one session. */
interface Estate {
  readonly session: SessionId;
  readonly task: TaskId;
  readonly plan: PlanId;
  readonly message: MessageId;
  readonly request: RequestId;
}

/**
 * Whose the things of an estate are: the caller's own, a child's, a sibling's, somebody else's in the same repository, or
 * somebody else's in another one.
 */
const SUBJECTS = ['foreign', 'beside', 'sibling', 'below', 'own'] as const;
type Subject = (typeof SUBJECTS)[number];

/** Calls an operation about a thing of an estate. An operation without an entry does not compile. */
const CALLS: {
  readonly [O in keyof Orchestrator]: (to: Orchestrator, of: Estate, repository: string) => unknown;
} = {
  savePlan: (to, _, repository) => to.savePlan({ name: 'p', repository, tasks: [{ id: 'a', prompt: 'x' }] }),
  addPlanTask: (to, { plan }) => to.addPlanTask(plan, { id: 'more', prompt: 'x' }),
  startPlan: (to, { plan }) => to.startPlan(plan),
  pausePlan: (to, { plan }) => to.pausePlan(plan),
  resumePlan: (to, { plan }) => to.resumePlan(plan),
  cancelPlan: (to, { plan }) => to.cancelPlan(plan),
  getPlan: (to, { plan }) => to.getPlan(plan),
  listPlans: (to) => to.listPlans(),
  getTask: (to, { task }) => to.getTask(task),
  listTasks: (to) => to.listTasks({}),
  deployTask: (to, { task }) => to.deployTask(task),
  completeTask: (to, { task }) => to.completeTask(task),
  cancelTask: (to, { task }) => to.cancelTask(task),
  retryTask: (to, { task }) => to.retryTask(task),
  reviewTask: (to, { task }) => to.reviewTask({ task, verdict: 'approve' }),
  swapWorker: (to, { task }) => to.swapWorker(task, { agent: 'coder' }),
  pauseWorker: (to, { task }) => to.pauseWorker(task),
  resumeWorker: (to, { task }) => to.resumeWorker(task),
  interruptWorker: (to, { task }) => to.interruptWorker(task),
  raiseBudget: (to, { task }) => to.raiseBudget(task, { tokens: 1e9 }),
  getBudget: (to, { task }) => to.getBudget(task),
  stop: (to, { task }) => to.stop({ scope: 'tree', task }, 'x'),
  spawnSubtask: (to) => to.spawnSubtask({ prompt: 'another part' }, { blocking: false }),
  spawnSubtasks: (to) => to.spawnSubtasks([{ prompt: 'another part' }]),
  awaitSubtasks: (to, { task }) => to.awaitSubtasks({ taskIds: [task], timeoutMs: 0 }),
  checkUpdates: (to) => to.checkUpdates(),
  reportCompletion: (to) => to.reportCompletion({ status: 'success', output: 'x' }),
  notifyParent: (to) => to.notifyParent({ type: 'info', message: 'x' }),
  sendMessage: (to, { task }) => to.sendMessage({ to: task, message: 'x' }),
  answer: (to, { request }) => to.answer({ request, answer: 'x' }),
  diffTask: (to, { task }) => to.diffTask(task),
  pullSubtask: (to, { task }) => to.pullSubtask(task),
  discardTask: (to, { task }) => to.discardTask(task),
  snapshots: (to, { task }) => to.snapshots(task),
  restoreTask: (to, { task }) => to.restoreTask(task),
  bringHome: (to, { task }) => to.bringHome(task),
  takeOver: (to, { task }) => to.takeOver(task),
  openSession: (to) => to.openSession('chat', 'x'),
  endSession: (to, { session }) => to.endSession(session),
  attach: (to, { session }) => to.attach(session, async () => undefined).then((leave) => leave()),
  mailbox: (to, { session }) => to.mailbox(session),
  getMessage: (to, { message }) => to.getMessage(message),
  inbox: (to) => to.inbox(),
  events: (to) => to.events(0, 10),
  backends: (to) => to.backends(),
};
const OPERATIONS = Object.keys(CALLS) as (keyof Orchestrator)[];
/** Operations that name nothing, so that whose thing it is makes no difference. */
const ABOUT_NOTHING: ReadonlySet<string> = new Set(
  (
    'listPlans listTasks spawnSubtask spawnSubtasks checkUpdates reportCompletion ' +
    'notifyParent openSession inbox events backends'
  ).split(' '),
);

/** What each reach holds of the estates, said once more and by hand. */
const HOLDS: { readonly [R in Reach]: readonly Subject[] } = {
  any: SUBJECTS,
  self: ['own'],
  held: ['own', 'below'],
  own: ['own'],
  below: ['own', 'below'],
  tree: ['own', 'below'],
  plan: ['own', 'below'],
  repository: ['own', 'below', 'sibling', 'beside'],
  kin: ['own', 'below', 'sibling'],
  party: ['own'],
};

/** A session's own task, plan, message, and a request of its task that waits for it. */
async function estate(world: World, caller: Caller, repository: string): Promise<Estate> {
  const { session } = caller as Extract<Caller, { kind: 'session' }>;
  const to = world.as(caller);
  const spawned = await to.spawnSubtask({ prompt: 'a part', budget: { tokens: 100 } }, { blocking: false });
  await quiet();
  const { task } = spawned;
  const message = await world.person.sendMessage({ to: session, message: 'hi' });
  const { request } = await world.worker(task).orch.notifyParent({ type: 'question', message: 'which?' });
  const { plan } = await to.savePlan({ name: 'p', repository, tasks: [{ id: 'a', prompt: 'x' }] });
  return { session, task, plan: plan.id, message, request: request! };
}

const asSession = async (world: World, kind: 'chat' | 'terminal' | 'orchestrator', repository: string) => {
  const { id } = await world.person.openSession(kind, kind, { repository });
  return { kind: 'session', session: id } as const;
};

const asRun = (world: World, task: TaskId): Caller => {
  const { session, run, epoch } = world.worker(task).spec;
  return { kind: 'worker', session, run, epoch };
};

/** A caller of each role. */
const CALLERS: { readonly [R in Exclude<Role, 'page' | 'integrator'>]: (world: World) => Promise<Caller> } = {
  person: async () => ({ kind: 'person', name: 'ada' }),
  terminal: (world) => asSession(world, 'terminal', HERE),
  chat: (world) => asSession(world, 'chat', HERE),
  client: (world) => asSession(world, 'orchestrator', HERE),
  async orchestrator(world) {
    const to = world.as(await asSession(world, 'terminal', HERE));
    const input = { prompt: 'goal', agentType: 'orchestrator', plans: 'start' } as const;
    const { task } = await to.spawnSubtask(input, { blocking: false });
    await to.spawnSubtask({ prompt: 'beside it', name: 'sibling' }, { blocking: false });
    await quiet();
    return asRun(world, task);
  },
  async worker(world) {
    const tasks = [
      { id: 'w', prompt: 'x' },
      { id: 'sibling', prompt: 'x' },
    ];
    const input = { name: 'p', repository: HERE, integrate: false, tasks };
    const { tasks: made } = await world.person.savePlan(input, { start: true });
    await quiet();
    return asRun(world, made[0]!.task.id);
  },
  async reviewer(world) {
    const tasks = [{ id: 'r', prompt: 'x', review: 'reviewer' }];
    const input = { name: 'p', repository: HERE, integrate: false, tasks };
    const { tasks: made } = await world.person.savePlan(input, { start: true });
    await quiet();
    await world.worker(made[0]!.task.id).reports('done');
    await quiet();
    return asRun(world, world.worker('review of r').task);
  },
};

/** A sibling of the caller, with the plan that both are in, or else one of its own. */
async function siblings(world: World): Promise<Estate> {
  const sibling = world.worker('sibling');
  const { task, spec, orch } = sibling;
  const own = await orch.savePlan({ name: 'p', repository: HERE, tasks: [{ id: 'a', prompt: 'x' }] });
  const message = await world.person.sendMessage({ to: task, message: 'hi' });
  const { request } = await orch.notifyParent({ type: 'question', message: 'which?' });
  const plan = (await world.person.getTask(task)).task.plan ?? own.plan.id;
  return { session: spec.session, task, plan, message, request: request! };
}

const HAS_NO_ESTATE: ReadonlySet<Role> = new Set(['person', 'reviewer']);
const HAS_SIBLINGS: ReadonlySet<Role> = new Set(['orchestrator', 'worker']);

/** Things that are related so to the caller; null: a caller of this role has none. */
async function estateOf(world: World, caller: Caller, role: Role, subject: Subject): Promise<Estate | null> {
  switch (subject) {
    case 'foreign':
      return estate(world, await asSession(world, 'chat', ELSEWHERE), ELSEWHERE);
    case 'beside':
      return estate(world, await asSession(world, 'chat', HERE), HERE);
    case 'sibling':
      return HAS_SIBLINGS.has(role) ? siblings(world) : null;
    case 'below': {
      if (HAS_NO_ESTATE.has(role)) return null;
      const { task } = await world.as(caller).spawnSubtask({ prompt: 'a child' }, { blocking: false });
      await quiet();
      return estate(world, asRun(world, task), HERE);
    }
    case 'own':
      return HAS_NO_ESTATE.has(role) ? null : estate(world, caller, HERE);
    default:
      return subject satisfies never;
  }
}

/** The code of the refusal, or null if the authority table let the call through. */
async function refusal(call: () => unknown): Promise<string | null> {
  try {
    await call();
    return null;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    // Other words than the table's: the caller may, but not in this state.
    const isTables =
      /^(Refused|Only a session|Only a person may do this|Task|Plan|Session|Message|Request|Your work)/;
    return code === 'not_allowed' && isTables.test(message) ? code : null;
  }
}

const begin = () =>
  start({
    agents: AGENTS,
    definitions: { defined },
    settings: { depth: { orchestrator: 9, standalone: 9 }, requests: { passOnAfterMs: 5_000 } },
    work: () => null,
  });

describe('the authority table', () => {
  for (const role of ROLES) {
    if (role === 'page' || role === 'integrator') continue;
    test.for(OPERATIONS)(
      `[ID6] a ${role} uses %s on what is its own, a child's, a sibling's and a stranger's`,
      async (operation) => {
        for (const subject of SUBJECTS) {
          await using world = await begin();
          const caller = await CALLERS[role](world);
          const of = await estateOf(world, caller, role, subject);
          if (!of) continue;
          const reach = AUTHORITY[operation].may[role];
          const expected =
            reach !== undefined && (ABOUT_NOTHING.has(operation) || HOLDS[reach].includes(subject));
          const before = await world.store.lastEvent();
          const repository = subject === 'foreign' ? ELSEWHERE : HERE;
          // A repository has no owner: what is in the caller's is its own.
          if (operation === 'savePlan' && subject !== 'foreign' && subject !== 'own') continue;
          const code = await refusal(() => CALLS[operation](world.as(caller), of, repository));
          expect([subject, code]).toEqual([subject, expected ? null : 'not_allowed']);
          if (!expected)
            expect(await world.store.lastEvent(), 'a refused call changed something').toBe(before);
        }
      },
    );
  }

  test.for(OPERATIONS)(
    '[ID6][AGT4.32] a run whose definition has none of its tools cannot use %s',
    async (operation) => {
      const { tools, may } = AUTHORITY[operation];
      await using world = await begin();
      const input = {
        name: 'p',
        repository: HERE,
        integrate: false,
        tasks: [{ id: 'w', prompt: 'x', agent: 'bare' }],
      };
      const { tasks } = await world.person.savePlan(input, { start: true });
      await quiet();
      const caller = asRun(world, tasks[0]!.task.id);
      const of = await estate(world, await asSession(world, 'chat', HERE), HERE);
      const code = await refusal(() => CALLS[operation](world.as(caller), of, HERE));
      if (tools !== null || may.worker === undefined) expect(code).toBe('not_allowed');
      else if (ABOUT_NOTHING.has(operation)) expect(code).toBeNull();
    },
  );

  test('[ID6] a session that says it is no worker, and is one, is nobody', async () => {
    await using world = await begin();
    const caller = await CALLERS.worker(world);
    const { session } = caller as Extract<Caller, { kind: 'worker' }>;
    for (const operation of ['checkUpdates', 'listTasks', 'inbox', 'events'] as const) {
      const to = world.as({ kind: 'session', session });
      await expect(Promise.resolve(CALLS[operation](to, {} as Estate, HERE))).rejects.toMatchObject({
        code: 'not_allowed',
      });
    }
  });
});

test('[ID6] no row reaches beyond the tree of a run, or beyond the repository of a session', () => {
  const ofRuns: readonly Reach[] = ['self', 'held', 'own', 'below', 'tree', 'kin', 'party'];
  for (const [operation, { may, tools }] of Object.entries(AUTHORITY)) {
    for (const role of ['orchestrator', 'worker', 'reviewer'] as const)
      if (may[role] !== undefined) expect(ofRuns, `${operation} by a ${role}`).toContain(may[role]);
    for (const role of ['terminal', 'chat', 'client', 'integrator'] as const)
      expect(may[role], `${operation} by a ${role}`).not.toBe('any');
    // A page calls operations as the person: the engine does not tell them apart, only routes do.
    if (!operation.startsWith('http.')) expect(may.page, `${operation} by a page`).toBe(may.person);
    // A run has no right that no tool gives it, unless every run has it.
    if (tools?.length === 0)
      expect(may.orchestrator ?? may.worker ?? may.reviewer, operation).toBeUndefined();
  }
});

describe('a run that no longer counts', () => {
  const ENDINGS: Readonly<Record<string, (world: World, caller: Caller, task: TaskId) => Promise<Caller>>> = {
    'has ended': async (world, caller, task) => {
      await world.worker(task).reports('done');
      return caller;
    },
    'is being cancelled': async (world, caller, task) => {
      world.worker(task).heedsInterrupt = false;
      await world.person.cancelTask(task);
      return caller;
    },
    'has a newer epoch': async (_, caller) =>
      caller.kind === 'worker' ? { ...caller, epoch: caller.epoch - 1 } : caller,
    'is another session’s': async (world, caller) => {
      const { session } = await asSession(world, 'chat', HERE);
      return { ...caller, session } as Caller;
    },
  };
  test.for(Object.keys(ENDINGS))('[ID6][ID4] because it %s uses nothing', async (how) => {
    await using world = await begin();
    const { task } = await world
      .as(await asSession(world, 'terminal', HERE))
      .spawnSubtask({ prompt: 'x' }, { blocking: false });
    await quiet();
    const caller = asRun(world, task);
    const of = await estate(world, await asSession(world, 'chat', HERE), HERE);
    const stale = await ENDINGS[how]!(world, caller, task);
    await quiet();
    for (const operation of OPERATIONS)
      await expect(
        (async () => CALLS[operation](world.as(stale), of, HERE))(),
        operation,
      ).rejects.toMatchObject({ code: expect.stringMatching(/^(stale_caller|not_allowed)$/) });
    for (const agent of world.agents) agent.kill();
    await quiet();
  });
});

test('[ID6][ID3] a session that has ended reads nothing, and starts nothing', async () => {
  await using world = await begin();
  const caller = await CALLERS.chat(world);
  const of = await estate(world, caller, HERE);
  await world.person.endSession(of.session);
  // A report is a run's, whatever its credential.
  for (const operation of OPERATIONS.filter((name) => name !== 'reportCompletion'))
    await expect(
      (async () => CALLS[operation](world.as(caller), of, HERE))(),
      operation,
    ).rejects.toMatchObject({ code: 'unauthorized' });
});

describe('what a caller can read', () => {
  test('[ID6.1] a worker sees its own task and those below it, in lists, budgets and events; nothing else', async () => {
    await using world = await begin();
    const [chat, stranger] = [await asSession(world, 'chat', HERE), await asSession(world, 'chat', HERE)];
    const mine = await world.as(chat).spawnSubtask({ prompt: 'mine' }, { blocking: false });
    const theirs = await world.as(stranger).spawnSubtask({ prompt: 'PROMPT-SECRET' }, { blocking: false });
    await world.as(stranger).savePlan({ name: 'theirs', tasks: [{ id: 'a', prompt: 'x' }] });
    await quiet();
    const child = await world.worker(mine.task).spawns('child');
    const { orch } = world.worker(mine.task);
    expect((await orch.listTasks({})).map(({ task }) => task.id).toSorted()).toEqual(
      [mine.task, child].toSorted(),
    );
    expect(await orch.listTasks({ owner: stranger.session })).toEqual([]);
    expect(await orch.listPlans()).toEqual([]);
    await refused(orch.getTask(theirs.task), 'not_allowed');
    const about = (await orch.events(0, 10_000)).map(({ task, session }) => task ?? session);
    const own = [mine.task, child, world.worker(mine.task).spec.session, world.worker(child).spec.session];
    expect(new Set(about).isSubsetOf(new Set<string | undefined>(own))).toBe(true);
    expect(about).toContain(child);
  });

  test('[ID6.1] a chat sees its repository, and nothing of another', async () => {
    await using world = await begin();
    const [here, there] = [await asSession(world, 'chat', HERE), await asSession(world, 'chat', ELSEWHERE)];
    const other = await asSession(world, 'chat', HERE);
    const near = await world.as(other).spawnSubtask({ prompt: 'near' }, { blocking: false });
    await world.as(there).spawnSubtask({ prompt: 'far' }, { blocking: false });
    await quiet();
    const seen = await world.as(here).listTasks({});
    expect(seen.map(({ task }) => task.id)).toEqual([near.task]);
    const events = await world.as(here).events(0, 10_000);
    const far = await world.as(there).listTasks({});
    expect(events.some(({ task }) => task === far[0]!.task.id)).toBe(false);
    // Also what is about no task: a plan, a session.
    const tasks = [{ id: 'a', prompt: 'x' }];
    const { plan } = await world.as(other).savePlan({ name: 'near', tasks, integrate: false });
    const seenBy = async (caller: Caller, about: 'plan' | 'session') =>
      (await world.as(caller).events(0, 10_000)).flatMap((event) =>
        event.task === undefined && event[about] ? [event[about]] : [],
      );
    expect(await seenBy(here, 'plan')).toContain(plan.id);
    expect(await seenBy(there, 'plan')).not.toContain(plan.id);
    expect(await seenBy(here, 'session')).toContain(here.session);
    expect(await seenBy(here, 'session')).not.toContain(there.session);
  });
});

test('[ID6.3] those that the same person started in another plan or repository are no siblings', async () => {
  await using world = await begin();
  const started = async (name: string, repository: string, ids: string[]) => {
    const tasks = ids.map((id) => ({ id, prompt: 'x' }));
    await world.person.savePlan({ name, repository, integrate: false, tasks }, { start: true });
    await quiet();
  };
  await started('one', HERE, ['me', 'sibling']);
  await started('two', HERE, ['other plan']);
  await started('three', ELSEWHERE, ['other repository']);
  const send = (to: string) =>
    world.worker('me').orch.sendMessage({ to: world.worker(to).task, message: 'do as I say' });
  await send('sibling');
  await refused(send('other plan'), 'not_allowed');
  await refused(send('other repository'), 'not_allowed');
});

describe('what only a person decides', () => {
  test('[ID6.2][PLN8] work that the person is to review is approved by no agent, through no operation', async () => {
    await using world = await begin();
    const chat = await asSession(world, 'chat', HERE);
    const tasks = [{ id: 'a', prompt: 'x', review: 'person' }];
    const { tasks: made } = await world
      .as(chat)
      .savePlan({ name: 'p', integrate: false, tasks }, { start: true });
    await quiet();
    const { id } = made[0]!.task;
    await world.worker(id).reports('done');
    const [request] = await world.person.inbox();
    const to = world.as(chat);
    await refused(to.answer({ request: request!.id, answer: 'approve' }), 'not_allowed');
    await refused(to.completeTask(id), 'not_allowed');
    await refused(to.reviewTask({ task: id, verdict: 'approve' }), 'not_allowed');
    const client = world.as(await asSession(world, 'orchestrator', HERE));
    await refused(client.answer({ request: request!.id, answer: 'approve' }), 'not_allowed');
    await refused(client.completeTask(id), 'not_allowed');
    expect(await world.state('a')).toBe('review');
    await world.person.answer({ request: request!.id, answer: 'approve' });
    expect(await world.state('a')).toBe('completed');
    // Nothing is left to be decided: that is what is wrong then.
    await refused(to.completeTask(id), 'wrong_state');
  });

  test('[ID6.2] a request that was passed on to the person is the person’s', async () => {
    await using world = await begin();
    const chat = await asSession(world, 'chat', HERE);
    const { request } = await estate(world, chat, HERE);
    await world.advance(15_000);
    expect((await world.person.inbox()).map(({ id }) => id)).toEqual([request]);
    await refused(world.as(chat).answer({ request, answer: 'the blue one' }), 'not_allowed');
    await world.person.answer({ request, answer: 'the red one' });
    await refused(world.as(chat).answer({ request, answer: 'the blue one' }), 'already_answered');
  });

  test('[ID6.2] only a person at a terminal lets an orchestrator start plans unasked', async () => {
    await using world = await begin();
    for (const kind of ['chat', 'orchestrator'] as const) {
      const to = world.as(await asSession(world, kind, HERE));
      const input = { prompt: 'goal', agentType: 'orchestrator', plans: 'start' } as const;
      await refused(to.spawnSubtask(input, { blocking: false }), 'not_allowed');
    }
  });
});

describe('before its plan is approved', () => {
  async function unapproved() {
    const world = await begin();
    const to = world.as(await asSession(world, 'terminal', HERE));
    const { task } = await to.spawnSubtask(
      { prompt: 'goal', agentType: 'orchestrator' },
      { blocking: false },
    );
    await quiet();
    return { world, boss: world.worker(task) };
  }
  const plan = { name: 'p', integrate: false, tasks: [{ id: 'a', prompt: 'x', agent: 'coder' }] };

  test('[ORC1.16] an orchestrator has nobody work who can write, by itself or through a child', async () => {
    const { world: made, boss } = await unapproved();
    await using world = made;
    await refused(
      boss.orch.spawnSubtask({ prompt: 'x', agentType: 'coder' }, { blocking: false }),
      'not_allowed',
    );
    await refused(
      boss.orch.spawnSubtasks([{ prompt: 'x', agentType: 'researcher' }, { prompt: 'y' }]),
      'not_allowed',
    );
    const reader = await boss.spawns('look', { agentType: 'researcher' });
    const { orch } = world.worker(reader);
    await refused(orch.spawnSubtask({ prompt: 'x', agentType: 'coder' }, { blocking: false }), 'not_allowed');
    await world.worker(reader).reports('failed', { status: 'failed' });
    await quiet();
    await refused(boss.orch.retryTask(reader, { agent: 'coder' }), 'not_allowed');
  });

  test('[ORC1.16] a plan that a child of it starts waits for the person too', async () => {
    const { world: made, boss } = await unapproved();
    await using world = made;
    const reader = await boss.spawns('look', { agentType: 'researcher' });
    const view = await world.worker(reader).orch.savePlan(plan, { start: true });
    await quiet();
    expect((await world.person.getPlan(view.plan.id)).plan.state).toBe('draft');
    await refused(world.worker(reader).orch.deployTask(view.tasks[0]!.task.id), 'not_allowed');
    const [request] = await world.person.inbox();
    expect(request).toMatchObject({ kind: 'plan', plan: view.plan.id });
    await refused(boss.orch.answer({ request: request!.id, answer: 'approve' }), 'not_allowed');
    await world.person.startPlan(view.plan.id);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[ORC1.16] nobody but a person starts what waits for approval', async () => {
    const { world: made, boss } = await unapproved();
    await using world = made;
    const view = await boss.orch.savePlan(plan, { start: true });
    const client = world.as(await asSession(world, 'orchestrator', HERE));
    await client.startPlan(view.plan.id);
    await refused(client.deployTask(view.tasks[0]!.task.id), 'not_allowed');
    expect((await world.person.getPlan(view.plan.id)).plan.state).toBe('draft');
    const [request] = await world.person.inbox();
    await world.person.answer({ request: request!.id, answer: 'approve' });
    await quiet();
    expect(await world.state('a')).toBe('running');
    await boss.spawns('now it may', { agentType: 'coder' });
  });
});
