import {
  countsText,
  formatAgentType,
  healthLine,
  isTerminal,
  type Client,
  type Plan,
  type TaskView,
  withoutCause,
} from '@reveille/protocol';
import { command, type Call } from '../command/spec.ts';
import { findEither, viewpointOf } from '../find.ts';
import { paintOf, print, reach } from '../reach.ts';
import { repositoryIfAny } from '../repository.ts';
import { drawFrame } from '../view/frame.ts';
import { planLines, taskLines } from '../view/list.ts';
import { pictureOf } from '../view/picture.ts';
import { Watch, type Target } from '../view/watch.ts';
import { cost, duration, isEnded, plural, resourcesText } from '../view/words.ts';

export const status = command({
  name: 'status',
  group: 'Work',
  summary: 'says what runs, what waits for you, and why',
  usage: '[plan|task]',
  about: 'Without a name: the plans and tasks of the repository you are in that have not ended.',
  options: { all: { type: 'boolean', short: 'a', means: 'of every repository, and what has ended' } },
  json: '{ plans, tasks, inbox } without a name; { plan, tasks } for a plan; { task, run, worker, end } for a task.',
  async run(call) {
    const [name] = call.args;
    const here = call.options.all ? null : ((await repositoryIfAny(call))?.top ?? null);
    const client = await reach(call);
    if (name !== undefined) return one(call, client, name);
    return everything(call, client, { all: call.options.all, here });
  },
});

async function one(call: Call, client: Client, name: string): Promise<number> {
  const { plan, task } = await findEither(client, name, await viewpointOf(call));
  const value = plan ? await client.getPlan(plan.id) : await client.getTask(task.task.id);
  const target: Target = plan ? { plan: plan.id } : { task: task.task.id };
  const watch = call.options.json ? null : await Watch.open(client, target);
  print(call, value, () => {
    if (!watch) return [];
    const now = Date.now();
    const size = { columns: call.io.out.columns ?? 120, rows: 0, now, last: true };
    const frame = drawFrame(pictureOf(watch, now), size, paintOf(call));
    return [...frame, ...(plan ? planWords(plan) : taskWords(task, now))];
  });
  return 0;
}

const planWords = (plan: Plan): string[] => [
  '',
  `${plan.id}  ${plan.state}: ${plan.why}`,
  ...(plan.repository === null ? [] : [`in ${plan.repository}`]),
];

function taskWords({ task, run, worker, end, health }: TaskView, now: number): string[] {
  const used = run ? cost(run.used) : '';
  const lines = [
    ['id', task.id],
    ['agent', formatAgentType(task.agent)],
    ['state', `${task.state} for ${duration(now - task.since)}: ${withoutCause(task.why)}`],
    ['worker', `${worker}, attempt ${task.attempts}, ${plural(run?.turns ?? 0, 'turn')}`],
    ['health', health ? healthLine(health, now) : ''],
    ['used', used],
    ['machine', resourcesText(run?.resources)],
    ['counted', countsText(run?.counts)],
    ['worktree', end?.work?.worktree ?? ''],
    ['branch', end?.work?.branch ?? ''],
    ['says', end ? '' : (run?.lastWords.split('\n', 1)[0] ?? '')],
  ] as const;
  const shown = lines.filter(([, value]) => value !== '').map(([key, value]) => `${key.padEnd(9)} ${value}`);
  const notices = end?.work?.notices ?? [];
  return ['', ...shown, ...(end ? ['', end.output.trim()] : []), ...notices];
}

interface Scope {
  readonly all: boolean;
  /** Null: wherever. */
  readonly here: string | null;
}

async function everything(call: Call, client: Client, { all, here }: Scope): Promise<number> {
  const [plans, open, inbox] = await Promise.all([
    client.listPlans(),
    client.listTasks(all ? {} : { open: true }),
    client.inbox(),
  ]);
  const isHere = ({ repository }: { repository: string | null }): boolean =>
    here === null || repository === here;
  const shown = plans
    .filter((plan) => isHere(plan) && (all || !isEnded(plan.state)))
    .toSorted((a, b) => b.createdAt - a.createdAt);
  // A subtask is shown with the task it is part of.
  const tasks = open.filter(
    ({ task }) => task.plan === null && task.depth <= 1 && isHere(task) && (all || !isTerminal(task.state)),
  );
  const elsewhere = plans.filter((plan) => !isHere(plan) && !isEnded(plan.state)).length;
  const list = { columns: call.io.out.columns ?? 120, now: Date.now(), paint: paintOf(call) };
  print(call, { plans: shown, tasks, inbox }, () => [
    ...(shown.length + tasks.length === 0 ? ['Nothing runs.'] : []),
    ...planLines(shown, list),
    ...taskLines(tasks, list),
    ...(elsewhere > 0
      ? [`${plural(elsewhere, 'plan runs', 'plans run')} in other repositories: reveille status --all`]
      : []),
    ...(inbox.length > 0
      ? [`${plural(inbox.length, 'request waits', 'requests wait')} for you: reveille inbox`]
      : []),
  ]);
  return 0;
}
