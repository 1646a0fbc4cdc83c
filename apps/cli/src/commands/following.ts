import { formatAgentType, type Client, type TaskView } from '@reveille/protocol';
import type { Call } from '../command/spec.ts';
import { paintOf } from '../reach.ts';
import { say } from '../say.ts';
import { configHere } from '../trusted.ts';
import { follow as followTarget, type Followed } from '../view/follow.ts';
import { usedBy } from '../view/picture.ts';
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
  if (!options.json) for (const line of plan ? planEnd(call, watch) : taskEnd(root)) say(io.out, line);
  return state === 'completed' ? 0 : 1;
}

function planEnd(call: Call, { plan, tasks }: Followed['watch']): string[] {
  if (!plan) return [];
  const paint = paintOf(call);
  const views = [...tasks.values()];
  const used = cost(usedBy(views));
  const failed = views.filter(({ task }) => task.state === 'failed');
  const integration = views.find(({ task }) => task.id === plan.integration)?.end;
  return [
    '',
    paint(plan.state === 'completed' ? 'green' : 'red', `${plan.name} is ${plan.state}: ${plan.why}.`),
    ...(used === '' ? [] : [`Used: ${used}.`]),
    ...failed
      .slice(0, 10)
      .map(
        ({ task, end }) => `  ${task.name}: ${end?.error?.message ?? task.why} (reveille retry ${task.id})`,
      ),
    ...(failed.length > 10 ? [`  … and ${plural(failed.length - 10, 'task')} more`] : []),
    ...(integration?.work && integration.work.files.length > 0
      ? [
          `Branch ${integration.work.branch}; into your checkout it goes with`,
          `  reveille integrate ${plan.id}`,
        ]
      : []),
  ];
}

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
  return ['', head, words.trim(), ...work];
}
