import type { TaskState } from '@reveille/protocol';
import { fit, pad, padStart, width, type Colour, type Paint } from '../ansi.ts';
import type { Picture, Row } from './picture.ts';
import type { WakeUp } from './probe.ts';

/** The look of each state. */
const LOOKS: { readonly [S in TaskState]: { readonly sign: string; readonly colour: Colour } } = {
  pending: { sign: '·', colour: 'dim' },
  blocked: { sign: '·', colour: 'red' },
  ready: { sign: '○', colour: 'dim' },
  running: { sign: '●', colour: 'cyan' },
  waiting: { sign: '◐', colour: 'yellow' },
  review: { sign: '◐', colour: 'magenta' },
  completed: { sign: '✔', colour: 'green' },
  failed: { sign: '✖', colour: 'red' },
  cancelled: { sign: '✖', colour: 'dim' },
};
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The whole picture as lines, none wider than the terminal, no more than it has. The last one has no room to spare. */
export function drawFrame(picture: Picture, size: Size & { last?: boolean }, paint: Paint): string[] {
  const columns = Math.max(20, size.columns);
  const widths = layout(picture.rows, columns);
  const top = [drawTitle(picture, columns, paint), paint('dim', fit(SUBTITLE, columns)), ''];
  const tree = picture.rows.map((row) => drawRow(row, widths, picture.elapsed, paint));
  if (size.last) return [...top, ...tree];
  const room = size.rows - 2 - top.length - tree.length;
  const bottom =
    room >= 3 ? ['', ...drawWakeUps(picture.wakeUps, Math.min(7, room - 1), columns, paint)] : [];
  const lines = [...top, ...tree, ...bottom];
  return lines.length < size.rows
    ? lines
    : [...lines.slice(0, Math.max(1, size.rows - 2)), paint('dim', '…')];
}

const SUBTITLE = 'scripted agents on the real engine, in real worktrees of a real repository';

function drawTitle({ plan, rows, elapsed }: Picture, columns: number, paint: Paint): string {
  const done = rows.filter(({ state }) => state === 'completed').length;
  const right = `${done} of ${rows.length} done  ${seconds(elapsed)}`;
  const left = fit(`${plan.name} · ${plan.state}`, columns - right.length - 2);
  const gap = ' '.repeat(Math.max(2, columns - width(left) - right.length));
  const colour = plan.state === 'completed' ? 'green' : plan.state === 'failed' ? 'red' : 'bold';
  return columns < right.length + 12
    ? paint(colour, fit(plan.name, columns))
    : `${paint(colour, left)}${gap}${paint('dim', right)}`;
}

/** How wide each column is; what does not fit a narrow terminal is left out, the agent first, then the time, then the words. */
interface Layout {
  readonly name: number;
  readonly agent: number;
  readonly state: number;
  readonly time: number;
  readonly why: number;
}

function layout(rows: readonly Row[], columns: number): Layout {
  const state = 9;
  const time = columns >= 40 ? 7 : 0;
  const agent = columns >= 76 ? Math.max(5, ...rows.map((row) => row.agent.length + 1)) : 0;
  const longest = Math.max(12, ...rows.map((row) => width(label(row))));
  const name = Math.min(longest, Math.max(8, Math.floor(columns / 3)));
  const used = 2 + name + 1 + (agent ? agent + 2 : 0) + state + time + 2;
  return { name, agent, state, time, why: Math.max(0, columns - used) };
}

const label = ({ depth, last, name }: Row): string => (depth === 0 ? '' : last ? '└ ' : '├ ') + name;

function drawRow(row: Row, widths: Layout, elapsed: number, paint: Paint): string {
  const { sign, colour } = LOOKS[row.state];
  const spin = SPINNER[Math.floor(elapsed / 100) % SPINNER.length] ?? sign;
  const parts = [
    paint(colour, row.state === 'running' ? spin : sign),
    ' ',
    paint(
      row.state === 'pending' ? 'dim' : row.depth === 0 ? 'bold' : 'dim',
      pad(fit(label(row), widths.name), widths.name),
    ),
    ' ',
    widths.agent ? paint('dim', `${pad(`@${row.agent}`, widths.agent)}  `) : '',
    paint(colour, pad(row.state, widths.state)),
    widths.time ? paint('dim', padStart(row.ms === null ? '' : seconds(row.ms), widths.time)) : '',
  ];
  if (widths.why < 8) return parts.join('').trimEnd();
  const why = fit(row.attempt > 1 ? `attempt ${row.attempt}: ${row.why}` : row.why, widths.why);
  const loud = row.state === 'failed' || row.state === 'waiting' ? paint(colour, why) : why;
  return `${parts.join('')}  ${row.state === 'pending' || row.state === 'completed' ? paint('dim', why) : loud}`;
}

/** The newest at the bottom, where the eye is. The number of lines is the same in every frame, so that nothing jumps. */
function drawWakeUps(wakeUps: readonly WakeUp[], lines: number, columns: number, paint: Paint): string[] {
  const shown = wakeUps.slice(-(lines - 1));
  const room = Math.min(34, columns - 12);
  const drawn = shown.map((wakeUp) => {
    const words = pad(fit(tell(wakeUp), room), room);
    const time = padStart(`${wakeUp.ms.toFixed(1)} ms`, 9);
    return `  ${wakeUp.how === 'failed' ? paint('red', words) : words} ${paint('dim', time)}`;
  });
  const empty = Array.from({ length: lines - 1 - shown.length }, () => '');
  return [paint('dim', fit('who woke whom', columns)), ...drawn, ...empty];
}

export const tell = ({ parent, child, how }: WakeUp): string => `${parent} ← ${child}: ${how}`;

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
