// Random commands against the Orchestrator interface, compared with a small model after each of them.
//   MODEL_RUNS=5000 npx vitest run --project system packages/core/test/model
import type { Delivery, Message, RequestId } from '@reveille/protocol';
import fc from 'fast-check';
import { env } from 'node:process';
import { expect, test } from 'vitest';
import type { FakeAgent } from './fake-agent.ts';
import { Model, ended, type Item, type PlanModel } from './model.ts';
import { quiet, start, type World } from './world.ts';

const RUNS = Number(env['MODEL_RUNS'] ?? 100);

/** The engine and what has been seen of it. */
interface Real {
  readonly world: World;
  /** Turns of each agent that have been looked at. */
  readonly looked: Map<FakeAgent, number>;
}

type Act = (model: Model, real: Real, pick: <T>(from: readonly T[]) => T | undefined) => Promise<void>;

class Command implements fc.AsyncCommand<Model, Real> {
  readonly #name: string;
  readonly #act: Act;
  readonly #picks: readonly number[];

  constructor(name: string, act: Act, picks: readonly number[]) {
    this.#name = name;
    this.#act = act;
    this.#picks = picks;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, real: Real): Promise<void> {
    let next = 0;
    const pick = <T>(from: readonly T[]): T | undefined =>
      from[(this.#picks[next++ % 4] ?? 0) % Math.max(1, from.length)];
    await this.#act(model, real, pick);
    model.settle();
    await quiet();
    await compare(model, real);
  }

  toString(): string {
    return `${this.#name}(${this.#picks.join(',')})`;
  }
}

/** The agent at work on the item in an open turn, if there is one. */
function atWork({ world }: Real, item: Item | undefined): FakeAgent | undefined {
  const agent = item && world.agents.findLast((each) => each.task === item.id);
  return agent?.alive && agent.open !== null && item?.state === 'open' ? agent : undefined;
}

async function label(world: World, message: Message): Promise<string | null> {
  if (message.kind === 'words') return message.text;
  if (message.kind === 'answer') return `answer ${message.request}`;
  if (message.kind !== 'end') return null;
  const ends = (await world.mail(message.to, 'end')).filter((other) => other.task === message.task);
  return `end ${message.task} ${ends.findIndex((other) => other.id === message.id) + 1}`;
}

/** It was given these: each must have been waiting, so none is given twice and none is made up. */
async function given({ world }: Real, item: Item, messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    const name = await label(world, message);
    if (name === null) continue;
    expect(item.mail, `${item.id} was given "${name}"`).toContain(name);
    item.mail.splice(item.mail.indexOf(name), 1);
  }
}

async function answeredWith(
  real: Real,
  item: Item,
  agent: FakeAgent,
  deliveries: readonly Delivery[],
): Promise<void> {
  await given(
    real,
    item,
    deliveries.map((delivery) => delivery.message),
  );
  // Only a later call shows that it has what a call was answered with (MBX3); this one asks for nothing.
  await agent.orch.checkUpdates({ taskIds: [] });
  await quiet();
}

async function compare(model: Model, real: Real): Promise<void> {
  const { world, looked } = real;
  for (const agent of world.agents) {
    const item = model.items.find((each) => each.id === agent.task);
    for (const turn of agent.turns.slice(looked.get(agent) ?? 0)) {
      const mail = await world.mail(agent.spec.session);
      if (item)
        await given(
          real,
          item,
          mail.filter((message) => turn.given.includes(message.id)),
        );
    }
    looked.set(agent, agent.turns.length);
  }
  for (const plan of model.plans) {
    expect((await world.person.getPlan(plan.id)).plan.state, plan.id).toBe(plan.state);
  }
  for (const item of model.items) {
    const { task } = await world.person.getTask(item.id);
    const state = task.state === 'running' || task.state === 'waiting' ? 'open' : task.state;
    expect(state, `${item.id} (${task.why})`).toBe(item.state);
    const told = (await world.mail(task.owner, 'end')).filter((message) => message.task === item.id);
    expect(told, `ends of ${item.id}`).toHaveLength(item.ends);
    const agent = world.agents.findLast((each) => each.task === item.id);
    // A worker at rest has nothing left to read (WAK1).
    if (item.state === 'open' && agent?.alive && agent.open === null) expect(item.mail, item.id).toEqual([]);
  }
  const inbox = await world.person.inbox();
  const failures = inbox.filter(({ kind }) => kind === 'failure').map(({ task }) => task);
  const failed = model.items.filter(({ state, parent }) => state === 'failed' && parent === null);
  expect(failures.toSorted()).toEqual(failed.map(({ id }) => id).toSorted());
  expect(
    inbox
      .filter(({ kind }) => kind !== 'failure')
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(
    model.requests
      .filter(({ open, of }) => open && of.parent === null)
      .map(({ id }) => id)
      .toSorted(),
  );
}

/** The engine allows it exactly if the model does. */
async function allowed(call: Promise<unknown>, may: boolean, then: () => void): Promise<void> {
  const code = await call.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
  expect(code).toBe(may ? 'done' : 'wrong_state');
  if (may) then();
}

const ACTS: Record<string, Act> = {
  async savePlan(model, { world }, pick) {
    const size = pick([1, 2, 3, 4])!;
    const ids = Array.from({ length: size }, (_, i) => `t${i}`);
    const tasks = ids.map((id, i) => ({
      id,
      prompt: `${id} of ${model.plans.length}`,
      dependencies: ids.slice(0, i).filter(() => pick([true, false])),
    }));
    // Named from the last to the first: the order in a plan means nothing.
    const view = await world.person.savePlan({ name: 'p', tasks: tasks.toReversed() });
    const plan: PlanModel = { id: view.plan.id, state: 'draft', cancelling: false, items: [] };
    model.plans.push(plan);
    for (const { id, dependencies } of tasks) {
      const real = view.tasks.find(({ task }) => task.key === id)!.task;
      const needed = dependencies.map((name) => plan.items[ids.indexOf(name)]!);
      model.add({ id: real.id, plan, parent: null, dependencies: needed });
    }
  },
  async startPlan(model, { world }, pick) {
    const plan = pick(model.plans);
    if (plan)
      await allowed(world.person.startPlan(plan.id), plan.state === 'draft', () => (plan.state = 'active'));
  },
  async pausePlan(model, { world }, pick) {
    const plan = pick(model.plans);
    if (plan)
      await allowed(world.person.pausePlan(plan.id), plan.state === 'active', () => (plan.state = 'paused'));
  },
  async resumePlan(model, { world }, pick) {
    const plan = pick(model.plans);
    if (plan)
      await allowed(world.person.resumePlan(plan.id), plan.state === 'paused', () => (plan.state = 'active'));
  },
  async cancelPlan(model, { world }, pick) {
    const plan = pick(model.plans);
    if (!plan) return;
    await allowed(
      world.person.cancelPlan(plan.id),
      ['draft', 'active', 'paused'].includes(plan.state),
      () => {
        if (plan.state === 'draft') plan.state = 'active';
        plan.cancelling = true;
        for (const item of plan.items) if (!ended(item)) model.end(item, 'cancelled');
      },
    );
  },
  async deploy(model, { world }, pick) {
    const item = pick(model.items.filter((each) => each.plan));
    if (!item) return;
    const free = item.dependencies.every((dependency) => dependency.state === 'completed');
    const may = free && (item.state === 'pending' || item.state === 'ready');
    await allowed(world.person.deployTask(item.id), may, () => (item.state = 'open'));
  },
  async spawn(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item || item.depth >= 3) return;
    const id = await agent.spawns(`child ${model.items.length}`);
    model.add({ id, plan: null, parent: item, dependencies: [] });
  },
  async report(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item) return;
    const status = pick(['success', 'failed'] as const)!;
    const giveUpChildren = pick([true, false])!;
    const open = item.children.filter((child) => !ended(child));
    const unread = item.mail.filter((name) => name.startsWith('end '));
    const result = await agent.reports('done', { status, giveUpChildren });
    if (open.length > 0 && !giveUpChildren) {
      expect(result).toEqual({ accepted: false, code: 'open_children', open: open.map((child) => child.id) });
    } else if (unread.length > 0) {
      expect(result).toMatchObject({ accepted: false, code: 'unread_ends' });
      if ('deliveries' in result) await answeredWith(real, item, agent, result.deliveries);
      expect(item.mail.filter((name) => name.startsWith('end '))).toEqual([]);
    } else {
      expect(result).toEqual({ accepted: true });
      model.end(item, status === 'success' ? 'completed' : 'failed');
    }
  },
  async fail(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item) return;
    await agent.fails('auth');
    model.end(item, 'failed');
  },
  async die(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item) return;
    await agent.dies();
    if (++item.faults > 3) model.end(item, 'failed');
  },
  async cancel(model, { world }, pick) {
    const item = pick(model.items);
    if (item)
      await allowed(world.person.cancelTask(item.id), !ended(item), () => model.end(item, 'cancelled'));
  },
  async complete(model, { world }, pick) {
    const item = pick(model.items);
    if (item)
      await allowed(world.person.completeTask(item.id, 'fine'), item.state === 'open', () =>
        model.end(item, 'completed'),
      );
  },
  async retry(model, { world }, pick) {
    const item = pick(model.items);
    if (!item) return;
    const orphan = item.parent !== null && ended(item.parent);
    const may = (item.state === 'failed' || item.state === 'cancelled') && !orphan;
    await allowed(world.person.retryTask(item.id), may, () => model.retry(item));
  },
  async message(model, { world }, pick) {
    const item = pick(model.items);
    if (!item) return;
    const words = `words ${++model.words}`;
    await allowed(world.person.sendMessage({ to: item.id, message: words }), !ended(item), () =>
      item.mail.push(words),
    );
  },
  async endTurn(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item) return;
    await agent.calls('edit', { digest: `${real.world.clock.mono()}`, news: true });
    await agent.ends('that was a turn');
    item.faults = 0;
    await compare(model, real);
    expect(item.mail, 'the next turn has all of it').toEqual([]);
  },
  async checkUpdates(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item) return;
    const of = pick([undefined, item.children.slice(0, 1)]);
    const wanted = of
      ? item.mail.filter((name) => of.some((child) => name.startsWith(`end ${child.id} `)))
      : [...item.mail];
    const deliveries = await agent.orch.checkUpdates(of ? { taskIds: of.map((child) => child.id) } : {});
    await answeredWith(real, item, agent, deliveries);
    expect(item.mail.filter((name) => wanted.includes(name))).toEqual([]);
  },
  async await(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (!agent || !item || item.children.length === 0) return;
    const mode = pick(['all', 'any'] as const)!;
    const open = item.children.filter((child) => !ended(child));
    const done = mode === 'all' ? open.length === 0 : open.length < item.children.length;
    const result = await agent.orch.awaitSubtasks({
      taskIds: item.children.map((child) => child.id),
      mode,
      timeoutMs: 0,
    });
    expect(result.open.toSorted()).toEqual(open.map((child) => child.id).toSorted());
    expect(result.done).toBe(done);
    await answeredWith(real, item, agent, result.deliveries);
    expect(item.mail.filter((name) => name.startsWith('end '))).toEqual([]);
  },
  async ask(model, real, pick) {
    const item = pick(model.items);
    const agent = atWork(real, item);
    if (agent && item)
      model.requests.push({
        id: await agent.asks(`question ${model.requests.length}`),
        of: item,
        open: true,
      });
  },
  async answer(model, { world }, pick) {
    const request = pick(model.requests);
    if (!request) return;
    const call = world.person.answer({ request: request.id as RequestId, answer: 'go on' });
    const code = await call.then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
    expect(code).toBe(request.open ? 'done' : 'already_answered');
    if (request.open) request.of.mail.push(`answer ${request.id}`);
    request.open = false;
  },
  async crash(_, { world }) {
    world.crash();
    await world.restart();
  },
  async wait(_, { world }, pick) {
    await world.advance(pick([1_000, 7_000, 40_000])!);
  },
};

