import { healthWords, type Plan, type RunRow, type TaskRow } from '@reveille/protocol';
import { now } from './time.tsx';

/** Word, shape and colour: each of them alone tells the states apart. */
type Look = { readonly word: string; readonly tone: Tone; readonly shape: Shape };
type Tone = 'run' | 'wait' | 'ask' | 'review' | 'good' | 'bad' | 'quiet';
type Shape = keyof typeof SHAPES;

const SHAPES = {
  dot: 'M8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
  ring: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3zm0 2a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  dashes: 'M2 6.5h3v3H2zM6.5 6.5h3v3h-3zM11 6.5h3v3h-3z',
  glass: 'M4 2h8v1.5L9.2 8l2.8 4.5V14H4v-1.5L6.8 8 4 3.5zm2 2 2 3 2-3z',
  pause: 'M4 3.5h3v9H4zM9 3.5h3v9H9z',
  diamond: 'M8 2l6 6-6 6-6-6z',
  eye: 'M8 3.5c3.3 0 5.6 2.6 6.6 4.5-1 1.9-3.3 4.5-6.6 4.5S2.4 9.9 1.4 8C2.4 6.1 4.7 3.5 8 3.5zm0 2.2a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6z',
  check: 'M6.6 12.4 2.6 8.4l1.5-1.5 2.5 2.5 5.3-5.3 1.5 1.5z',
  cross: 'M4.1 2.7 8 6.6l3.9-3.9 1.4 1.4L9.4 8l3.9 3.9-1.4 1.4L8 9.4l-3.9 3.9-1.4-1.4L6.6 8 2.7 4.1z',
  alert: 'M8 1.8 15 14H1zM7.2 6v4h1.6V6zm0 5v1.6h1.6V11z',
  bar: 'M3 7h10v2H3z',
  lock: 'M5 7V5.5a3 3 0 0 1 6 0V7h1v6H4V7zm1.5 0h3V5.5a1.5 1.5 0 0 0-3 0z',
} as const;

const TASK: Readonly<Record<TaskRow['state'], Look>> = {
  pending: { word: 'pending', tone: 'quiet', shape: 'dashes' },
  blocked: { word: 'blocked', tone: 'wait', shape: 'lock' },
  ready: { word: 'ready', tone: 'quiet', shape: 'ring' },
  running: { word: 'running', tone: 'run', shape: 'dot' },
  waiting: { word: 'waiting', tone: 'wait', shape: 'glass' },
  review: { word: 'review', tone: 'review', shape: 'eye' },
  completed: { word: 'done', tone: 'good', shape: 'check' },
  failed: { word: 'failed', tone: 'bad', shape: 'cross' },
  cancelled: { word: 'cancelled', tone: 'quiet', shape: 'bar' },
};

const PLAN: Readonly<Record<Plan['state'], Look>> = {
  draft: { word: 'draft', tone: 'quiet', shape: 'ring' },
  active: { word: 'active', tone: 'run', shape: 'dot' },
  paused: { word: 'paused', tone: 'wait', shape: 'pause' },
  completed: { word: 'done', tone: 'good', shape: 'check' },
  failed: { word: 'failed', tone: 'bad', shape: 'cross' },
  cancelled: { word: 'cancelled', tone: 'quiet', shape: 'bar' },
};

const ASKS: Look = { word: 'needs you', tone: 'ask', shape: 'diamond' };
const PAUSED: Look = { word: 'paused', tone: 'wait', shape: 'pause' };

type LookedAt = Pick<RunRow, 'state' | 'paused' | 'health'>;

export function lookOf(
  row: Pick<TaskRow, 'state' | 'waitingOn'> & { readonly run: LookedAt | null },
  asks = false,
): Look {
  const open = row.run?.state === 'open';
  const health = open && row.state === 'running' ? row.run?.health : undefined;
  // Also if it asks: the question is about this.
  if (health) return { word: healthWords(health, now.value).label, tone: 'wait', shape: 'alert' };
  if (asks) return ASKS;
  if (open && row.run?.paused) return PAUSED;
  return TASK[row.state];
}

export const Shape = ({ shape }: { shape: Shape }) => (
  <svg class="shape" viewBox="0 0 16 16" aria-hidden="true">
    <path d={SHAPES[shape]} fill="currentColor" fill-rule="evenodd" />
  </svg>
);

const Badge = ({ look, bare }: { look: Look; bare?: boolean | undefined }) => (
  <span class={`state tone-${look.tone}`} title={bare ? look.word : undefined}>
    <Shape shape={look.shape} />
    <span class={bare ? 'unseen' : ''}>{look.word}</span>
  </span>
);

export const TaskState = ({ row, asks, bare }: { row: TaskRow; asks?: boolean; bare?: boolean }) => (
  <Badge look={lookOf(row, asks)} bare={bare} />
);

export const PlanState = ({ plan }: { plan: Plan }) => <Badge look={PLAN[plan.state]} />;
