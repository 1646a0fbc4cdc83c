import type { TaskView } from '@reveille/protocol';
import type { Paint } from '../ansi.ts';
import { fit, pad, padStart, width, wrap } from '../view/columns.ts';
import { duration } from '../view/words.ts';
import type { Ended, Picture } from './picture.ts';
import type { WakeUp } from './probe.ts';

/** What a demo came to: also what `--json` prints last. */
export interface Summary {
  readonly plan: string;
  readonly state: string;
  readonly ms: number;
  readonly tasks: number;
  readonly subtasks: number;
  readonly attempts: number;
  /** How many attempts ended how. */
  readonly ends: Readonly<Record<string, number>>;
  readonly wakeUps: readonly { parent: string; child: string; how: string; ms: number }[];
  readonly wakeMs: { readonly p50: number; readonly max: number };
}

export function summarise({ plan, views, wakeUps, elapsed }: Picture): Summary {
  const times = wakeUps.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return {
    plan: plan.name,
    state: plan.state,
    ms: Math.round(elapsed),
    tasks: views.filter(({ task }) => task.plan !== null).length,
    subtasks: views.filter(({ task }) => task.plan === null).length,
    attempts: views.reduce((sum, { task }) => sum + task.attempts, 0),
    ends: countEnds(views),
    wakeUps: wakeUps.map(({ parent, child, how, ms }) => ({ parent, child, how, ms: round(ms) })),
    wakeMs: { p50: round(times[Math.floor((times.length - 1) / 2)] ?? 0), max: round(times.at(-1) ?? 0) },
  };
}

/** Of a task that was tried again every attempt but the last has failed. */
function countEnds(views: readonly TaskView[]): Record<string, number> {
  const ends: Record<string, number> = {};
  const count = (how: string, by: number): void => void (ends[how] = (ends[how] ?? 0) + by);
  for (const { task } of views) {
    count(task.state, 1);
    if (task.attempts > 1) count('failed', task.attempts - 1);
  }
  return ends;
}

export function drawSummary(picture: Ended, kept: string | null, columns: number, paint: Paint): string[] {
  const { tasks, subtasks, attempts, ends, wakeUps, wakeMs } = summarise(picture);
  const retried = picture.views.filter(({ task }) => task.attempts > 1).length;
  const ended = Object.entries(ends).map(([how, count]) => `${count} ${how}`);
  const again = retried > 0 ? ` (and ${retried === 1 ? 'was' : 'were'} tried again)` : '';
  const text = (words: string): string[] => wrap(words, Math.min(columns, 100), '  ');
  return [
    '',
    paint('bold', 'What ran'),
    ...text(`${tasks} tasks and ${subtasks} subtasks, ${attempts} attempts: ${ended.join(', ')}${again}.`),
    ...text(`The plan is ${picture.plan.state} after ${duration(picture.elapsed)}.`),
    '',
    paint('bold', 'Who woke whom, and how fast'),
    ...text(MEASURED).map((line) => paint('dim', line)),
    ...drawWakeUps(picture.wakeUps, Math.min(columns, 100), paint),
    `  ${wakeUps.length} wake-ups: p50 ${wakeMs.p50.toFixed(1)} ms, max ${wakeMs.max.toFixed(1)} ms`,
    '',
    ...drawHistory(picture.history, columns, paint),
    paint('bold', 'Where to look next'),
    ...NEXT.flatMap(([what, why]) => drawNext(what, why, columns, paint)),
    ...(kept === null ? [] : drawNext('the repository', kept, columns, paint)),
  ];
}

function drawHistory(history: readonly string[], columns: number, paint: Paint): string[] {
  if (history.length === 0) return [];
  const lines = history.map((line) => `  ${fit(line, Math.min(columns, 100) - 2)}`);
  return [paint('bold', 'What was merged (git log --graph)'), ...lines, ''];
}

const MEASURED =
  'From the commit that recorded it to the handler of whoever was waiting. The commit that records the delivery lies in between.';

/** As it was called: whoever came by `npm start` has no `reveille` yet. */
const AGAIN = process.env['npm_lifecycle_event'] === 'start' ? 'npm start --' : 'reveille demo';
/** Shown in a clone only: a package has neither the sources nor the documents about them. */
const SOURCES = [
  ['apps/cli/src/demo/story.ts', 'the plan and what its agents do; change it and run again'],
  ['ARCHITECTURE.md', 'how a result finds its way, and why none is lost'],
] as const;
const isClone = import.meta.url.endsWith('.ts');
const NEXT = [
  [`${AGAIN} --keep`, 'the same, and the database stays for you to look into'],
  [`${AGAIN} --json`, 'every event as a line of JSON'],
  ...(isClone
    ? SOURCES
    : [['reveille init', 'sets up a repository of yours, with an example plan'] as const]),
] as const;

function drawNext(what: string, why: string, columns: number, paint: Paint): string[] {
  if (columns < 90) return [`  ${what}`, ...wrap(why, columns, '    ').map((line) => paint('dim', line))];
  return [`  ${pad(what, 27)} ${paint('dim', why)}`];
}

/** One line per parent and child, by parent: several wake-ups of the same two share it. */
function drawWakeUps(wakeUps: readonly WakeUp[], columns: number, paint: Paint): string[] {
  const byParent = [...Map.groupBy(wakeUps, ({ parent }) => parent).values()].flat();
  const pairs = Map.groupBy(byParent, ({ parent, child }) => `${parent} ← ${child}`);
  const name = Math.min(Math.max(...[...pairs.keys()].map(width), 0), Math.max(12, columns - 34));
  return [...pairs].map(([pair, several]) => {
    const how = several.map((wakeUp) => wakeUp.how).join(', then ');
    const times = `${several.map(({ ms }) => ms.toFixed(1)).join(', ')} ms`;
    return `  ${pad(fit(pair, name), name)}  ${padStart(times, 12)}  ${paint('dim', fit(how, columns - name - 18))}`;
  });
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
