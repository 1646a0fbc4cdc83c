import {
  ReveilleError,
  uncommittedWords,
  type Caller,
  type CheckoutStart,
  type DirtyPolicy,
} from '@reveille/protocol';
import { sessionOf } from './authority.ts';
import type { Context } from './context.ts';
import type { Inspection } from './ports/workspaces.ts';

interface NewWork {
  readonly repository: string | null;
  /** What the call says; undefined: nothing. */
  readonly dirty: DirtyPolicy | undefined;
}

export interface StartDecision {
  /** Absent: nothing was looked at, because there is no checkout to start from. */
  readonly startsFrom?: CheckoutStart;
  /** What whoever starts the work should know; null: nothing is uncommitted. */
  readonly note: string | null;
}

/**
 * Decides what becomes of the person's uncommitted changes, before anything is created (WKT3). Work of a worker starts as the
 * worker's own task did, so no agent decides about the person's files. A chat has no terminal to ask in: its work
 * starts from a snapshot, which the note says.
 */
export async function decideStart(
  { store, workspaces }: Pick<Context, 'store' | 'workspaces'>,
  caller: Caller,
  { repository, dirty }: NewWork,
): Promise<StartDecision> {
  if (caller.kind === 'worker') {
    if (dirty !== undefined) throw notYours();
    const run = (await store.get('run', caller.run))?.doc;
    const task = run && (await store.get('task', run.task))?.doc;
    const plan = task?.plan ? (await store.get('plan', task.plan))?.doc : undefined;
    const startsFrom = task?.startsFrom ?? plan?.startsFrom;
    return { ...(startsFrom ? { startsFrom } : {}), note: null };
  }
  if (!workspaces || repository === null) return { note: null };
  const id = sessionOf(caller);
  const isChat = id !== null && (await store.get('session', id))?.doc.kind === 'chat';
  const wish = { wanted: dirty ?? null, otherwise: isChat ? 'snapshot' : 'fail' } as const;
  const found = await workspaces.inspect(repository, wish);
  return { startsFrom: found.start, note: noteOn(found) };
}

function noteOn({ start, files, count }: Inspection): string | null {
  if (count === 0) return null;
  const are = `${uncommittedWords(files, count)} ${count === 1 ? 'is' : 'are'}`;
  return start.snapshot === null
    ? `${are} left out: it starts from the last commit.`
    : `${are} part of what it starts from.`;
}

const notYours = (): ReveilleError =>
  new ReveilleError(
    'not_allowed',
    'Only a person or their chat decides about uncommitted changes in their checkout: leave `dirty` out.',
  );
