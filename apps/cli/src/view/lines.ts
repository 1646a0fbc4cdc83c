import { withoutCause } from '@reveille/protocol';
import type { ReveilleEvent } from '@reveille/protocol';
import { short, tellWakeUp } from './frame.ts';
import { oneLine, pad, padStart } from './columns.ts';
import type { WakeUp } from './watch.ts';
import { duration } from './words.ts';

/** States that say nothing to a reader: the next one follows at once, or nothing happens for a while. */
const QUIET: ReadonlySet<string> = new Set(['task.pending', 'task.ready', 'task.created', 'plan.created']);

type NameOf = (id: string | undefined) => string;

/** One thing that happened, as one line of a log; null for what is not worth one. */
export function drawEvent({ type, task, plan, data }: ReveilleEvent, nameOf: NameOf): string | null {
  if (QUIET.has(type)) return null;
  const [noun = '', verb = ''] = type.split('.', 2);
  const words = (key: string): string => textOf(data?.[key]);
  switch (noun) {
    case 'task':
      return line(verb, `${nameOf(task)}: ${withoutCause(words('why'))}`);
    case 'plan':
      return line(verb, `${nameOf(plan)}: ${words('why')}`);
    case 'health':
      return line(verb, verb === 'recovered' ? nameOf(task) : `${nameOf(task)}: ${words('text')}`);
    case 'conflict':
      return line(
        'conflict',
        words('base') === ''
          ? `${nameOf(task)} and ${nameOf(words('with'))} ${verb === 'began' ? 'now change' : 'no longer change'} the same lines`
          : `${nameOf(task)} ${verb === 'began' ? 'now conflicts' : 'no longer conflicts'} with ${words('base')}`,
      );
    case 'work':
      return line(verb.replace('_', ' '), nameOf(task));
    case 'run':
      return runLine(verb, nameOf(task), data ?? {});
    default:
      return null;
  }
}

/** Events hold small values; one that is no text is shown as it was recorded. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}

function runLine(verb: string, name: string, data: Readonly<Record<string, unknown>>): string | null {
  if (verb === 'paused' || verb === 'resumed') return line(verb, name);
  if (verb === 'fault')
    return line('fault', `${name}: ${String(data['faults'])} in a row, it is tried again`);
  if (verb === 'escaped') return line('escaped', `${name} made changes outside its worktree; it was stopped`);
  return null;
}

export const drawWakeUp = (wakeUp: WakeUp): string =>
  line('wake-up', `${tellWakeUp(wakeUp)}, ${short(wakeUp.ms)}`);

export const line = (what: string, text: string): string => `${pad(what, 10)}  ${oneLine(text)}`;

export const timed = (ms: number, text: string): string => `${padStart(duration(ms), 8)}  ${text}`;
