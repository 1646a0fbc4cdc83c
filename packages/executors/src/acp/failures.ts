import { isReveilleError, isScarce, type ErrorClass } from '@reveille/protocol';
import { endOf } from './lines.ts';
import type { Preset } from './presets.ts';
import type { Exit } from './process.ts';
import { brief, fieldsOf, textOf } from './shapes.ts';

/** How an agent failed, in words that say what to do about it. */
export interface Failure {
  readonly class: ErrorClass;
  readonly message: string;
  readonly scarce?: boolean;
}

/** Why an agent could not be started, or ended: what is told of it. */
export class Failed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

const AUTH_REQUIRED = -32_000;
const WORDS = 600;

/**
 * What an error is about, by the words of it: agents pass on what their model's endpoint said. The first that fits
 * counts: a quota is worded as a refusal of access by some, and a refused connection by none.
 */
const CLASSES: readonly (readonly [ErrorClass, RegExp])[] = [
  ['rate_limit', /\b429\b|rate.?limit|too many requests|quota|resource.?exhausted/i],
  ['overload', /\b(?:529|50[0234])\b|overloaded|over capacity|service unavailable|internal server error/i],
  [
    'network',
    /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|fetch failed|socket hang up|connection (?:error|refused|reset)|stream disconnected|network error|could not connect|cannot connect|unable to connect|error sending request/i,
  ],
  [
    'auth',
    /\b40[13]\b|unauthori[sz]ed|forbidden|api.?key|not (?:logged|signed) in|log ?in|sign ?in|authenticat|credential/i,
  ],
  ['refusal', /refus|content.?(?:policy|filter)|safety/i],
  [
    'invalid',
    /\b400\b|context.?(?:length|window)|too long|maximum.{0,20}tokens|model.{0,40}not (?:found|supported)/i,
  ],
];

export function classOf(text: string): ErrorClass {
  return CLASSES.find(([, words]) => words.test(text))?.[0] ?? 'unknown';
}

/** An answer to one of our requests that is an error. */
export function requestFailed(preset: Preset, doing: string, error: unknown): Failure {
  const { code, data } = fieldsOf(error);
  const said = error instanceof Error ? error.message : textOf(fieldsOf(error)['message']);
  const details = data === undefined || data === null ? '' : ` (${brief(data, WORDS)})`;
  const words = `${said || String(error)}${details}`.slice(0, WORDS * 2);
  // Some pass the status of their model's endpoint on as the code of the error.
  const found = code === AUTH_REQUIRED ? 'auth' : classOf(isStatus(code) ? `${code} ${words}` : words);
  return { class: found, message: `${preset.title} failed ${doing}: ${words}${fixFor(found, preset)}` };
}

const isStatus = (code: unknown): code is number => typeof code === 'number' && code >= 400 && code < 600;

/** A turn that ended well in which the agent only said that its model failed; null: it said something else. */
export function failureInWords(preset: Preset, words: string): Failure | null {
  const said = preset.quirks.failsInWords?.exec(words)?.[0];
  const found = said === undefined ? 'unknown' : classOf(said);
  if (said === undefined || found === 'unknown') return null;
  return {
    class: found,
    message: `${preset.title} failed in its turn: ${said.slice(0, WORDS)}${fixFor(found, preset)}`,
  };
}

function fixFor(found: ErrorClass, preset: Preset): string {
  if (found === 'auth') return `. It is not logged in, or its key is wrong: ${preset.login}.`;
  if (found === 'network')
    return '. Its model cannot be reached: look at the address of its endpoint, and at sandbox.network.';
  return '';
}

/** It did not answer in time. */
export function hangs(preset: Preset, doing: string, ms: number, errors: string): Failure {
  return {
    class: 'unresponsive',
    message: `${preset.title} did not answer within ${Math.round(ms / 1000)} s ${doing}${lastWords(errors)}. Start it by hand to see what it waits for; ${preset.login}.`,
  };
}

/** It speaks another version of the protocol. */
export const tooOld = (preset: Preset, version: string): Failure => ({
  class: 'invalid',
  message: `${preset.title} ${version}speaks another version of the Agent Client Protocol. Bring it up to date: ${preset.install}.`,
});

export const missing = (preset: Preset): Failure => ({
  class: 'invalid',
  message: `${preset.title} is not installed: there is no ${preset.programs.join(' or ')} on the PATH. To install it: ${preset.install}.`,
});

/**
 * Its process is gone, and nobody had asked it to go. Before it was ready, a second try would end the same way, unless a
 * signal ended it: that came from outside, so it is tried again.
 */
export function exitFailure(preset: Preset, exit: Exit, errors: string, ready: boolean): Failure {
  const how = exitWords(exit);
  if (isScarce(exit.error)) return noRoom(preset.title, how);
  const gone = exit.error?.code === 'ENOENT' || exit.code === 127;
  if (!ready && gone) return { class: 'invalid', message: `${missing(preset).message}${lastWords(errors)}` };
  const message = `${preset.title} ${ready ? 'is gone' : 'ended while it was being started'} (${how})${lastWords(errors)}`;
  if (ready || exit.signal !== null) return { class: 'crash', message };
  const found = classOf(errors);
  if (found === 'auth')
    return { class: 'auth', message: `${message}. Its login is missing: ${preset.login}.` };
  return {
    class: 'invalid',
    message: `${message}. If it is too old to speak the Agent Client Protocol, bring it up to date: ${preset.install}.`,
  };
}

/** The machine had no room for its process. */
export const noRoom = (title: string, how: string): Failure => ({
  class: 'workspace',
  message: `${title} was not started, because the system has no room for another file, process or page of memory (${how}). End other programs, or raise the limit.`,
  scarce: true,
});

/** It was ended for what its run took. Another try would take as much. */
export const overran = (title: string, why: string): Failure => ({
  class: 'limit',
  message: `${title} was ended because ${why}. Raise the setting if the work needs more, or give the work to smaller tasks.`,
});

export function exitWords({ code, signal, error }: Exit): string {
  if (error) return error.message;
  return signal === null ? `exit code ${code ?? '?'}` : signalWords(signal);
}

export const signalWords = (signal: NodeJS.Signals): string =>
  signal === 'SIGKILL' ? 'killed by SIGKILL, as the system does when memory runs out' : `killed by ${signal}`;

const lastWords = (errors: string): string => {
  const text = errors.trim();
  return text === '' ? '' : `; it said: ${endOf(text, WORDS)}`;
};

/** A launch that failed says itself what is wrong; anything else is ours. */
export function startFailure(error: unknown): Failure {
  if (error instanceof Failed) return error.failure;
  const message = error instanceof Error ? error.message : String(error);
  return { class: isReveilleError(error) ? 'invalid' : 'unknown', message };
}

/** Said after the last words of a turn that an agent broke off by itself: else nobody knows why they stop there. */
export function cutWords({ title }: Preset, stopReason: unknown): string {
  if (stopReason === 'max_tokens') return `\n(${title} cut its answer: it was as long as its model allows.)`;
  if (stopReason !== 'max_turn_requests') return '';
  return `\n(${title} broke its turn off: it had made too many requests, or took what it said for a loop.)`;
}
