import type { TaskState } from '@reveille/protocol';
import type { Colour, Paint } from '../ansi.ts';
import { fit, pad, padStart, width } from './columns.ts';
import type { Picture, Row, Woken } from './picture.ts';
import { cost, duration, plural, taskLook } from './words.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

interface FrameOptions extends Size {
  readonly now: number;
  /** The last one, which stays: nothing of it is left out for want of room. */
  readonly last?: boolean;
  /** A line below the title. */
  readonly subtitle?: string;
  /** A line at the bottom. */
  readonly hint?: string;
}

/** The whole picture as lines, none wider than the terminal, no more than it has. */
export function drawFrame(picture: Picture, options: FrameOptions, paint: Paint): string[] {
  const columns = Math.max(20, options.columns);
  const { subtitle } = options;
  const below = subtitle === undefined ? [] : [paint('dim', fit(subtitle, columns))];
  const top = [drawTitle(picture, columns, paint), ...below, ''];
  const widths = layout(picture.rows, columns);
  const draw = (row: Row): string => drawRow(row, widths, options.now, paint);
  if (options.last) return [...top, ...picture.rows.map(draw)];
  const foot = drawFoot(picture, options.hint, columns, paint);
  const room = Math.max(1, options.rows - 1 - top.length - foot.length);
  const { shown, left } = choose(picture.rows, room);
  const more = left.length > 0 ? [paint('dim', fit(`… and ${countStates(left)}`, columns))] : [];
  const tree = [...shown.map(draw), ...more];
  const lines = Math.min(6, room - tree.length);
  const wakeUps = lines >= 3 ? drawWakeUps(picture.wakeUps, lines, columns, paint) : [];
  return [...top, ...tree, ...wakeUps, ...foot].slice(0, Math.max(1, options.rows - 1));
}

function drawTitle({ title, state, rows, elapsed, used }: Picture, columns: number, paint: Paint): string {
  const done = rows.filter((row) => row.state === 'completed').length;
  const right = [`${done} of ${rows.length} done`, duration(elapsed), cost(used)].filter(Boolean).join('  ');
  const colour = state === 'completed' ? 'green' : state === 'failed' ? 'red' : 'bold';
  if (columns < right.length + 14) return paint(colour, fit(`${title} · ${state}`, columns));
  const left = fit(`${title} · ${state}`, columns - right.length - 2);
  const gap = ' '.repeat(Math.max(2, columns - width(left) - right.length));
  return `${paint(colour, left)}${gap}${paint('dim', right)}`;
}

/** How wide each column is; what does not fit is left out, the agent first, then the time, then the words. */
interface Layout {
  readonly name: number;
  readonly agent: number;
  readonly time: number;
  readonly why: number;
}
const STATE = 10;

function layout(rows: readonly Row[], columns: number): Layout {
  const time = columns >= 40 ? 8 : 0;
  // A vendor and a name; where there is little room, the end of the name goes.
  const most = columns >= 100 ? 24 : 16;
  const agent = columns >= 76 ? Math.min(most, Math.max(5, ...rows.map((row) => row.agent.length + 1))) : 0;
  const longest = Math.max(12, ...rows.map((row) => width(row.branch) + width(row.name)));
  const name = Math.min(longest, Math.max(8, Math.floor(columns / 3)));
  const used = 2 + name + 1 + (agent ? agent + 2 : 0) + STATE + time + 2;
  return { name, agent, time, why: Math.max(0, columns - used) };
}

/** States whose words matter less than others'. */
const QUIET: ReadonlySet<TaskState> = new Set(['pending', 'completed', 'cancelled']);
const LOUD: ReadonlySet<TaskState> = new Set(['failed', 'waiting', 'review', 'blocked']);

function drawRow(row: Row, widths: Layout, now: number, paint: Paint): string {
  const { health } = row;
  const { sign, colour, word } = taskLook(row.state, health);
  const spin = SPINNER[Math.floor(now / 100) % SPINNER.length] ?? sign;
  const weight: Colour = row.branch === '' && row.state !== 'pending' ? 'bold' : 'dim';
  const parts = [
    paint(colour, row.state === 'running' && !health ? spin : sign),
    ' ',
    paint(weight, pad(fit(row.branch + row.name, widths.name), widths.name)),
    ' ',
    widths.agent ? paint('dim', `${pad(fit(`@${row.agent}`, widths.agent), widths.agent)}  `) : '',
    paint(colour, pad(word, STATE)),
    widths.time ? paint('dim', padStart(row.ms === null ? '' : duration(row.ms), widths.time)) : '',
  ];
  if (widths.why < 8) return parts.join('').trimEnd();
  const what = health?.why ?? row.why;
  const words = fit(row.attempt > 1 ? `attempt ${row.attempt}: ${what}` : what, widths.why);
  const isLoud = LOUD.has(row.state) || health !== undefined;
  const why = isLoud ? paint(colour, words) : QUIET.has(row.state) ? paint('dim', words) : words;
  return `${parts.join('')}  ${why}`.trimEnd();
}

/** What to leave out when there is no room for all: first what has ended well or not begun, from the top. */
const WORTH: { readonly [S in TaskState]: number } = {
  failed: 5,
  waiting: 5,
  review: 5,
  running: 4,
  blocked: 3,
  ready: 2,
  cancelled: 1,
  pending: 1,
  completed: 0,
};

function choose(rows: readonly Row[], room: number): { shown: readonly Row[]; left: readonly Row[] } {
  if (rows.length <= room) return { shown: rows, left: [] };
  const ranked = rows
    .map((row, i) => ({ row, i }))
    .toSorted((a, b) => WORTH[b.row.state] - WORTH[a.row.state] || a.i - b.i);
  const kept = new Set(ranked.slice(0, Math.max(0, room - 1)).map(({ row }) => row));
  return { shown: rows.filter((row) => kept.has(row)), left: rows.filter((row) => !kept.has(row)) };
}

function countStates(rows: readonly Row[]): string {
  const counts = Map.groupBy(rows, ({ state }) => state);
  const parts = [...counts].map(([state, members]) => `${members.length} ${state}`);
  return `${rows.length} more: ${parts.join(', ')}`;
}

/** The newest at the bottom, where the eye is. */
function drawWakeUps(wakeUps: readonly Woken[], lines: number, columns: number, paint: Paint): string[] {
  if (wakeUps.length === 0) return [];
  const room = Math.min(48, columns - 14);
  const drawn = wakeUps.slice(-(lines - 2)).map((wakeUp) => {
    const words = pad(fit(tellWakeUp(wakeUp), room), room);
    const time = padStart(short(wakeUp.ms), 9);
    return `  ${wakeUp.how === 'failed' ? paint('red', words) : words} ${paint('dim', time)}`;
  });
  return ['', paint('dim', fit('who woke whom', columns)), ...drawn];
}

/** A wake-up is a matter of milliseconds. */
export const short = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${Math.round(ms)} ms` : duration(ms);

export const tellWakeUp = ({ parent, child, how }: Woken): string => `${parent} ← ${child}: ${how}`;

function drawFoot(picture: Picture, hint: string | undefined, columns: number, paint: Paint): string[] {
  const { requests } = picture;
  const asks =
    requests.length > 0
      ? [
          paint(
            'yellow',
            fit(
              `${plural(requests.length, 'request waits', 'requests wait')} for you: reveille inbox`,
              columns,
            ),
          ),
        ]
      : [];
  const hints = hint === undefined ? [] : [paint('dim', fit(hint, columns))];
  return asks.length + hints.length > 0 ? ['', ...asks, ...hints] : [];
}
