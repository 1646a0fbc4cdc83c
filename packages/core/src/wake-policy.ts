import type { Message, MessageKind, Session, SessionKind } from '@reveille/protocol';

/** What decides whether a letter wakes its recipient. */
export interface News {
  readonly kind: MessageKind;
  /** Somebody has to act on it: a failure, an error that was reported. */
  readonly urgent?: boolean | undefined;
  /** An end that frees or blocks other tasks, is the last of its plan, or is of a child of the recipient's own. */
  readonly moves?: boolean | undefined;
}

type Rule = boolean | ((news: News) => boolean);
type Policy = { readonly [K in MessageKind]: Rule };

/**
 * The one table of what wakes an orchestrator's model and what does not (ORC1). What does not is no less delivered: it
 * waits in the same mailbox and comes along with the next turn.
 */
const ORCHESTRATOR: Policy = {
  // Somebody cannot go on without it.
  question: true,
  approval_request: true,
  review: true,
  idle_response: true,
  // An error that is being tried again by itself is only told (HLT5).
  error: ({ urgent }) => urgent === true,
  end: ({ urgent, moves }) => urgent === true || moves === true,
  // Stuck, looping, failing again and again: nothing stops by itself.
  health: true,
  // What concerns itself.
  answer: true,
  changes: true,
  words: true,
  inquiry: true,
  resume: true,
  // Status.
  progress: false,
  info: false,
  warning: false,
  forecast: false,
};

/** Null: everything wakes it. A person's client is shown everything, and a worker is told what it asked for. */
const POLICIES: { readonly [K in SessionKind]: Policy | null } = {
  orchestrator: ORCHESTRATOR,
  worker: null,
  chat: null,
  terminal: null,
};

/** Whether a letter waits for another that wakes its recipient. */
export function isQuiet({ kind, task }: Pick<Session, 'kind' | 'task'>, news: News): boolean {
  // Advice that nobody has to act on wakes no session, whoever it is (PLN7).
  if (news.kind === 'forecast') return true;
  // Without a task it is somebody's client, not a model that is paid by the turn.
  const policy = task === null ? null : POLICIES[kind];
  if (!policy) return false;
  const rule = policy[news.kind];
  return !(typeof rule === 'boolean' ? rule : rule(news));
}

/** Whether there is anything among them to be woken for. */
export const wakes = (messages: readonly Message[]): boolean => messages.some(({ quiet }) => !quiet);
