import type { ErrorClass } from '@reveille/protocol';
import { shownUrl, type Endpoint } from './endpoint.ts';

/** What went wrong with a call, and what is to be done about it. */
export interface Fault {
  readonly class: ErrorClass;
  readonly message: string;
  /** Whether the same call may go well a little later. */
  readonly transient: boolean;
  /** Whoever refused says when to come back. */
  readonly retryAfterMs: number | null;
  /** The conversation is too long for the model. */
  readonly tooLong: boolean;
  /** The answer was too large, and was dropped. */
  readonly oversized: boolean;
  /** Nobody answered, or not as a model does: the address may be wrong. */
  readonly unreachable: boolean;
}

/** An error that a fault has been made of. */
export class FaultError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

export const faulty = (errorClass: ErrorClass, message: string, also: Partial<Fault> = {}): FaultError =>
  new FaultError({
    class: errorClass,
    message,
    transient: false,
    retryAfterMs: null,
    tooLong: false,
    oversized: false,
    unreachable: false,
    ...also,
  });

/** The part of the SDK's error of a call that counts. Others have none of it. */
interface CallError {
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: unknown;
  readonly cause?: unknown;
}

const TOO_LONG =
  /prompt is too long|context.?(?:length|window)|maximum context|too many tokens|exceeds? the (?:maximum|context)|input is too long|request_too_large/i;
const NO_MONEY = /insufficient_quota|billing|credit balance|payment/i;
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A stream without an end, or of something else. One that was understood before was only cut. */
const NO_MODEL = /NoOutputGenerated|InvalidResponseData|TypeValidation|JSONParse/;

/** Errors of the SDK and of the network, by class. What a vendor said is part of the message; a key never is. */
export function faultOf(error: unknown, endpoint: Endpoint): Fault {
  if (error instanceof FaultError) return error.fault;
  const { statusCode, responseBody, responseHeaders } = callError(error);
  const status = typeof statusCode === 'number' ? statusCode : null;
  const said = scrub(wordsOf(error), endpoint);
  const about = `${said} ${typeof responseBody === 'string' ? responseBody : ''}`;
  const retryAfterMs = retryAfter(responseHeaders);
  if (status === null || status === 200) return withoutStatus(error, said, endpoint);
  return { ...byStatus(status, about, said, endpoint), retryAfterMs };
}

/** A stream that broke, an error in the middle of one, or nobody there. */
function withoutStatus(error: unknown, said: string, endpoint: Endpoint): Fault {
  if (/overloaded/i.test(said)) return faulty('overload', said, { transient: true }).fault;
  if (/rate.?limit/i.test(said)) return faulty('rate_limit', said, { transient: true }).fault;
  const name = error instanceof Error ? error.name : '';
  if (NO_MODEL.test(name)) {
    const words = `What answers at ${shownUrl(endpoint)} does not speak like ${endpoint.provider} (${said}). Set backends.builtin.baseUrl or provider.`;
    return faulty('network', words, { transient: true, unreachable: true }).fault;
  }
  const code = codeOf(error);
  if (code === null || !UNREACHABLE.has(code)) return faulty('network', said, { transient: true }).fault;
  const words = `Nobody answers at ${shownUrl(endpoint)} (${code}). Start it, or set backends.builtin.baseUrl.`;
  return faulty('network', words, { transient: true, unreachable: true }).fault;
}

function byStatus(status: number, about: string, said: string, endpoint: Endpoint): Fault {
  const { keyName, model } = endpoint;
  const url = shownUrl(endpoint);
  if (status === 401 || status === 403) {
    const key = keyName === null ? 'The request' : `The key in ${keyName}`;
    const words = `${key} was refused by ${url} (${status}: ${said}). Set a key that counts there and restart the daemon.`;
    return faulty('auth', words).fault;
  }
  if (status === 402 || (status === 429 && NO_MONEY.test(about)))
    return faulty('auth', `The account at ${url} has nothing left (${status}: ${said}).`).fault;
  if (status === 429) return faulty('rate_limit', `${url}: ${said}`, { transient: true }).fault;
  if ((status === 400 || status === 413) && TOO_LONG.test(about))
    return faulty('invalid', `The conversation is too long for ${model}: ${said}`, { tooLong: true }).fault;
  if (status === 404)
    return faulty(
      'invalid',
      `${url} has no model "${model}" (404: ${said}). Set backends.builtin.model, or baseUrl if the address is wrong.`,
    ).fault;
  if ([408, 409, 425].includes(status))
    return faulty('network', `${url} (${status}): ${said}`, { transient: true }).fault;
  if (status >= 500) return faulty('overload', `${url} (${status}): ${said}`, { transient: true }).fault;
  return faulty('invalid', `${url} refused the request (${status}): ${said}`).fault;
}

/** Whether there was somebody who refused. */
export const wasAnswered = (error: unknown): boolean => typeof callError(error).statusCode === 'number';

/** Whether a model may have worked on a call that broke off, or was given up, before a word of the answer came. */
export function mayHaveWorked(error: unknown, { class: kind }: Fault): boolean {
  return kind === 'network' && !wasAnswered(error) && !UNREACHABLE.has(codeOf(error) ?? '');
}

const callError = (error: unknown): CallError =>
  typeof error === 'object' && error !== null ? (error as CallError) : {};

function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (typeof error === 'string') return error;
  const { message } = callError(error);
  return typeof message === 'string' ? message : (JSON.stringify(error) ?? String(error));
}

const LONGEST = 1_000;

function scrub(words: string, endpoint: Endpoint): string {
  const key = endpoint.apiKey();
  const clean = key ? words.replaceAll(key, '[redacted]') : words;
  return clean.length > LONGEST ? `${clean.slice(0, LONGEST)}…` : clean;
}

/** Of the error itself or of what caused it, however deep. */
function codeOf(error: unknown): string | null {
  let at: unknown = error;
  for (let depth = 0; depth < 6 && typeof at === 'object' && at !== null; depth++) {
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === 'string') return code;
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return null;
}

function retryAfter(headers: CallError['responseHeaders']): number | null {
  const exact = Number(headers?.['retry-after-ms'] ?? NaN);
  if (exact >= 0) return exact;
  const said = headers?.['retry-after'];
  if (said === undefined) return null;
  const seconds = Number(said);
  if (seconds >= 0) return seconds * 1_000;
  const until = Date.parse(said) - Date.now();
  return Number.isNaN(until) ? null : Math.max(0, until);
}
