import {
  ReveilleError,
  formatAgentType,
  isReveilleError,
  optionsOf,
  visible,
  type Action,
  type Caller,
  type Chosen,
  type PolicyLayer,
  type Request,
  type RequestId,
  type Run,
  type Task,
} from '@reveille/protocol';
import { askFor, waitForAnswer, type Asking } from './approval.ts';
import { checkCaller, sessionOf } from './authority.ts';
import { decide } from './decide.ts';
import { enqueue } from './mailbox.ts';
import { judgeTask, mayAllow } from './policy-chain.ts';
import type { Judged } from './policy.ts';
import type { Tx } from './tx.ts';
import type { Context } from './context.ts';

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;

export interface PermitOptions {
  readonly signal: AbortSignal;
  /** How long is waited for an answer; null: until there is one. */
  readonly patienceMs?: number | null;
  /** What holds besides, for this backend. */
  readonly also?: readonly PolicyLayer[];
}

/** Whether it may be done. `request`: somebody has been asked, and has not answered yet. */
export type Permit =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly why: string; readonly request?: RequestId };

/**
 * The one way by which an agent gets leave for what it wants to do, whatever it runs on: the policy decides, or somebody
 * is asked. A yes is for exactly that action, in that run, once: it is written down with the answer and taken away in
 * the change that uses it, so two calls cannot both have it, and what differs in one byte asks anew.
 */
export class Permits {
  /** The same wish twice at once: the second waits for the first and then asks for itself. */
  readonly #wishes = new Map<string, Promise<unknown>>();
  readonly #room: Asking;

  constructor(room: Asking) {
    this.#room = room;
  }

  /** What the policy says, without asking anybody. */
  async judge(caller: WorkerCaller, action: Action, also: readonly PolicyLayer[] = []): Promise<Judged> {
    const { context } = this.#room;
    const run = (await context.store.get('run', caller.run))?.doc;
    const task = run && (await context.store.get('task', run.task))?.doc;
    if (!task) return { verdict: 'deny', why: `there is no run ${caller.run}` };
    return judgeWith(context, task, run, action, also);
  }

  async permit(caller: WorkerCaller, action: Action, options: PermitOptions): Promise<Permit> {
    const { verdict, why } = await this.judge(caller, action, options.also);
    if (verdict === 'auto') return { allowed: true };
    if (verdict === 'deny') return { allowed: false, why: deniedBy(why) };
    const key = `${caller.run}/${action.digest}`;
    const before = this.#wishes.get(key) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(() => this.#ask(caller, action, options));
    this.#wishes.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#wishes.get(key) === mine) this.#wishes.delete(key);
    }
  }

  async #ask(caller: WorkerCaller, action: Action, options: PermitOptions): Promise<Permit> {
    const { context } = this.#room;
    const asked = await decide(context, (tx) => this.#open(tx, caller, action, options.also ?? [])).catch(
      refusal,
    );
    if ('allowed' in asked) return asked;
    const { signal, patienceMs = null } = options;
    const answer = await waitForAnswer(this.#room, caller, asked.request, { signal, patienceMs });
    if (answer === null) return { allowed: false, why: WAITS, request: asked.request };
    const used = await decide(context, async (tx) => {
      await checkCaller(tx, caller);
      return use(tx, await tx.need('run', caller.run), action.digest);
    });
    return used ? { allowed: true } : { allowed: false, why: `It was not allowed: ${answer}` };
  }

  async #open(
    tx: Tx,
    caller: WorkerCaller,
    action: Action,
    also: readonly PolicyLayer[],
  ): Promise<Permit | { readonly request: RequestId }> {
    const { context } = this.#room;
    await checkCaller(tx, caller);
    const run = await tx.need('run', caller.run);
    const task = await tx.need('task', run.task);
    const judged = judgeWith(context, task, run, action, also);
    if (judged.verdict === 'deny') return { allowed: false, why: deniedBy(judged.why) };
    if (judged.verdict === 'auto' || use(tx, run, action.digest)) return { allowed: true };
    if (sizeOf(action) > LARGEST) return { allowed: false, why: tooLarge(action) };
    const request = await askFor(tx, context, task, {
      kind: 'approval',
      run,
      text: wordsOf(task, action, judged),
      options: optionsOf('approval'),
      key: `permit:${run.id}:${action.digest}`,
      action,
    });
    await tellChat(tx, context, task, request);
    return { request };
  }
}

/** A person who sits in a chat should not have to wonder why nothing happens. An agent's turn is not spent on it. */
async function tellChat(tx: Tx, context: Context, task: Task, id: RequestId): Promise<void> {
  const owner = await tx.need('session', task.owner);
  const request = await tx.need('request', id);
  if (owner.kind !== 'chat' || request.with === owner.id) return;
  await enqueue(tx, context, {
    to: owner.id,
    key: `waits:${id}`,
    kind: 'info',
    from: { kind: 'harness' },
    task: task.id,
    text: `"${task.name}" waits for the person to agree: reveille inbox ${id}. There is nothing for you to answer.\n${request.text}`,
  });
}

