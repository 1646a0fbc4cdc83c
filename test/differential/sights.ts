import { REPOSITORIES, RETRIES, RESOLVERS } from './case.ts';
import { COMMITS, SUBJECTS } from './edits.ts';

/** What is done with the work, and how it can end. */
const OPERATIONS = [
  'dependencies merged',
  'dependency left to the agent',
  'pull',
  'pull with a conflict',
  'integration',
  'integration with a check',
  'left out by the person',
  'stopped by the person',
  'discard and restore',
  'bring home',
  'bring home refused: conflict',
  'bring home refused: detached',
  'bring home refused: dirty',
  'bring home refused: filter',
  'bring home refused: sparse',
  ...RETRIES,
  'told: a name that is no text is not taken',
  'told: a name that is no text is not merged',
] as const;

/** Everything that a run of the suite is to have seen: kinds of edit count where the commands succeeded. */
export const SIGHTS: readonly string[] = [
  ...Object.values(SUBJECTS).flatMap((edits) => Object.keys(edits)),
  ...Object.keys(COMMITS),
  ...REPOSITORIES.map((kind) => `repository: ${kind}`),
  ...RESOLVERS.map(
    (kind) => `resolver ${kind}${kind === 'resolves properly' ? '' : ', which does not count'}`,
  ),
  ...OPERATIONS,
];
