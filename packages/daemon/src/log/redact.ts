/** Names of fields whose value is never written. Compared without case, dashes and underscores. */
const SECRET_NAMES =
  /^(?:authorization|proxyauthorization|cookie|setcookie|token|.*token|secret|.*secret|password|passwd|passphrase|apikey|.*apikey|privatekey|credential|credentials|accesskey|secretaccesskey)$/;
/** These hold a count or a name, not a secret. */
const HARMLESS = /^(?:maxtokens|inputtokens|outputtokens|tokens)$/;

/**
 * Our own credentials, as text. They have a shape of their own, so a long one is found also in the middle of a word, as
 * after the `n` of an escaped line break; a short one, which may be the beginning of a longer one, only where a word begins.
 */
const CREDENTIAL = /(?<![A-Za-z0-9])rv[psrbt]_[A-Za-z0-9_.-]{8,400}|rv[psrbt]_[A-Za-z0-9_.-]{24,400}/g;

/**
 * What secrets look like when they turn up in text: our own credentials, Authorization headers, keys of model vendors
 * and code hosts, signed tokens, private keys, passwords in URLs and in assignments. Every pattern is bounded and
 * has one way to match, so that no text makes it slow. A word also begins after an escaped character, as in JSON.
 */
const SECRET_TEXTS: readonly RegExp[] = [
  CREDENTIAL,
  /(?:\b|(?<=\\[bfnrt]))(?:bearer|basic) {1,4}[A-Za-z0-9._~+/=-]{8,4000}/gi,
  /(?:\b|(?<=\\[bfnrt]))(?:sk|pk|rk|xai|gsk|fw|pplx|r8|hf|nvapi)[-_][A-Za-z0-9_-]{8,400}/g,
  /(?:\b|(?<=\\[bfnrt]))gh[a-z]_[A-Za-z0-9]{16,400}/g,
  /(?:\b|(?<=\\[bfnrt]))github_pat_[A-Za-z0-9_]{16,400}/g,
  /(?:\b|(?<=\\[bfnrt]))glpat-[A-Za-z0-9_-]{16,400}/g,
  /(?:\b|(?<=\\[bfnrt]))xox[a-z]-[A-Za-z0-9-]{8,400}/g,
  /(?:\b|(?<=\\[bfnrt]))(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /(?:\b|(?<=\\[bfnrt]))AIza[A-Za-z0-9_-]{30,60}/g,
  /(?:\b|(?<=\\[bfnrt]))npm_[A-Za-z0-9]{30,60}/g,
  /(?:\b|(?<=\\[bfnrt]))eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,4000}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  /(?<=:\/\/[^\s/:@]{0,200}:)[^\s/@]{1,400}(?=@)/g,
  /(?<=(?:api[_-]?key|token|secret|password|passwd|authorization)["']?\s{0,3}[:=]\s{0,3}["']?)[^\s"',;&]{6,4000}/gi,
];

const HIDDEN = '[redacted]';
const LONGEST_TEXT = 8_000;
const DEEPEST = 6;
const MOST_ENTRIES = 100;

export function redactText(text: string): string {
  const cut =
    text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}… (${text.length} characters)` : text;
  return SECRET_TEXTS.reduce((seen, pattern) => seen.replaceAll(pattern, HIDDEN), cut);
}

/**
 * The same value without our own credentials, for what is kept and read again: nobody needs one there. Nothing else is
 * taken out, because a name in a result may look like a key of somebody's. What holds none is returned as it is.
 */
export function withoutCredentials<T>(value: T): T {
  return hideIn(value) as T;
}

function hideIn(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('rv') ? value.replaceAll(CREDENTIAL, HIDDEN) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const hidden = value.map(hideIn);
    return hidden.some((inner, i) => inner !== value[i]) ? hidden : value;
  }
  const entries = Object.entries(value);
  const hidden = entries.map(([key, inner]) => [hideIn(key) as string, hideIn(inner)] as const);
  const same = hidden.every(([key, inner], i) => key === entries[i]?.[0] && inner === entries[i]?.[1]);
  return same ? value : Object.fromEntries(hidden);
}

/** A copy that may be written: no secrets, bounded in depth, width and length. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (value instanceof Error) return redactError(value, depth);
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return '[deeper]';
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST_ENTRIES).map((inner: unknown) => redact(inner, depth + 1));
    return value.length > MOST_ENTRIES ? [...shown, `… (${value.length})`] : shown;
  }
  const entries = Object.entries(value).slice(0, MOST_ENTRIES);
  return Object.fromEntries(
    entries.map(([key, inner]) => [redactText(key), isSecretName(key) ? HIDDEN : redact(inner, depth + 1)]),
  );
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  return {
    name,
    message: redactText(message),
    ...('code' in error ? { code: redact(error.code, depth + 1) } : {}),
    ...(stack === undefined ? {} : { stack: redactText(stack) }),
    ...(cause === undefined || depth >= DEEPEST ? {} : { cause: redact(cause, depth + 1) }),
  };
}

function isSecretName(key: string): boolean {
  if (key.length > 100) return false;
  const plain = key.toLowerCase().replaceAll(/[-_]/g, '');
  return SECRET_NAMES.test(plain) && !HARMLESS.test(plain);
}
