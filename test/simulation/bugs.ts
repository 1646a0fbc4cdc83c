import { BUGS_OF_CALLS } from './bugs-calls.ts';
import { BUGS_OF_COMMAND } from './bugs-command.ts';
import { BUGS_OF_FILES } from './bugs-files.ts';
import { BUGS_OF_MOMENTS } from './bugs-moments.ts';
import { BUGS_OF_REVIEWS } from './bugs-reviews.ts';
import { BUGS_OF_ROOM } from './bugs-room.ts';
import { BUGS_OF_STEERING } from './bugs-steering.ts';
import { BUGS_OF_WORDS } from './bugs-words.ts';
import { BUGS_OF_WORK } from './bugs-work.ts';
import type { PlantedBug } from './planted-bug.ts';

/**
 * Mistakes somebody could make, each planted into the engine while it is loaded, for the simulation to find. They
 * check the checker: an invariant that finds none of them proves nothing.
 */
export const BUGS: readonly PlantedBug[] = [
  ...BUGS_OF_WORDS,
  ...BUGS_OF_WORK,
  ...BUGS_OF_FILES,
  ...BUGS_OF_STEERING,
  ...BUGS_OF_ROOM,
  ...BUGS_OF_COMMAND,
  ...BUGS_OF_CALLS,
  ...BUGS_OF_MOMENTS,
  ...BUGS_OF_REVIEWS,
];
