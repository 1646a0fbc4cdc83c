import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AUTHORITY,
  HTTP_OPERATION_NAMES,
  HTTP_ROUTES,
  isHttpOperation,
  type Client,
  type MessageId,
  type Operation,
  type PlanId,
  type RequestId,
  type SessionId,
  type TaskId,
} from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AcpHouse, play } from './acp-house.ts';
import { until } from './house.ts';

const SECRET = 'SECRET-OF-ANOTHER-TREE';

interface Raw {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}
/** The status of an answer, and whether it held anything that the agent must not see. */
type Answer = readonly [status: number, leaked: boolean];

/** What belongs to somebody else. */
interface Victim {
  readonly root: string;
  readonly session: SessionId;
  readonly task: TaskId;
  readonly plan: PlanId;
  readonly message: MessageId;
  readonly request: RequestId;
}

const op = (name: string, ...body: unknown[]): Raw => ({ method: 'POST', path: `/v1/op/${name}`, body });

/** Arguments for every operation there is, about somebody else's things. A new operation has none, and fails here. */
function argumentsFor(name: string, { session, task, plan, message, request, root }: Victim): unknown[] {
  const planInput = { name: 'p', repository: root, tasks: [{ id: 'a', prompt: 'x' }] };
  const known: Record<string, unknown[]> = {
    savePlan: [planInput, { start: true }],
    addPlanTask: [plan, { id: 'z', prompt: 'x' }],
    getPlan: [plan],
    listPlans: [],
    listTasks: [{}],
    completeTask: [task, 'done'],
    reviewTask: [{ task, verdict: 'approve' }],
    swapWorker: [task, { agent: 'agent' }],
    raiseBudget: [task, { tokens: 1_000_000 }],
    getBudget: [task],
    stop: [{ scope: 'all' }, 'x'],
    spawnSubtask: [{ prompt: 'x' }, { blocking: false }],
    spawnSubtasks: [[{ prompt: 'x' }]],
    awaitSubtasks: [{ taskIds: [task], timeoutMs: 0 }],
    checkUpdates: [],
    reportCompletion: [{ status: 'success', output: 'x' }],
    notifyParent: [{ type: 'info', message: 'x' }],
    sendMessage: [{ to: task, message: 'x' }],
    answer: [{ request, answer: 'yes' }],
    openSession: ['chat', 'x', { repository: root }],
    endSession: [session],
    mailbox: [session],
    getMessage: [message],
    inbox: [],
    events: [0, 1_000],
    backends: [],
  };
  const found = known[name] ?? (/^(start|pause|resume|cancel)Plan$/.test(name) ? [plan] : undefined);
  if (found) return found;
  const aboutTask =
    /^(getTask|deployTask|cancelTask|retryTask|pauseWorker|resumeWorker|interruptWorker|diffTask|pullSubtask|discardTask|snapshots|restoreTask|bringHome|takeOver)$/;
  if (!aboutTask.test(name)) throw new Error(`${name} has no arguments here: say what it would be about`);
  return [task];
}

/** Ends the attacker's own run, so it is left to the other tests. */
const ENDS_ITSELF = 'reportCompletion';

class AttackHouse extends AcpHouse {
  #attacks = 0;

  /** Another repository of the person, with a chat at work in it that has something to hide. */
  async victim(client: Client): Promise<Victim> {
    const root = join(this.folder, 'victim');
    mkdirSync(root);
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=a@b.c', ...args], { cwd: root });
    git('init', '-q', '-b', 'main');
    writeFileSync(join(root, 'code.txt'), `${SECRET}\n`);
    git('add', '-A');
    git('commit', '-q', '-m', 'first');
    const { session, credential } = await client.grantSession({ name: 'chat', repository: root });
    const chat = client.as(credential);
    const script = (steps: object[]) =>
      `${SECRET}\n\`\`\`reveille-script\n${JSON.stringify({ steps })}\n\`\`\``;
    const prompt = script([{ do: 'ask', text: SECRET }, { do: 'silent' }]);
    const { task } = await chat.spawnSubtask({ agentType: 'scripted:agent', prompt }, { blocking: false });
    const { plan } = await chat.savePlan({
      name: SECRET,
      repository: root,
      tasks: [{ id: 'a', prompt: script([{ do: 'silent' }]) }],
    });
    const message = await client.sendMessage({ to: session.id, message: SECRET });
    let request: RequestId | null = null;
    await until(async () => {
      request = (await client.mailbox(session.id)).find(({ kind }) => kind === 'question')?.request ?? null;
      return request !== null;
    });
    await until(async () => (await client.getTask(task)).task.state === 'waiting');
    return { root, session: session.id, task, plan: plan.id, message, request: request! };
  }

