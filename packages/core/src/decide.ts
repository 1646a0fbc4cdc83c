import { ReveilleError, isStoreError, type RunId, type TaskId } from '@reveille/protocol';
import { collectLeft } from './checkouts.ts';
import type { Context } from './context.ts';
import { tellFindings } from './findings.ts';
import type { Standing } from './gate.ts';
import { derivePlans } from './plan-status.ts';
import type { Findings, Left } from './ports/workspaces.ts';
import { hearVerdicts } from './review.ts';
import { NotCollected, Tx } from './tx.ts';

const MAX_TRIES = 100;
const FIRST: Standing = {};

/**
 * The only way anything changes. `decision` reads through the transaction and puts what it wants; the store
 * commits all of it or, if a row it read has changed, none, and it is made again. It may run several times
 * and so must do nothing but read and put.
 *
 * Decisions of one engine are made one at a time: on a store that reads its own writes the next one sees this
 * one before it is on disk, so a thousand spawns of one parent share a commit without a single conflict. Nobody
 * is told or woken before the commit.
 *
 * A decision that ends a run says so by asking what the run left. The first time nobody knows: the leftovers are
 * collected, and the decision is made again with them, so that every end says what was left, whatever ended it.
 */
export async function decide<T>(
  context: Context,
  decision: (tx: Tx) => Promise<T>,
  standing: Standing = FIRST,
): Promise<T> {
  const left = new Map<RunId, Left>();
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const undone = context.store.undone();
    const made = await make(context, decision, standing, left);
    if (made === 'stale') continue;
    if (made instanceof NotCollected) {
      // Nobody waits at the gate meanwhile. There is one for every run it ends, so this is no contention.
      left.set(made.run, await collectLeft(context, made.run));
      tries--;
      continue;
    }
    if (!made.committing) {
      // What it saw may not be on disk yet, and its answer may go outside.
      await context.store.barrier();
      if (context.store.undone() !== undone) continue;
    } else {
      const outcome = await made.committing;
      if (!outcome.committed) continue;
      context.wake(made.tx.wakes);
    }
    for (const [run, { findings }] of left) if (!made.tx.judges(run)) void tellLate(context, run, findings);
    return made.value;
  }
  throw new ReveilleError(
    'contention',
    `Gave up after ${MAX_TRIES} tries: others kept changing the same rows. Try again.`,
  );
}

/** What a look found and no change took into account, because others had ended the run by then: it is told all the same (BND3). */
export async function tellLate(context: Context, run: RunId, findings: Findings): Promise<void> {
  if (findings.escapes.length + findings.conflicts.length === 0) return;
  try {
    await decide(context, async (tx) => {
      const row = await tx.need('run', run);
      // That one who goes on got out is told with its end.
      const told = row.state === 'ended' ? findings : { ...findings, escapes: [] };
      await tellFindings(tx, context, await tx.need('task', row.task), row, told);
    });
  } catch (error) {
    const { retries, log } = context;
    log?.(isStoreError(error) ? 'warn' : 'error', 'what was found is told later', {
      run,
      error: String(error),
    });
    retries.later(() => void tellLate(context, run, findings));
  }
}

async function make<T>(
  context: Context,
  decision: (tx: Tx) => Promise<T>,
  standing: Standing,
  left: ReadonlyMap<RunId, Left>,
) {
  const entering = context.gate.enter(standing);
  if (entering) await entering;
  const tx = new Tx(context.store, context.clock.now(), context.workspaces ? left : null);
  try {
    const value = await decision(tx);
    if (!tx.dirty) return { tx, value, committing: null };
    if (tx.reviewersDone.length > 0) await hearVerdicts(tx, context);
    if (tx.movesPlans) await derivePlans(tx);
    const committing = context.store.commit(tx.change());
    if (context.store.readsOwnWrites) return { tx, value, committing };
    return { tx, value, committing: Promise.resolve(await committing) };
  } catch (error) {
    if (error instanceof NotCollected) return error;
    // On a store that others write to, it may have refused what never was: rows of different moments.
    if (!context.store.readsOwnWrites && !isStoreError(error) && (await tx.isStale())) return 'stale';
    throw error;
  } finally {
    context.gate.leave();
  }
}

/** Where a decision about a task stands at the gate: among those for the other tasks of its owner. */
export function standingOf(
  { store }: Context,
  task: TaskId | undefined,
  lane: NonNullable<Standing['lane']>,
): Standing {
  const owner = task && store.atHand?.('task', task)?.doc.owner;
  return owner ? { lane, crowd: owner } : { lane };
}
