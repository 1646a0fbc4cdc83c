import type { Answer, Conversation } from '../conversation.ts';
import type { Fields } from '../json.ts';
import type { Played } from '../play.ts';

export type Refused = Exclude<Extract<Played, { kind: 'failure' }>['failure'], 'network' | 'hang'>;

/** What a dialect says a failure with. */
export interface Refusal {
  readonly status: number;
  readonly body: unknown;
}

/** How one vendor's clients speak with its models. */
export interface Dialect {
  readonly name: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini';
  read(body: Fields, path: string): Conversation;
  /** The answer in one piece. */
  whole(answer: Answer, asked: Conversation): unknown;
  /** The answer as the pieces of a stream. */
  pieces(answer: Answer, asked: Conversation): Iterable<string>;
  refuse(failure: Refused, asked: Conversation): Refusal;
}

export const STATUS: { readonly [F in Refused]: number } = {
  rate_limit: 429,
  overload: 529,
  server: 500,
  auth: 401,
  unknown_model: 404,
  context_too_long: 400,
};

export const eventOf = (type: string, data: unknown): string =>
  `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
export const dataOf = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
