import {
  BudgetLimits,
  type AgentType,
  type Client,
  type Plan,
  type Request,
  type SpawnInput,
  type TaskId,
} from '@reveille/protocol';
import { ask } from '../ask.ts';
import { beginWork } from '../begin.ts';
import { command, type Call } from '../command/spec.ts';
import { DIRTY, LEFT, startAsWished } from '../dirty.ts';
import { repositoryIfAny } from '../repository.ts';
import { say } from '../say.ts';
import { checkSettings } from '../trusted.ts';
import { UsageError } from '../usage.ts';
import type { Followed } from '../view/follow.ts';
import { follow, outcome, unmergedLines } from './following.ts';
import { promptOf, spawnHere } from './spawn.ts';

const HOW = 'Start it? [Enter] yes, [n] drop it, or say what is to be different: ';

export const run = command({
  name: 'run',
  group: 'Work',
  summary: 'gives a goal to an orchestrator, which makes a plan of it and sees it through',
  usage: '<goal…>',
  about: `The orchestrator looks around, saves a plan and shows it to you. When you have approved it (here, with
\`reveille approve\`, or at any other door) it runs, and the orchestrator is woken by whatever needs judgement: questions,
failures, requests for approval. What it cannot decide comes to \`reveille inbox\`. A goal of - is read from the input.
Ctrl-C leaves, and the work goes on; \`reveille attach\` comes back.
Exit codes: 0 completed, 1 it or its plan failed or was cancelled, 130 you left.`,
  options: {
    yes: { type: 'boolean', short: 'y', means: 'start the plan without showing it to you first' },
    backend: { type: 'string', short: 'b', value: 'NAME', means: 'what the orchestrator runs on' },
    model: { type: 'string', value: 'NAME', means: 'its model, in the words of the backend' },
    name: { type: 'string', value: 'TEXT', means: 'what it is called' },
    budget: {
      type: 'string',
      value: 'LIMITS',
      means: 'what all of it together may use: usd=5,tokens=2000000',
    },
    dirty: DIRTY,
    detach: { type: 'boolean', short: 'd', means: 'start it and return at once' },
  },
  json: 'every event as a line, and last the orchestrator’s task as one line: { task, run, worker, end }. With --detach the last line alone.',
  async run(call) {
    const { io, options } = call;
    const input = goalInput(await promptOf(io, call.args), options);
    const repository = await repositoryIfAny(call);
    if (repository) await checkSettings(io, repository);
    const { client, lastEvent } = await beginWork(call);
    const task = await startAsWished(call, options.dirty, (choice) =>
      spawnHere(call, { client, repository, input: { ...input, ...choice } }),
    );
    if (task === null) return LEFT;
    if (!options.json) io.out.write(`${task}\n`);
    if (!options.detach) return seeThrough(call, client, task, lastEvent);
    if (options.json) io.out.write(`${JSON.stringify(await client.getTask(task))}\n`);
    else io.out.write(`It runs; \`reveille attach ${task}\` shows it.\n`);
    return 0;
  },
});

interface RunOptions {
  readonly yes: boolean;
  readonly backend: string | undefined;
  readonly model: string | undefined;
  readonly name: string | undefined;
  readonly budget: string | undefined;
}

function goalInput(goal: string, { yes, backend, model, name, budget }: RunOptions): SpawnInput {
  if (goal.trim() === '') throw new UsageError('Say what is to be reached: reveille run "<goal>".', 'run');
  return {
    prompt: goal,
    agentType: backend === undefined ? 'orchestrator' : `${backend}:orchestrator`,
    plans: yes ? 'start' : 'ask',
    ...(model === undefined ? {} : { model }),
    ...(name === undefined ? {} : { name }),
    ...(budget === undefined ? {} : { budget: limitsIn(budget) }),
  };
}

function limitsIn(text: string): BudgetLimits {
  const pairs = text.split(',').map((pair) => {
    const [key = '', value = ''] = pair.trim().split('=');
    return [key, Number(value || Number.NaN)] as const;
  });
  const parsed = BudgetLimits.strict().safeParse(Object.fromEntries(pairs));
  if (parsed.success) return parsed.data;
  throw new UsageError(
    `--budget takes limits such as usd=5,tokens=2000000, not "${text.slice(0, 40)}".`,
    'run',
  );
}