  /** Runs an agent in the product's own sandbox that sends these requests with its run's credential. */
  async attack(client: Client, agent: string, requests: readonly Raw[], before = ''): Promise<Answer[]> {
    const name = `attack${++this.#attacks}`;
    // Encoded: its own prompt, which it may read, must not hold them.
    const secrets = [SECRET, this.lock.token].map((secret) => Buffer.from(secret).toString('base64'));
    const steps = [
      ...(before === '' ? [] : [{ do: 'sh', command: before }]),
      { do: 'http', requests, secrets },
      // Its words are on record when its turn has ended.
      { do: 'rest' },
      { do: 'hang' },
    ];
    const tasks = [{ id: name, agent, prompt: play(steps) }];
    const input = { name, repository: this.root, integrate: false, tasks };
    const { tasks: made } = await client.savePlan(input, { start: true });
    const view = made[0]!;
    let answers: Answer[] = [];
    await until(async () => {
      const { run, end } = await client.getTask(view.task.id);
      expect(end, 'it ended before it had its answers').toBeNull();
      const [, told] = /answers: (\[.*\])/.exec(run?.lastWords ?? '') ?? [];
      if (told !== undefined) answers = JSON.parse(told) as Answer[];
      return answers.length === requests.length;
    });
    await client.cancelTask(view.task.id);
    return answers;
  }
}

