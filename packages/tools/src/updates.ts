import type { Delivery } from '@reveille/protocol';
import { z } from 'zod';

/** A message as a tool hands it over: facts, and its words in full, fenced. */
export const Update = z.object({
  message: z.string(),
  kind: z.string(),
  taskId: z.string().nullable(),
  status: z.string().nullable().describe('For an end: success, partial, failed or cancelled.'),
  requestId: z.string().nullable().describe('What to answer, for a question or an approval request.'),
  text: z.string().describe('Who says what, fenced as data.'),
});

export const updateOf = ({ message, end, text }: Delivery): z.infer<typeof Update> => ({
  message: message.id,
  kind: message.kind,
  taskId: message.task,
  status: end?.status ?? null,
  requestId: message.request,
  text,
});

export const updatesText = (deliveries: readonly Delivery[]): string =>
  deliveries.map(({ text }) => text).join('\n\n');
