import { resolve } from 'node:path';
import type { AgentDefinition, AgentEntry } from '@reveille/agents';
import { isReveilleError, type Client, type PlanProblem, type PlanView } from '@reveille/protocol';
import { agentsOf, backendsHere } from '../agents.ts';
import { parseBudget } from '../budget-words.ts';
import { beginWork } from '../begin.ts';
import { command, type Call } from '../command/spec.ts';
import { DIRTY, LEFT, startAsWished } from '../dirty.ts';
import { findPlan, viewpointOf } from '../find.ts';
import type { Io } from '../io.ts';
import type { CheckedFile, Known } from '../plan-file/check.ts';
import { paintOf, print, printJson, reach } from '../reach.ts';
import { repositoryIfAny, repositoryOf, type Repository } from '../repository.ts';
import { say } from '../say.ts';
import { checkSettings } from '../trusted.ts';
import { UsageError } from '../usage.ts';
import { drawFrame } from '../view/frame.ts';
import { planLines } from '../view/list.ts';
import { budgetNotes, pictureOf } from '../view/picture.ts';
import { Watch } from '../view/watch.ts';
import { plural } from '../view/words.ts';
import { follow, outcome } from './following.ts';

const GROUP = 'Plans';

const planValidate = command({
  name: 'plan validate',
  group: GROUP,
  summary: 'says everything that is wrong with a plan file',
  usage: '<file…>',
  about: `Every problem is named with its line and column; nothing is saved and nothing runs. examples/plan.schema.json has
what a plan may hold, for editors.`,
  options: {},
  json: '{ files: [{ file, tasks, problems: [{ file, line, column, at, problem }] }] }; exit code 2 if there is a problem.',
  async run(call) {
    const { checkPlanText } = await import('../plan-file/check.ts');
    const { problemLines } = await import('../plan-file/problems.ts');
    const { readPlanText } = await import('../plan-file/source.ts');
    const known = await knownHere(call.io, await repositoryIfAny(call));
    const files = call.args.map((file) => {
      const checked = checkPlanText(readPlanText(resolve(call.io.cwd, file), file), {
        file,
        known,
        given: null,
      });
      return 'problems' in checked
        ? { file, tasks: 0, problems: checked.problems }
        : { file, tasks: checked.plan.tasks.length, problems: [] };
    });
    print(call, { files }, () =>
      files.flatMap(({ file, tasks, problems }) =>
        problems.length > 0
          ? [...problemLines(problems), `${file}: ${plural(problems.length, 'problem')}`]
          : [`${file}: ${plural(tasks, 'task')}, no problem`],
      ),
    );
    return files.some(({ problems }) => problems.length > 0) ? 2 : 0;
  },
});

/** What a plan may name here: for a look at its file as for a run of it. */
async function knownHere(io: Io, repository: Repository | null): Promise<Known> {
  using agents = await agentsOf(io, repository);
  const those = (wanted: AgentEntry['state']): AgentDefinition[] =>
    agents.list().flatMap(({ definition, state }) => (state === wanted ? [definition] : []));
  return {
    agents: those('used'),
    untrusted: those('untrusted').map(({ name }) => name),
    backends: await backendsHere(io),
  };
}

const planRun = command({
  name: 'plan run',
  group: GROUP,
  summary: 'starts a plan from a file and shows it as it runs',
  usage: '<file>',
  about: `The tasks work on the repository you are in. In a terminal the tree is redrawn in place; elsewhere every change is
a line. Ctrl-C leaves, and the plan goes on; \`reveille attach\` comes back.
Exit codes: 0 completed, 1 failed or cancelled, 130 you left.`,
  options: {
    input: {
      type: 'list',
      short: 'i',
      value: 'NAME=TEXT',
      means: 'what an input of the plan is; may be given several times',
    },
    budget: {
      type: 'string',
      value: 'tokens=500k,usd=2',
      means: 'what all of it may use, in place of what the file says',
    },
    dirty: DIRTY,
    detach: { type: 'boolean', short: 'd', means: 'start it and return at once' },
  },
  json: 'every event as a line, and last the plan as one line: { plan, tasks }. With --detach the last line alone.',
  async run(call) {
    const [file = ''] = call.args;
    const repository = await repositoryOf(call);
    const { budget: limits } = call.options;
    const budget = limits === undefined ? {} : { budget: parseBudget(limits, call.command) };
    const checked = await readPlan(call.io, file, repository, inputsOf(call.options.input));
    await checkSettings(call.io, repository);
    const { client, lastEvent } = await beginWork(call);
    const saved = await startAsWished(call, call.options.dirty, (choice) =>
      save(client, { ...checked, plan: { ...checked.plan, ...budget, ...choice } }, repository),
    );
    if (saved === null) return LEFT;
    const { plan, tasks, warning } = saved;
    if (warning !== undefined) say(call.io.err, `Note: ${warning}`);
    for (const note of budgetNotes(tasks)) say(call.io.err, note);
    if (!call.options.json) say(call.io.out, `${plan.id}  ${plan.name}`);
    if (!call.options.detach)
      return outcome(call, await follow(call, client, { plan: plan.id }, { after: lastEvent }), client);
    if (call.options.json) call.io.out.write(`${JSON.stringify(await client.getPlan(plan.id))}\n`);
    else call.io.out.write(`It runs; \`reveille attach ${plan.id}\` shows it.\n`);
    return 0;
  },
});

