import type { Price } from '../prices/price.ts';

/** Where a model is, and what is known of it. */
export interface Endpoint {
  readonly provider: Provider;
  /** Null: where the vendor has it. */
  readonly baseUrl: string | null;
  readonly model: string;
  /** Asked before every call, so that a key that is set later counts; never kept, never said. */
  readonly apiKey: () => string | undefined;
  /** What the key is called, for whoever has to set it. */
  readonly keyName: string | null;
  /** How much a conversation may hold; null: what is usual for the provider. */
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  /** What its model costs; null: nobody knows. */
  readonly price: Price | null;
  /** What any model costs there, if that is known apart. */
  readonly priceOf?: (model: string) => Price | null;
}

export const PROVIDERS = ['anthropic', 'openai', 'openai-compatible', 'ollama'] as const;
export type Provider = (typeof PROVIDERS)[number];

interface Usual {
  readonly url: string | null;
  readonly contextTokens: number;
  readonly needsKey: boolean;
}

const USUAL: { readonly [P in Provider]: Usual } = {
  anthropic: { url: 'https://api.anthropic.com/v1', contextTokens: 200_000, needsKey: true },
  openai: { url: 'https://api.openai.com/v1', contextTokens: 128_000, needsKey: true },
  'openai-compatible': { url: null, contextTokens: 128_000, needsKey: false },
  // What it really takes is a setting of the server; it cuts what is longer, silently.
  ollama: { url: 'http://127.0.0.1:11434/v1', contextTokens: 32_000, needsKey: false },
};

/** The URL with the version in it, which people leave out as often as not. */
export function urlOf({ provider, baseUrl }: Endpoint): string | null {
  const url = baseUrl?.replace(/\/+$/, '') ?? USUAL[provider].url;
  if (url === null || provider === 'openai-compatible' || /\/v\d+\w*$/.test(url)) return url;
  return `${url}/v1`;
}

/** Without what may be secret in a URL. */
export function shownUrl(endpoint: Endpoint): string {
  const url = URL.parse(urlOf(endpoint) ?? '');
  return url ? `${url.origin}${url.pathname}` : '(no URL)';
}

export const contextOf = ({ provider, contextTokens }: Endpoint): number =>
  contextTokens ?? USUAL[provider].contextTokens;

/** What stands in the way of any call, in words that name what to set; null: nothing that can be known beforehand. */
export function missing(endpoint: Endpoint): { class: 'auth' | 'invalid'; message: string } | null {
  const { provider, keyName } = endpoint;
  const url = urlOf(endpoint);
  if (url === null)
    return { class: 'invalid', message: 'There is no URL of the model. Set backends.builtin.baseUrl.' };
  if (!URL.canParse(url))
    return { class: 'invalid', message: `"${url}" is no URL. Set backends.builtin.baseUrl.` };
  if (endpoint.apiKey() || (keyName === null && !USUAL[provider].needsKey)) return null;
  const set =
    keyName === null
      ? 'Set backends.builtin.apiKeyEnv.'
      : `The daemon's environment has no ${keyName}: set it and restart the daemon, or name another variable in backends.builtin.apiKeyEnv.`;
  return { class: 'auth', message: `There is no key for ${provider}. ${set}` };
}

/** What a call of a model costs there; null: nobody knows. */
export const priceAt = ({ price, priceOf }: Endpoint, model: string): Price | null =>
  priceOf ? priceOf(model) : price;
