import { z } from 'zod';
import { MessageId, RequestId, RunId, SessionId, TaskId } from './ids.ts';

export const MESSAGE_KINDS = [
  'end',
  'question',
  'approval_request',
  'answer',
  'progress',
  'info',
  'error',
  'health',
  'inquiry',
  'idle_response',
  'words',
  'review',
  'changes',
  'resume',
  'warning',
  'forecast',
] as const;
export const MessageKind = z.enum(MESSAGE_KINDS);
export type MessageKind = z.infer<typeof MessageKind>;

/** Only these may be folded when a mailbox is full (MBX4). */
export const INFORMATIONAL: ReadonlySet<MessageKind> = new Set(['progress', 'info', 'forecast']);

export const Sender = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('task'), task: TaskId, agent: z.string() }),
  z.object({ kind: z.literal('session'), session: SessionId, name: z.string() }),
  z.object({ kind: z.literal('person'), name: z.string() }),
  z.object({ kind: z.literal('harness') }),
]);
export type Sender = z.infer<typeof Sender>;

/** Who took a message, before it was handed over: a turn, a call, or an attached receiver. */
export const Taken = z.object({
  by: z.enum(['turn', 'call', 'receiver']),
  id: z.string(),
  run: RunId.nullable(),
  epoch: z.number().int(),
  at: z.number(),
});
export type Taken = z.infer<typeof Taken>;

/**
 * queued → delivered → read, or dead (MBX3). An end carries no copy of the result: it names the run, whose
 * end never changes.
 */
export const Message = z.object({
  id: MessageId,
  to: SessionId,
  number: z.number().int(),
  /** A second message with the same key to the same session can not exist. */
  key: z.string(),
  kind: MessageKind,
  from: Sender,
  task: TaskId.nullable(),
  run: RunId.nullable(),
  request: RequestId.nullable(),
  text: z.string(),
  /** Failures and questions come first in a turn (WAK2). */
  urgent: z.boolean(),
  /** It wakes nobody: it comes along with what does; see core's wake policy. */
  quiet: z.boolean().optional(),
  state: z.enum(['queued', 'delivered', 'read', 'dead']),
  taken: Taken.nullable(),
  /** How often it was handed over before, without proof that it arrived. */
  maybeSeen: z.number().int(),
  dead: z.string().nullable(),
  at: z.number(),
});
export type Message = z.infer<typeof Message>;
