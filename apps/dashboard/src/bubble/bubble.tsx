import { useState } from 'preact/hooks';
import { Shape, lookOf } from '../parts/state.tsx';
import type { TaskRow, WorkerHealth } from '@reveille/protocol';

/** What a bubble shows: as small as a line of a chat, and everything in it is text. */
export interface BubbleData {
  readonly task: string;
  readonly agent: string;
  readonly state: TaskRow['state'];
  readonly why: string;
  /** What is wrong with its worker; absent: nothing. */
  readonly health?: WorkerHealth | undefined;
  /** The tool at work, or the last words. */
  readonly doing: string | null;
  /** `12s`, `4 turns · 42k tokens` */
  readonly facts: readonly string[];
  /** Of its own subtasks. */
  readonly done: number;
  readonly of: number;
}
export type BubbleAct = 'retry' | 'cancel';

interface Props {
  readonly bubble: BubbleData;
  readonly act: (act: BubbleAct) => void;
  readonly href?: string;
}

/** One subtask: running, then done or failed; open it for more. */
export function Bubble({ bubble, act, href }: Props) {
  const [open, setOpen] = useState(false);
  const { task, agent, state, why, health, doing, facts, done, of } = bubble;
  const run = health ? ({ state: 'open', paused: false, health } as const) : null;
  const look = lookOf({ state, run, waitingOn: null });
  const over = state === 'completed' || state === 'failed' || state === 'cancelled';
  return (
    <section class={`bubble tone-${look.tone}`} aria-label={`${task}: ${look.word}`}>
      <button type="button" class="bubble-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Shape shape={look.shape} />
        <span class="bubble-state">{look.word}</span>
        <span class="bubble-task">{task}</span>
        <span class="bubble-agent">{agent}</span>
        {of > 0 ? (
          <span class="bubble-agent">
            {done} of {of}
          </span>
        ) : null}
      </button>
      {!over && doing !== null ? <code class="bubble-doing">{doing}</code> : null}
      {open ? (
        <div class="bubble-more">
          {why === '' ? null : <p>{why}</p>}
          <p class="bubble-agent">{facts.join(' · ')}</p>
          <p class="bubble-acts">
            {href === undefined ? null : <a href={href}>Open</a>}
            {state === 'failed' || state === 'cancelled' ? (
              <button type="button" onClick={() => act('retry')}>
                Retry
              </button>
            ) : null}
            {over ? null : (
              <button type="button" onClick={() => act('cancel')}>
                Cancel
              </button>
            )}
          </p>
        </div>
      ) : null}
    </section>
  );
}