/** Whatever happened: let go on, everybody gets all their mail and can finish. */
async function quietPhase(model: Model, real: Real): Promise<void> {
  const { world } = real;
  await world.advance(60_000);
  for (const plan of model.plans) {
    if (plan.state === 'draft') await ACTS['startPlan']!(model, real, <T>() => plan as T);
    if (plan.state === 'paused') await ACTS['resumePlan']!(model, real, <T>() => plan as T);
    model.settle();
  }
  await quiet();
  for (let round = 0; model.items.some((item) => item.state === 'open'); round++) {
    expect(round, 'it comes to an end').toBeLessThan(200);
    for (const request of model.requests) await ACTS['answer']!(model, real, <T>() => request as T);
    for (const item of model.items) {
      const agent = atWork(real, item);
      // One that answered why it is silent rests until it is asked again, or told something.
      if (!agent && item.state === 'open') await ACTS['message']!(model, real, <T>() => item as T);
      if (!agent) continue;
      if (item.mail.length === 0 && item.children.every(ended)) {
        expect(await agent.reports()).toEqual({ accepted: true });
        model.end(item, 'completed');
      } else {
        await ACTS['endTurn']!(model, real, <T>() => item as T);
      }
      model.settle();
      await quiet();
      await compare(model, real);
    }
  }
}