describe('an agent with nothing but its run’s credential', () => {
  let house: AttackHouse;
  let client: Client;
  let victim: Victim;
  beforeAll(async () => {
    house = new AttackHouse();
    // An agent of the person's own that may do all that an agent may: it writes, and makes plans.
    const agents = join(house.env['HOME']!, '.reveille', 'agents');
    mkdirSync(agents, { recursive: true });
    const boss =
      "---\nname: boss\ndescription: May do everything.\ntools: ['*', 'orchestrator_*']\n---\nDo it.\n";
    writeFileSync(join(agents, 'boss.md'), boss);
    client = await house.connect();
    victim = await house.victim(client);
  });
  afterAll(() => house[Symbol.asyncDispose]());

  /** The operations, by whether the table lets a worker with a coder's tools use them on somebody else's things. */
  const namesNothing = new Set([
    'listPlans',
    'listTasks',
    'events',
    'backends',
    'checkUpdates',
    'notifyParent',
  ]);
  const names = HTTP_OPERATION_NAMES.filter((name) => name !== ENDS_ITSELF);

  test.for(['played:coder', 'played:orchestrator', 'played:reviewer', 'played:boss'])(
    '[ID6.20] %s can do nothing to what is not in its own tree, by any operation, and reads none of it',
    async (agent) => {
      const before = await client.getTask(victim.task);
      const answers = await house.attack(
        client,
        agent,
        names.map((name) => op(name, ...argumentsFor(name, victim))),
      );
      for (const [i, [status, leaked]] of answers.entries()) {
        const name = names[i]!;
        expect([name, leaked]).toEqual([name, false]);
        const harmless = namesNothing.has(name) || /^spawnSubtasks?$/.test(name);
        if (!harmless) expect([name, status]).toEqual([name, 403]);
      }
      expect(await client.getTask(victim.task)).toEqual(before);
      expect((await client.listPlans()).filter(({ repository }) => repository === victim.root)).toHaveLength(
        1,
      );
    },
  );

  test('[ID6.20] a read-only agent starts nothing and saves no plan in its own repository either', async () => {
    const plan = { name: 'mine', tasks: [{ id: 'a', prompt: 'x' }] };
    const [saved, answered] = await house.attack(client, 'played:researcher', [
      op('savePlan', plan, { start: true }),
      op('sendMessage', { to: victim.task, message: 'x' }),
    ]);
    expect([saved, answered]).toEqual([
      [403, false],
      [403, false],
    ]);
    expect((await client.listPlans()).some(({ name }) => name === 'mine')).toBe(false);
  });

  test('[ID6.20] an id in a list, in another argument, or in another shape reaches nothing either', async () => {
    const { task, plan, session, request, root } = victim;
    const script = { prompt: 'x', agentType: 'scripted:agent' };
    const answers = await house.attack(client, 'played:boss', [
      op('listTasks', { owner: session }),
      op('listTasks', { plan }),
      op('checkUpdates', { taskIds: [task] }),
      op('awaitSubtasks', { taskIds: [task, task], mode: 'any', timeoutMs: 0 }),
      op('getTask', [task]),
      op('getTask', { toString: task }),
      op('getTask', ` ${task}`),
      op('getTask', session),
      op('getPlan', task),
      op('getBudget', plan),
      op('raiseBudget', plan, { usd: 1_000 }),
      op('stop', { scope: 'plan', plan }, 'x'),
      op('stop', { scope: 'tree', task, plan }, 'x'),
      op('bringHome', plan),
      op('sendMessage', { to: session, message: 'x' }),
      op('sendMessage', { to: plan, message: 'x' }),
      op('retryTask', task, { from: 'last', agent: 'boss' }),
      op('snapshots', task, 'more'),
      op('answer', { request: task, answer: 'yes' }),
      op('answer', { request, answer: 'retry with boss' }),
      op('spawnSubtask', { ...script, repository: root }, { blocking: false }),
      op('spawnSubtask', { ...script, plans: 'start' }, { blocking: false }),
      op('spawnSubtask', { ...script, session }, { blocking: false }),
      op('savePlan', [{ name: 'q', repository: root, tasks: [{ id: 'a', prompt: 'x' }] }]),
      op('savePlan', { name: 'q', tasks: [{ id: 'a', prompt: 'x', dependencies: [task] }] }),
      op('savePlan', { name: 'q', tasks: [{ id: 'a', prompt: 'x', repository: root, owner: session }] }),
      op('addPlanTask', plan, { id: 'z', prompt: 'x' }, { start: true }),
      op('attach', session),
      op('constructor', task),
      { method: 'POST', path: '/v1/op/getTask/', body: [task] },
      { method: 'POST', path: `/v1/op/getTask?caller=person`, body: [task] },
      { method: 'POST', path: '/v1/op/getTask', body: { 0: task, length: 1 } },
      { method: 'GET', path: '/v1/events?after=0&last-event-id=0' },
    ]);
    const readsNothing: ReadonlySet<number> = new Set([0, 1, 2]);
    for (const [i, [status, leaked]] of answers.slice(0, -1).entries()) {
      expect([i, leaked]).toEqual([i, false]);
      if (readsNothing.has(i)) expect([i, status]).toEqual([i, 200]);
      else expect(status, `request ${i}`).toBeGreaterThanOrEqual(400);
    }
    expect(answers.at(-1)).toEqual([200, false]);
    expect((await client.listPlans()).filter(({ name }) => name === 'q')).toEqual([]);
    expect((await client.listTasks({ plan })).map(({ task: { name } }) => name)).not.toContain('z');
  });

  test('[ID6.20] every other route is the person’s, except its own tools, health and a stream of its own events', async () => {
    const routes = Object.entries(HTTP_ROUTES).filter(([name]) => name !== 'operation');
    const requests = routes.map(([name, { method, path }]): Raw => {
      const filled = path.replace(':attachment', 'x').replace(':view', 'board');
      return method === 'GET'
        ? { method, path: filled }
        : { method, path: filled, body: bodyOf(name, victim) };
    });
    const answers = await house.attack(client, 'played:coder', requests);
    for (const [i, [name]] of routes.entries()) {
      const allowed = AUTHORITY[`http.${name}` as Operation].may.worker !== undefined;
      expect([name, ...answers[i]!]).toEqual([name, allowed ? 200 : 403, false]);
    }
  });

  test('[ID6.20] with the orchestrator’s tools its plans are in its own repository, whatever it names', async () => {
    const plan = (repository: string) => ({ name: 'x', repository, tasks: [{ id: 'e', prompt: 'x' }] });
    // A repository that it made itself, one of the person's, and one that only points there.
    const before = [
      'mkdir n m && git -C n init -q -b main && touch n/f && git -C n add f',
      'git -C n -c user.name=x -c user.email=x@y.z commit -qm n',
      `echo 'gitdir: ${victim.root}/.git' > m/.git`,
    ].join(' && ');
    const worktrees = `${house.root}.worktrees`;
    const named = [victim.root, join(worktrees, 'n'), `${house.root}/../victim`, '/', house.place.home];
    const answers = await house.attack(
      client,
      'played:boss',
      named.map((repository) => op('savePlan', plan(repository), { start: true })),
      before,
    );
    expect(answers).toEqual(named.map(() => [403, false]));
    expect((await client.listPlans()).filter(({ name }) => name === 'x')).toEqual([]);
  });
});

/** A body that the route would take from the person. */
function bodyOf(name: string, { session }: Victim): unknown {
  if (name === 'grant' || name === 'attach') return { session };
  return name === 'receipt' ? { batch: 1, received: true } : {};
}

test('[ID6.20] every operation over HTTP has a row of its own', () => {
  for (const name of Object.keys(AUTHORITY).filter((key) => !key.startsWith('http.') && key !== 'attach'))
    expect(isHttpOperation(name), name).toBe(true);
});