/** Shows what happens. Where a person sits at the terminal, its plan is put to them in between. */
export async function seeThrough(call: Call, client: Client, task: TaskId, after?: number): Promise<number> {
  const { io, options } = call;
  const asks = io.in.isTTY === true && io.out.isTTY === true && !options.json;
  const asked = new Set<string>();
  const pending = ({ requests }: Followed['watch']): Request | undefined =>
    requests.find(({ id, kind }) => kind === 'plan' && !asked.has(id));
  for (;;) {
    const until = (watch: Followed['watch']): boolean => asks && pending(watch) !== undefined;
    const followed = await follow(call, client, { task }, { after, until });
    const request = followed.detached === null && !followed.watch.ended ? pending(followed.watch) : undefined;
    if (!request) return ended(call, client, followed);
    asked.add(request.id);
    const left = await putTo(call, client, request);
    if (left) return outcome(call, { ...followed, detached: 130 }, client);
  }
}

/** Asks about the plan, unless it is answered at another door meanwhile. True: the person has left. */
async function putTo(call: Call, client: Client, request: Request): Promise<boolean> {
  const { io } = call;
  say(io.out, `\n${request.text}`);
  const answered = new AbortController();
  const watching = answeredElsewhere(client, request, answered);
  const words = await ask(io, HOW, answered.signal).finally(() => answered.abort());
  await watching;
  if (words === null) return true;
  if (words === undefined) return false;
  const word = words.trim().toLowerCase();
  const approves = word === '' || word === 'y' || word === 'yes';
  const drops = word === 'n' || word === 'no';
  const answer = approves ? 'approve' : drops ? 'cancel' : `changes: ${words.trim()}`;
  await client.answer({ request: request.id, answer });
  return false;
}

async function answeredElsewhere(client: Client, { id }: Request, over: AbortController): Promise<void> {
  const { lastEvent } = await client.health();
  const open = (await client.inbox()).some((request) => request.id === id);
  if (!open) return over.abort();
  try {
    for await (const events of client.follow({ after: lastEvent, signal: over.signal }))
      if (events.some(({ request, type }) => request === id && type !== 'request.moved')) return over.abort();
  } catch (error) {
    // The question has been answered here.
    if (!over.signal.aborted) throw error;
  }
}

/**
 * The last words: how the work of its plans comes home, or why it does not. An orchestrator may end well although the last
 * plan it started did not: then the goal was not reached, whatever it says.
 */
async function ended(call: Call, client: Client, followed: Followed): Promise<number> {
  const code = await outcome(call, followed, client);
  const [root] = followed.watch.tasks.values();
  if (followed.detached !== null || !root) return code;
  const plans = await plansOf(client, root.task.session);
  if (!call.options.json)
    for (const plan of plans) for (const line of await planWords(client, plan)) say(call.io.out, line);
  const last = plans.filter(({ state }) => state !== 'draft').at(-1);
  return last && last.state !== 'completed' ? 1 : code;
}

async function planWords(client: Client, plan: Plan): Promise<string[]> {
  if (plan.state === 'draft')
    return [`The plan "${plan.name}" is still a draft; \`reveille plan cancel ${plan.id}\` drops it.`];
  if (plan.state !== 'completed') {
    const { tasks } = await client.getPlan(plan.id);
    return [`The plan "${plan.name}" is ${plan.state}: ${plan.why}.`, ...unmergedLines(plan, tasks)];
  }
  const merged = plan.integration ? (await client.getTask(plan.integration)).end?.work : null;
  if (!merged || merged.files.length === 0) return [];
  return [`Branch ${merged.branch}; into your checkout it goes with`, `  reveille integrate ${plan.id}`];
}

const plansOf = async (client: Client, owner: string): Promise<Plan[]> =>
  (await client.listPlans())
    .filter((plan) => plan.owner === owner)
    .toSorted((a, b) => a.createdAt - b.createdAt);

/** Whether a task is an orchestrator's, whose plan may be put to whoever watches. */
export const isGoal = (agent: AgentType): boolean => agent.name === 'orchestrator';
