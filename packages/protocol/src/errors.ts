/**
 * The one error class. A code is part of the contract: doors translate it with this table and
 * nothing else decides on a message's words.
 */
export const ERRORS = {
  invalid_input: {
    http: 400,
    exit: 2,
    means: 'The input is not what the operation takes; `data.problems` says where.',
  },
  unauthorized: {
    http: 401,
    exit: 4,
    means: 'The credential of the connection is missing, wrong, or no longer counts.',
  },
  not_found: { http: 404, exit: 3, means: 'Nothing has this id.' },
  not_allowed: { http: 403, exit: 4, means: 'The caller may not do this to that.' },
  wrong_state: { http: 409, exit: 5, means: 'The thing is not in a state in which this can be done.' },
  unknown_agent: {
    http: 400,
    exit: 2,
    means: 'No agent or backend of that name; `data.known` lists what exists, nearest first.',
  },
  limit_reached: {
    http: 429,
    exit: 6,
    means: 'A limit forbids it; `data.limit` and `data.value` say which and how far.',
  },
  budget_exhausted: { http: 429, exit: 6, means: 'The budget of this task, or one above it, is used up.' },
  stale_caller: {
    http: 401,
    exit: 4,
    means: 'The caller’s run has ended or went on under a newer lease; its words no longer count.',
  },
  open_children: {
    http: 409,
    exit: 5,
    means: 'Children are still open; wait for them, cancel them, or give them up.',
  },
  unread_ends: {
    http: 409,
    exit: 5,
    means: 'Ends of children have not been read; they come with this error, or came just now.',
  },
  already_answered: { http: 409, exit: 5, means: 'The request has been answered or is closed.' },
  too_large: { http: 413, exit: 2, means: 'The request is larger than the operation takes.' },
  version_mismatch: {
    http: 426,
    exit: 1,
    means: 'The client and the daemon are of versions that do not understand each other.',
  },
  unreachable: {
    http: 503,
    exit: 7,
    means:
      'The daemon cannot be reached, or went away during the call; then nobody knows whether it happened.',
  },
  aborted: { http: 499, exit: 130, means: 'The caller gave the call up.' },
  stopping: { http: 503, exit: 7, means: 'The engine is stopping; the call may be made again later.' },
  contention: {
    http: 503,
    exit: 7,
    means: 'Others kept changing the same rows; the call may be made again.',
  },
  store_failed: { http: 503, exit: 8, means: 'The database refused or failed; nothing was changed.' },
  store_full: {
    http: 507,
    exit: 8,
    means: 'The disk is full; nothing was changed. Free space and try again.',
  },
  store_locked: { http: 503, exit: 8, means: 'Another engine owns this database.' },
  store_corrupt: { http: 500, exit: 8, means: 'The database file is damaged or is not a database.' },
  store_newer: { http: 500, exit: 8, means: 'A newer version of Reveille wrote this database.' },
  workspace_failed: {
    http: 500,
    exit: 9,
    means: 'A worktree could not be made or read; the message says why. Nothing was lost.',
  },
  not_a_repository: { http: 400, exit: 2, means: 'The folder is no git repository that tasks can work on.' },
  dirty_checkout: {
    http: 409,
    exit: 5,
    means: 'The person’s checkout has uncommitted changes; `data.files` names them.',
  },
  merge_conflict: {
    http: 409,
    exit: 5,
    means: 'The changes conflict; `data.files` names where. Nothing was changed.',
  },
  git_too_old: { http: 500, exit: 1, means: 'Git is missing or too old.' },
  sandbox_missing: { http: 500, exit: 9, means: 'The settings demand a sandbox, and this system has none.' },
  node_too_old: { http: 500, exit: 1, means: 'Node.js is too old.' },
  internal: { http: 500, exit: 1, means: 'A defect of Reveille.' },
} as const satisfies Record<string, { http: number; exit: number; means: string }>;

export type ErrorCode = keyof typeof ERRORS;

export class ReveilleError extends Error {
  override readonly name = 'ReveilleError';
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { data?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.data = options.data ?? {};
  }
}

export function isReveilleError(value: unknown, code?: ErrorCode): value is ReveilleError {
  return value instanceof ReveilleError && (code === undefined || value.code === code);
}

/** Errors of the store that say "later, perhaps": an intent of the engine is kept and tried again. */
export function isStoreError(value: unknown): value is ReveilleError {
  return value instanceof ReveilleError && (value.code.startsWith('store_') || value.code === 'contention');
}

/** What the system says when it has no room on a disk, or for another file, process or page of memory. */
const SCARCE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

/** Whether an error came about because the machine lacked something. It may have it again without anybody's decision. */
export function isScarce(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isReveilleError(error)) return error.data['scarce'] === true || error.code === 'store_full';
  return 'code' in error && SCARCE.has(error.code);
}
