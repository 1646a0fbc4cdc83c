import { setTimeout as sleep } from 'node:timers/promises';
import { formatAgentType, type Client, type Plan, type TaskView } from '@reveille/protocol';
import type { Call } from '../command/spec.ts';
import { paintOf } from '../reach.ts';
import { say } from '../say.ts';
import { configHere } from '../trusted.ts';
import { follow as followTarget, type Followed } from '../view/follow.ts';
import { budgetNotes, usedBy } from '../view/picture.ts';
import type { Target } from '../view/watch.ts';
import { cost, plural } from '../view/words.ts';

interface Following {
  /** From this event on; from now on unless told. */
  readonly after?: number | undefined;
  /** Something the person is to do first: what was shown stays, and the caller goes on. */
  readonly until?: (watch: Followed['watch']) => boolean;
}

export async function follow(
  call: Call,
  client: Client,
  target: Target,
  { after, until }: Following = {},
): Promise<Followed> {
  const { io, options } = call;
  return followTarget({
    io,
    client,
    target,
    json: options.json,
    bell: io.out.isTTY === true && (await configHere(io, null)).config.notify.bell,
    ...(after === undefined ? {} : { after }),
    ...(until ? { until } : {}),
  });
}

/** The last words of a command that followed something, and its exit code. */
export async function outcome(call: Call, { watch, detached }: Followed, client: Client): Promise<number> {
  const { io, options } = call;
  const { plan } = watch;
  const root = [...watch.tasks.values()][0];
  if (options.json) {
    const last = plan ? await client.getPlan(plan.id) : root;
    io.out.write(`${JSON.stringify(last)}\n`);
  }
  if (detached !== null) {
    const id = plan?.id ?? root?.task.id ?? '';
    io.err.write(`\nStill running; \`reveille attach ${id}\` comes back.\n`);
    return detached;
  }
  const state = plan?.state ?? root?.task.state;
  if (!options.json) {
    const views = await counted(client, [...watch.tasks.values()]);
    for (const line of plan ? planEnd(call, plan, views) : taskEnd(views[0])) say(io.out, line);
  }
  return state === 'completed' ? 0 : 1;
}

const LAST_WORD_MS = 5_000;
const LOOK_MS = 100;

/** The tasks, where a budget counts when their agents are gone: some say what they used only then. */
async function counted(client: Client, views: readonly TaskView[]): Promise<TaskView[]> {
  const deadline = performance.now() + LAST_WORD_MS;
  const last = async (view: TaskView): Promise<TaskView> => {
    const now = view.task.budget === null ? view : await client.getTask(view.task.id);
    const isStopping = now.task.budget !== null && now.run !== null && now.run.identity !== null;
    if (!isStopping || performance.now() > deadline) return now;
    await sleep(LOOK_MS);
    return last(view);
  };
  return Promise.all(views.map(last));
}

function planEnd(call: Call, plan: Plan, views: readonly TaskView[]): string[] {
  const paint = paintOf(call);
  const used = cost(usedBy(views));
  const failed = views.filter(({ task }) => task.state === 'failed');
  const integration = views.find(({ task }) => task.id === plan.integration)?.end;
  return [
    '',
    paint(plan.state === 'completed' ? 'green' : 'red', `${plan.name} is ${plan.state}: ${plan.why}.`),
    ...(used === '' ? [] : [`Used: ${used}.`]),
    ...budgetNotes(views),
    ...failed
      .slice(0, MOST_NAMED)
      .map(
        ({ task, end }) => `  ${task.name}: ${end?.error?.message ?? task.why} (reveille retry ${task.id})`,
      ),
    ...(failed.length > MOST_NAMED ? [`  … and ${plural(failed.length - MOST_NAMED, 'task')} more`] : []),
    ...unmergedLines(plan, views),
    ...(integration?.work && integration.work.files.length > 0
      ? [
          `Branch ${integration.work.branch}; into your checkout it goes with`,
          `  reveille integrate ${plan.id}`,
        ]
      : []),
  ];
}

/** What completed in a plan that did not, and is on its own branch only. */
export function unmergedLines(plan: Plan, views: readonly TaskView[]): string[] {
  const isMerged = plan.integration === null || plan.state === 'completed' || plan.state === 'active';
  if (isMerged) return [];
  const made = views.filter(
    ({ task, end }) =>
      task.state === 'completed' && task.id !== plan.integration && (end?.work?.files.length ?? 0) > 0,
  );
  if (made.length === 0) return [];
  const shown = made.slice(0, MOST_NAMED).map(({ task, end }) => {
    const work = end?.work;
    return `  ${task.name}: ${plural(work?.files.length ?? 0, 'file')} on ${work?.branch} (reveille integrate ${task.id})`;
  });
  const more =
    made.length > shown.length ? [`  … and ${plural(made.length - shown.length, 'task')} more`] : [];
  return ['Completed, but not merged:', ...shown, ...more];
}

const MOST_NAMED = 10;

function taskEnd(view: TaskView | undefined): string[] {
  if (!view) return [];
  const { task, end } = view;
  const head = `${formatAgentType(task.agent)}: ${end?.status ?? task.state}`;
  const words = end?.error ? `${end.error.message}\n${end.output}` : (end?.output ?? task.why);
  const work =
    end?.work && end.work.files.length > 0
      ? [
          `${plural(end.work.files.length, 'file')} changed on ${end.work.branch}; into your checkout it goes with`,
          `  reveille integrate ${task.id}`,
        ]
      : [];
  return ['', head, words.trim(), ...budgetNotes([view]), ...(end?.work?.notices ?? []), ...work];
}