/** Nobody reads more than this before saying yes, and what is asked is kept (BND7). */
const LARGEST = 65_536;

const sizeOf = ({ command, paths, detail }: Action): number =>
  [command ?? '', detail, ...paths].reduce((sum, text) => sum + text.length, 0);

const tooLarge = (action: Action): string =>
  `It needs approval, and its ${sizeOf(action)} characters are too many to be read: at most ${LARGEST} can be asked about. Write what it needs into files of the worktree, and name these.`;

/** A request that is not taken is a refusal, in words for the agent. */
function refusal(error: unknown): Permit {
  if (isReveilleError(error, 'limit_reached')) return { allowed: false, why: error.message };
  throw error;
}

const WAITS =
  'It needs leave, which was asked for and not given yet. Do something else; when you are told that it was approved, make exactly the same call again.';

const deniedBy = (why: string): string =>
  `It is not allowed here, by ${why}. Find another way, or ask your parent.`;

function judgeWith(
  context: Context,
  task: Task,
  run: Run,
  action: Action,
  also: readonly PolicyLayer[],
): Judged {
  const chain = also.length > 0 ? [{ agent: task.agent, layers: [...also] }] : [];
  return judgeTask(context, task, run, action, chain);
}

/** Takes a leave away as it is used. */
function use(tx: Tx, run: Run, digest: string): boolean {
  const grants = run.grants ?? [];
  if (!grants.includes(digest)) return false;
  tx.put('run', { ...run, grants: grants.filter((other) => other !== digest) });
  return true;
}

/** Before an answer to a bound request counts: whoever approves must be able to do it without asking. */
export async function checkAnswer(
  tx: Tx,
  context: Context,
  caller: Caller,
  { action }: Request,
  chosen: Chosen | null,
): Promise<void> {
  if (!action || chosen?.id !== 'approve') return;
  const session = sessionOf(caller);
  if (session === null || (await mayAllow(tx, context, await tx.need('session', session), action))) return;
  throw new ReveilleError(
    'not_allowed',
    'You would have to ask for this yourself, so you cannot allow it. Deny it, or leave it: it is passed on.',
  );
}

/** A yes becomes a leave that can be used once. */
export async function grant(tx: Tx, { action, run: id }: Request, chosen: Chosen | null): Promise<void> {
  if (!action || id === null || chosen?.id !== 'approve') return;
  const run = await tx.need('run', id);
  if (run.state === 'open') tx.put('run', { ...run, grants: [...(run.grants ?? []), action.digest] });
}

const SHOWN = 4_000;

/** What exactly, where, who, and why it is asked: to be judged without looking anywhere else. */
function wordsOf(task: Task, action: Action, { why }: Judged): string {
  const { tool, kind, command, paths, where, detail, files = [], unknownFiles = [] } = action;
  const what = command === null ? `use ${tool}${kind === 'other' ? '' : ` (${kind})`}` : 'run a command';
  const lines = [
    `${formatAgentType(task.agent)} wants to ${what}${where === null ? '' : ` in ${where}`}${command === null && paths.length === 0 ? '.' : ':'}`,
    ...(command === null ? [] : [indented(command)]),
    ...paths.slice(0, 50).map(indented),
    ...(detail === '' ? [] : [indented(detail)]),
    ...files.map(fileWords),
    ...(unknownFiles.length === 0 ? [] : [unknownWords(unknownFiles)]),
    `It works on "${task.name}" (${task.id}). Asked because of ${why}.`,
  ];
  return visible(lines.join('\n'));
}

const unknownWords = (names: readonly string[]): string =>
  `Files that these words stand for are not shown, and may change after you approve:\n${names.map(indented).join('\n')}`;

/** A file that the command names, with what it held when this was asked: the yes is for that. */
function fileWords({ path, size, sha256, text, cut }: NonNullable<Action['files']>[number]): string {
  const named = `${path}, ${size} bytes, sha256 ${sha256}`;
  if (text === null) return `${named}, no text`;
  if (text === '') return `${named}${cut ? ', not shown' : ', empty'}`;
  return `${named}, ${cut ? `its first ${text.length} characters:` : 'all of it:'}\n${indented(text)}`;
}

function indented(text: string): string {
  const shown =
    text.length > SHOWN
      ? `${text.slice(0, SHOWN)}\n… ${text.length - SHOWN} characters more, which \`reveille inbox <request>\` shows`
      : text;
  return shown.replaceAll(/^/gm, '    ');
}
