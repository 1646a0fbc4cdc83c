import type { Plan, Pulled, TaskView } from '@reveille/protocol';
import { plural } from '../parts/amounts.ts';

/** What the daemon answered, in words. */
export const stateWords = ({ task: { name, state, why } }: TaskView): string =>
  `${name} is ${state}${why === '' ? '' : `: ${why}`}.`;

export const planWords = ({ name, state }: Plan): string => `${name} is ${state}.`;

export function pulledWords(pulled: Pulled): string {
  if (pulled.merged)
    return `Merged as ${pulled.commit.slice(0, 12)}: ${plural(pulled.files.length, 'file')}.`;
  throw new Error(
    `It conflicts with your checkout in ${pulled.conflicts.map(({ path }) => path).join(', ')}. Nothing was changed.`,
  );
}
