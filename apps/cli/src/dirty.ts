import {
  DIRTY_POLICIES,
  DirtyPolicy,
  isReveilleError,
  uncommittedWords,
  type ReveilleError,
} from '@reveille/protocol';
import { ask } from './ask.ts';
import type { Call } from './command/spec.ts';
import { say } from './say.ts';
import { UsageError } from './usage.ts';

/** The option of every command that starts work in the checkout (WKT3). */
export const DIRTY = {
  type: 'string',
  value: DIRTY_POLICIES.toReversed().join('|'),
  means: 'uncommitted changes of yours: part of what it starts from, left out, or a reason not to start',
} as const;

/** The exit code where a person left before anything was started. */
export const LEFT = 130;

export interface DirtyChoice {
  readonly dirty?: DirtyPolicy;
}

const CHOICES = [
  { id: 'head', label: 'start from the last commit, without them' },
  { id: 'snapshot', label: 'start from a snapshot with them; your files stay as they are' },
  { id: 'fail', label: 'start nothing' },
] as const satisfies readonly { id: DirtyPolicy; label: string }[];

/**
 * Starts work. Where it is refused because of uncommitted changes, and a person sits at the terminal who has not said what
 * to do with them, they are asked and it is started as they choose. Null: they left, and nothing was started.
 */
export async function startAsWished<T>(
  call: Call,
  given: string | undefined,
  start: (choice: DirtyChoice) => Promise<T>,
): Promise<T | null> {
  const wish = choiceIn(given, call.command);
  try {
    return await start(wish);
  } catch (error) {
    const asks = call.io.in.isTTY === true && call.io.out.isTTY === true && !call.options.json;
    if (!isReveilleError(error, 'dirty_checkout') || wish.dirty !== undefined || !asks) throw error;
    const dirty = await putTo(call, error);
    if (dirty === 'fail') throw error;
    if (dirty !== null) return start({ dirty });
    say(call.io.err, 'Nothing was started.');
    return null;
  }
}

function choiceIn(given: string | undefined, command: string): DirtyChoice {
  if (given === undefined) return {};
  const dirty = DirtyPolicy.safeParse(given);
  if (dirty.success) return { dirty: dirty.data };
  throw new UsageError(`--dirty takes head, snapshot or fail, not "${given.slice(0, 40)}".`, command);
}

/** Asks until the answer is one of the choices, by its number, its id or its label (INB3). */
async function putTo({ io }: Call, { data }: ReveilleError): Promise<DirtyPolicy | null> {
  const files = Array.isArray(data['files']) ? data['files'].map(String) : [];
  say(io.out, `You have ${uncommittedWords(files, Number(data['count']))}. Choose what becomes of them:`);
  for (const [i, { id, label }] of CHOICES.entries()) say(io.out, `  ${i + 1}  ${label} (--dirty ${id})`);
  for (;;) {
    const answer = await ask(io, 'Which? [3] ', NEVER);
    if (answer === null || answer === undefined) return null;
    const text = answer.trim().toLowerCase() || '3';
    const chosen = CHOICES.find(({ id, label }, i) => [`${i + 1}`, id, label].includes(text));
    if (chosen) return chosen.id;
    say(io.out, 'Answer 1, 2 or 3.');
  }
}

/** The question is answered here or not at all. */
const NEVER = new AbortController().signal;
