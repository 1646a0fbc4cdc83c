import {
  healthLine,
  healthWords,
  type PlanState,
  type Run,
  type TaskState,
  type TaskView,
} from '@reveille/protocol';
import type { Colour } from '../ansi.ts';

/** The look of each state, everywhere. */
export const LOOKS: { readonly [S in TaskState]: { readonly sign: string; readonly colour: Colour } } = {
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

/** What is wrong with the worker of a task: in place of its state, and in place of why it is so. */
export interface ShownHealth {
  readonly word: string;
  readonly why: string;
}

export function shownHealth(view: Pick<TaskView, 'task' | 'health'>, now: number): ShownHealth | undefined {
  const { task, health } = view;
  if (!health || task.state !== 'running') return undefined;
  return { word: healthWords(health, now).label, why: healthLine(health, now) };
}

/** A worker that is silent, in a loop or failing again and again does not look as if it ran. */
export const taskLook = (state: TaskState, health: ShownHealth | undefined) =>
  health ? ({ sign: '▲', colour: 'yellow', word: health.word } as const) : { ...LOOKS[state], word: state };

export const PLAN_COLOURS: { readonly [S in PlanState]: Colour } = {
  draft: 'dim',
  active: 'cyan',
  paused: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'dim',
};

export const isEnded = (state: PlanState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

/** How long, in at most seven characters. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 240 ? `${Math.floor(hours / 24)}d ${two(hours % 24)}h` : `${Math.floor(hours / 24)}d`;
}

const two = (value: number): string => String(value).padStart(2, '0');

export interface Used {
  readonly tokens: number;
  readonly usd: number;
  /** What of it nobody knows the price of. */
  readonly unpriced?: { readonly tokens: number } | undefined;
  /** What of it nobody reported. */
  readonly estimated?: { readonly tokens: number; readonly usd: number } | undefined;
}

/** What was used; an amount with an estimate in it is marked by ≈. Empty if nothing was used. */
export function cost({ tokens, usd, unpriced, estimated }: Used): string {
  const about = (key: 'tokens' | 'usd'): string => (estimated && estimated[key] > 0 ? '≈' : '');
  const unknown = unpriced && unpriced.tokens > 0 ? ` (${short(unpriced.tokens)} of unknown price)` : '';
  const parts = [
    ...(usd > 0 ? [`${about('usd')}$${usd < 100 ? usd.toFixed(2) : Math.round(usd)}`] : []),
    ...(tokens > 0 ? [`${about('tokens')}${short(tokens)} tokens${unknown}`] : []),
  ];
  return parts.join(', ');
}

/** What its agent takes of the machine; empty if it is no process of its own. */
export function resourcesText(resources: Run['resources']): string {
  if (!resources) return '';
  const { rssBytes, peakBytes, cpuMs } = resources;
  const mb = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;
  return `${mb(rssBytes)}, at most ${mb(peakBytes)}; ${duration(cpuMs)} of CPU`;
}

function short(count: number): string {
  if (count < 1_000) return String(Math.round(count));
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
