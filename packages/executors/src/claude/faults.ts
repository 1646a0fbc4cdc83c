import type { ErrorClass } from '@reveille/protocol';
import { CLAUDE } from './options.ts';
import type { ClaudeMessage } from './sdk.ts';

/** The kinds of errors of its model, as the agent names them. */
const CLASSES: Readonly<Record<string, ErrorClass>> = {
  authentication_failed: 'auth',
  oauth_org_not_allowed: 'auth',
  account_on_hold: 'auth',
  verification_required: 'auth',
  cloud_credential_error: 'auth',
  billing_error: 'limit',
  rate_limit: 'rate_limit',
  overloaded: 'overload',
  server_error: 'overload',
  invalid_request: 'invalid',
  model_not_found: 'invalid',
  max_output_tokens: 'limit',
};

const NETWORK = /connect|ECONN|ENOTFOUND|EAI_AGAIN|fetch failed|network|timed? ?out/i;

/** What to do about it, where somebody can. */
const ADVICE: Partial<Record<ErrorClass, string>> = {
  auth: 'Log in with `claude` in a terminal, or set ANTHROPIC_API_KEY for the daemon.',
  network: 'Is the endpoint (ANTHROPIC_BASE_URL) reachable from here?',
};

const UP_TO_DATE = `If it is broken or too old, bring it up to date: ${CLAUDE.install}.`;

export interface Fault {
  readonly class: ErrorClass;
  readonly message: string;
  readonly scarce?: boolean;
}

/** Why a turn ended badly. `named` is the error that its last message carried. */
export function faultOf(result: ClaudeMessage, named: string | null): Fault {
  const said = result.errors?.join('; ') || result.result || 'the agent did not say why';
  const kind = classOf(result, named, said);
  const advice = ADVICE[kind];
  return { class: kind, message: advice ? `${said}. ${advice}` : said };
}

/** It ended before it had said anything: a second try would end the same way. */
export function faultAtStart(said: string): Fault {
  const asksLogin = /log ?in|api.?key|unauthori[sz]ed|authenticat|credential|oauth/i.test(said);
  if (asksLogin)
    return { class: 'auth', message: `Claude Code could not be started: ${said}. ${ADVICE.auth}` };
  return {
    class: 'invalid',
    message: `Claude Code could not be started: ${said}. ${UP_TO_DATE}`,
  };
}

/** A signal ended it before it had said anything: that came from outside, so it is tried again. */
export const killedAtStart = (how: string, words: string): Fault => ({
  class: 'crash',
  message: `Claude Code ended while it was being started (${how})${words ? `; it said: ${words}` : ''}`,
});

export const hangs = (ms: number, words: string): Fault => ({
  class: 'unresponsive',
  message: `Claude Code did not answer within ${Math.round(ms / 1000)} s after it was started${words.trim() ? `; it said: ${words.trim()}` : ''}. Start it by hand to see what it waits for. ${UP_TO_DATE}`,
});

function classOf(
  { api_error_status: status, stop_reason: stopped }: ClaudeMessage,
  named: string | null,
  said: string,
): ErrorClass {
  // Its own words for it are those of a request that was wrong.
  if (stopped === 'refusal') return 'refusal';
  const known = named === null ? undefined : CLASSES[named];
  // It calls a server that is not there one that failed.
  const answered = typeof status === 'number';
  if (!answered && known === 'overload' && NETWORK.test(said)) return 'network';
  if (known) return known;
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate_limit';
  if (typeof status === 'number' && status >= 500) return 'overload';
  if (typeof status === 'number' && status >= 400) return 'invalid';
  if (NETWORK.test(said)) return 'network';
  return 'unknown';
}
