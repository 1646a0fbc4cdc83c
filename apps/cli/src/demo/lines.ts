import { withoutCause } from '@reveille/protocol';
import type { TaskState } from '@reveille/protocol';
import { pad, padStart } from '../view/columns.ts';
import { tellWakeUp } from '../view/frame.ts';
import { duration } from '../view/words.ts';
import type { Happening } from './probe.ts';

/** States that say nothing to a reader: the next one follows at once, or nothing happens for a while. */
const QUIET = new Set<TaskState>(['pending', 'ready']);

/** What happened, as one line of a log; null for what is not worth one. */
export function drawLine(happening: Happening, at: number): string | null {
  const line = (what: string, text: string): string =>
    `${padStart(duration(at), 7)}  ${pad(what, 9)}  ${text}`;
  switch (happening.type) {
    case 'task':
      if (QUIET.has(happening.state)) return null;
      return line(happening.state, `${happening.name}: ${withoutCause(happening.why)}`);
    case 'words':
      return line('says', `${happening.name}: ${happening.text}`);
    case 'wake-up':
      return line('wake-up', `${tellWakeUp(happening.wakeUp)}, ${happening.wakeUp.ms.toFixed(1)} ms`);
    default:
      return happening satisfies never;
  }
}