async function readPlan(
  io: Io,
  file: string,
  repository: Repository,
  given: Record<string, string>,
): Promise<CheckedFile> {
  const { checkedPlan } = await import('../plan-file/check.ts');
  const { readPlanText } = await import('../plan-file/source.ts');
  const text = readPlanText(resolve(io.cwd, file), file);
  return checkedPlan(text, {
    file,
    given,
    known: await knownHere(io, repository),
  });
}

function inputsOf(given: readonly string[]): Record<string, string> {
  const pairs = given.map((text) => {
    const equals = text.indexOf('=');
    if (equals < 1) throw new UsageError(`--input takes NAME=TEXT, not "${text.slice(0, 40)}".`, 'plan run');
    return [text.slice(0, equals), text.slice(equals + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

/** What the engine finds wrong is said with its line, too. */
async function save(client: Client, { plan, locate }: CheckedFile, { top }: Repository): Promise<PlanView> {
  try {
    return await client.savePlan({ ...plan, repository: top }, { start: true });
  } catch (error) {
    const problems: unknown = isReveilleError(error, 'invalid_input') ? error.data['problems'] : undefined;
    if (!Array.isArray(problems)) throw error;
    const { invalidPlan } = await import('../plan-file/problems.ts');
    throw invalidPlan(locate(problems as PlanProblem[]));
  }
}

const planStatus = command({
  name: 'plan status',
  group: GROUP,
  summary: 'shows one plan as it is now, or all of them',
  usage: '[plan]',
  about: '',
  options: {},
  json: '{ plan, tasks } for one plan, { plans } for all.',
  async run(call) {
    const [name] = call.args;
    const client = await reach(call);
    if (name !== undefined) return showPlan(call, client, name);
    const plans = (await client.listPlans()).toSorted((a, b) => b.createdAt - a.createdAt);
    const list = { columns: call.io.out.columns ?? 120, now: Date.now(), paint: paintOf(call) };
    print(call, { plans }, () =>
      plans.length > 0 ? planLines(plans, list) : ['There is no plan yet: reveille plan run <file>.'],
    );
    return 0;
  },
});

async function showPlan(call: Call, client: Client, name: string): Promise<number> {
  const { id } = await findPlan(client, name, await viewpointOf(call));
  if (call.options.json) printJson(call, await client.getPlan(id));
  else {
    const watch = await Watch.open(client, { plan: id });
    const now = Date.now();
    const size = { columns: call.io.out.columns ?? 120, rows: 0, now, last: true };
    const lines = drawFrame(pictureOf(watch, now), size, paintOf(call));
    for (const line of [...lines, ...budgetNotes([...watch.tasks.values()])]) say(call.io.out, line);
  }
  return 0;
}

const ACTS = {
  pause: {
    does: 'starts no further task of a plan; what runs goes on',
    done: 'paused: what runs goes on, nothing new starts',
  },
  resume: { does: 'goes on with a plan that was paused', done: 'resumed' },
  cancel: { does: 'ends a plan and all that runs of it', done: 'being cancelled' },
} as const;

const planAct = (act: keyof typeof ACTS) =>
  command({
    name: `plan ${act}`,
    group: GROUP,
    summary: ACTS[act].does,
    usage: act === 'cancel' ? '<plan> [why…]' : '<plan>',
    about: '',
    options: {},
    json: '{ plan }',
    async run(call) {
      const [name = '', ...why] = call.args;
      const client = await reach(call);
      const { id } = await findPlan(client, name, await viewpointOf(call));
      const plan = await actOnPlan(client, act, id, why.join(' '));
      print(call, { plan }, () => [`${plan.name}: ${ACTS[act].done}.`]);
    },
  });

export function actOnPlan(client: Client, act: keyof typeof ACTS, id: PlanView['plan']['id'], why: string) {
  if (act === 'pause') return client.pausePlan(id);
  if (act === 'resume') return client.resumePlan(id);
  return client.cancelPlan(id, ...(why === '' ? [] : [why]));
}

export const planCommands = [
  planValidate,
  planRun,
  planStatus,
  planAct('pause'),
  planAct('resume'),
  planAct('cancel'),
];