test('[PLN2][PLN4][SUB4][SUB5][MBX3][WAK1][INB2] any sequence of commands does what the model says', async () => {
  const picks = fc.array(fc.nat({ max: 10 }), { minLength: 4, maxLength: 4 });
  const commands = Object.entries(ACTS).map(([name, act]) =>
    picks.map((chosen) => new Command(name, act, chosen)),
  );
  // Without plans and workers there is little to do.
  const often = ['savePlan', 'startPlan', 'spawn', 'endTurn', 'report'].map((name) =>
    picks.map((chosen) => new Command(name, ACTS[name]!, chosen)),
  );
  const health = { inactiveAfterMs: 1e12, inquiryTimeoutMs: 1e12, stuckAfterMs: 1e12, progressEveryMs: 1e12 };
  const settings = {
    concurrency: 1_000,
    depth: { orchestrator: 3 },
    children: { total: 1e6, open: 1e6, perMinute: 1e6 },
    health,
  };
  await fc.assert(
    fc.asyncProperty(
      fc.commands([...often, ...often, ...commands], { maxCommands: 40, size: 'max' }),
      async (sequence) => {
        // Whatever an agent is given, it says so at once.
        await using world = await start({
          settings,
          reflex: (agent) => agent.hears({ type: 'output', text: 'yes' }),
        });
        const model = new Model();
        const real: Real = { world, looked: new Map() };
        await fc.asyncModelRun(() => ({ model, real }), sequence);
        await quietPhase(model, real);
      },
    ),
    { numRuns: RUNS },
  );
});
