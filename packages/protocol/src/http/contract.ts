import { z } from 'zod';
import { LENGTHS, RepositoryPath } from '../plan.ts';
import { Session, SessionKind } from '../session.ts';
import { SessionId } from '../ids.ts';

/** Raised when a client of one number could misunderstand a daemon of another. */
export const HTTP_PROTOCOL = 1;
/** Says which protocol the sender speaks; a request without it is taken as it is. */
export const PROTOCOL_HEADER = 'reveille-protocol';

interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** Every route there is; each wants a credential, and `AUTHORITY` says whose. No GET changes anything. */
export const HTTP_ROUTES = {
  health: { method: 'GET', path: '/v1/health' },
  operation: { method: 'POST', path: '/v1/op/:operation' },
  events: { method: 'GET', path: '/v1/events' },
  attach: { method: 'POST', path: '/v1/attach' },
  receipt: { method: 'POST', path: '/v1/attach/:attachment/receipt' },
  detach: { method: 'POST', path: '/v1/attach/:attachment/close' },
  grant: { method: 'POST', path: '/v1/sessions' },
  rotate: { method: 'POST', path: '/v1/rotate' },
  stop: { method: 'POST', path: '/v1/stop' },
  ticket: { method: 'POST', path: '/v1/tickets' },
  view: { method: 'POST', path: '/v1/view/:view' },
} as const satisfies Record<string, Route>;

/** What every answer is, whatever its status: a call that waits has sent its status before it knows. */
export const Answer = z.union([
  z.object({ error: z.object({ code: z.string(), message: z.string(), data: z.unknown() }) }),
  z.object({ value: z.unknown() }),
]);

export const Health = z.object({
  protocol: z.number(),
  version: z.string(),
  pid: z.number().int(),
  state: z.enum(['running', 'stopping']),
  startedAt: z.number(),
  lastEvent: z.number().int(),
  /** What a person should know before they start work here, such as that there is no sandbox. */
  warnings: z.array(z.string()).optional(),
});
export type Health = z.infer<typeof Health>;

/** A lasting session for a person's client: a new one, or one that lost its credential. */
export const GrantInput = z.union([
  z.strictObject({ session: SessionId }),
  z.strictObject({
    kind: SessionKind.exclude(['worker']).default('chat'),
    name: z.string().trim().min(1).max(LENGTHS.name),
    repository: RepositoryPath.optional(),
  }),
]);
export type GrantInput = z.input<typeof GrantInput>;

/** Whoever comes with the credential is the session, whichever process it is and however often the daemon was restarted. */
export const Grant = z.object({ session: Session, credential: z.string() });
export type Grant = z.infer<typeof Grant>;

export const ReceiptInput = z.strictObject({ batch: z.number().int().min(1), received: z.boolean() });

/** Names of the events that a stream can have; an unnamed one holds a batch of what the stream is about. */
export const STREAM = { attached: 'attached', superseded: 'superseded', stopping: 'stopping' } as const;
