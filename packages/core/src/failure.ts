import {
  formatAgentType,
  optionsOf,
  type Request,
  type Run,
  type RunEnd,
  type Task,
} from '@reveille/protocol';
import type { Context } from './context.ts';
import { openRequest } from './requests.ts';
import type { Tx } from './tx.ts';

/** What the person is told of a failure that it alone can mend. */
const AFTER_LOGIN = ' When that is mended, "retry": it goes on with what is there.';

/** Of these the person is told by an item of their own kind. */
const OWN_ITEMS: ReadonlySet<string> = new Set(['escape', 'budget']);

/**
 * A failure that nobody's own child can decide about waits for a decision (INB1): of a plan's task, or of one that a
 * person gave. Its owner is asked first if it has a model, and told by the end itself; the person is next. An agent's
 * own child is its own business. A refused login is the person's to mend, so it asks the person at once, whoever the owner is.
 */
export async function askAboutFailure(
  tx: Tx,
  context: Context,
  task: Task,
  failed: { readonly run: Run | null; readonly end: RunEnd },
): Promise<Request['id'] | null> {
  const { run, end } = failed;
  if (!run || task.reviews || end.status !== 'failed' || OWN_ITEMS.has(end.error?.class ?? '')) return null;
  const owner = await tx.need('session', task.owner);
  // Only a person can log in, whoever's task it is.
  const toPerson = end.error?.class === 'auth';
  if (task.plan === null && owner.kind !== 'terminal' && !toPerson) return null;
  const why = end.error ? errorWords(end.error) : end.output;
  const { request } = await openRequest(tx, context, task, {
    kind: 'failure',
    run,
    text: `${formatAgentType(task.agent)} failed at "${task.name}", attempt ${task.attempts}: ${why.slice(0, 2_000)}${toPerson ? AFTER_LOGIN : ''}`,
    options: optionsOf('failure'),
    key: `failure:${run.id}`,
    toPerson,
    told: task.owner,
  });
  // An owner that the person decides over is told of the end, and of nothing that it could decide.
  return toPerson && owner.kind !== 'terminal' ? null : request.id;
}

/** Classes that tell a person nothing which the message does not. */
const PLAIN: ReadonlySet<string> = new Set(['unknown', 'invalid']);

const errorWords = ({ class: kind, message }: NonNullable<RunEnd['error']>): string =>
  PLAIN.has(kind) ? message : `${kind}: ${message}`;
