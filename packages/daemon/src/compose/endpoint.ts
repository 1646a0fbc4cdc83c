import { priceOf, type Endpoint, type Provider } from '@reveille/executors/builtin';
import type { Config } from '../config/schema.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where our own agent finds a model, and how that was found out. */
export interface FoundEndpoint {
  readonly endpoint: Endpoint;
  readonly why: string;
}

const KEYS = { anthropic: 'ANTHROPIC_API_KEY', openai: 'OPENAI_API_KEY' } as const;
/** If nobody names another: ANTHROPIC_MODEL, OPENAI_MODEL or backends.builtin.model do. */
const MODELS = { anthropic: 'claude-sonnet-4-5', openai: 'gpt-5.1' } as const;
const OLLAMA = 'http://127.0.0.1:11434';
/** A server on this machine that has not answered by then is not there. */
const PROBE_MS = 300;

/**
 * What is configured; else what the environment has a key or an address for; else an Ollama on this machine. Nothing is
 * changed by looking: of servers, only those on this machine are asked, and only for the names of their models.
 */
export async function findEndpoint(
  config: Config,
  env: Environment,
  probeMs = PROBE_MS,
): Promise<FoundEndpoint | null> {
  const { builtin } = config.backends;
  if (builtin.model !== null)
    return { endpoint: endpointOf(config, builtin.model, env), why: 'backends.builtin.model is set' };
  const found = keyed(config, env, 'anthropic') ?? (await addressed(config, env, probeMs));
  return found ?? keyed(config, env, 'openai') ?? (await ollama(config, env, probeMs));
}

/** The key itself stays in the environment until a call is made. */
function endpointOf(config: Config, model: string, env: Environment): Endpoint {
  const { builtin } = config.backends;
  const { apiKeyEnv, price: _own, ...rest } = builtin;
  const usual = builtin.provider in KEYS ? KEYS[builtin.provider as keyof typeof KEYS] : null;
  const keyName = apiKeyEnv ?? usual;
  return {
    ...rest,
    model,
    keyName,
    apiKey: () => (keyName === null ? undefined : env[keyName]),
    ...pricing(config, model, builtin),
  };
}

type Where = Pick<Endpoint, 'provider' | 'baseUrl'>;

/** The table has what the vendors themselves ask. What another asks for the same model, only the person knows. */
function pricing(
  { backends: { builtin }, prices }: Config,
  model: string,
  { provider, baseUrl }: Where,
): Pick<Endpoint, 'price' | 'priceOf'> {
  const { input, output, cached } = builtin.price;
  const own = input === null || output === null ? null : { input, output, cached };
  const table = provider in KEYS && baseUrl === null;
  return {
    price: own,
    priceOf: (named) => (named === model ? own : null) ?? priceOf(named, prices, { table }),
  };
}

interface Model {
  readonly provider: Provider;
  readonly model: string;
  readonly baseUrl: string | null;
  readonly keyName: string | null;
  readonly why: string;
}

/** As if it were configured, with what else is. */
function found(config: Config, env: Environment, { why, model, ...given }: Model): FoundEndpoint {
  const { keyName } = given;
  const apiKey = (): string | undefined => (keyName === null ? undefined : env[keyName]);
  const priced = pricing(config, model, given);
  return { why, endpoint: { ...endpointOf(config, model, env), ...given, apiKey, ...priced } };
}

function keyed(config: Config, env: Environment, provider: 'anthropic' | 'openai'): FoundEndpoint | null {
  const keyName = KEYS[provider];
  if (!env[keyName]) return null;
  const vendor = keyName.replace('_API_KEY', '');
  const model = env[`${vendor}_MODEL`] || MODELS[provider];
  const baseUrl = env[`${vendor}_BASE_URL`] || null;
  return found(config, env, { provider, model, baseUrl, keyName, why: `${keyName} is set` });
}

/** An address whose models nobody named is asked for them, if it is on this machine. */
async function addressed(config: Config, env: Environment, probeMs: number): Promise<FoundEndpoint | null> {
  const baseUrl = env['OPENAI_BASE_URL'];
  if (!baseUrl || !URL.canParse(baseUrl)) return null;
  const model =
    env['OPENAI_MODEL'] ||
    (isLocal(baseUrl) ? await firstModel(`${trimmed(baseUrl)}/models`, probeMs) : null);
  if (!model) return null;
  const keyName = env[KEYS.openai] ? KEYS.openai : null;
  const why = 'OPENAI_BASE_URL is set';
  return found(config, env, { provider: 'openai-compatible', model, baseUrl, keyName, why });
}

async function ollama(config: Config, env: Environment, probeMs: number): Promise<FoundEndpoint | null> {
  const named = env['OLLAMA_HOST'];
  const base = named ? trimmed(named.includes('://') ? named : `http://${named}`) : OLLAMA;
  if (!URL.canParse(base) || !isLocal(base)) return null;
  const model = await firstModel(`${base}/v1/models`, probeMs);
  if (model === null) return null;
  const why = `an Ollama with the model ${model} runs on this machine`;
  return found(config, env, { provider: 'ollama', model, baseUrl: base, keyName: null, why });
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');
const isLocal = (url: string): boolean =>
  /^(?:127(?:\.\d+){3}|localhost|\[::1\])$/.test(new URL(url).hostname);

/** Null: nobody answers there, or with something else. */
async function firstModel(url: string, ms: number): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ms), redirect: 'error' });
    const said = (await response.json()) as { data?: { id?: unknown }[] };
    const id = response.ok ? said.data?.[0]?.id : undefined;
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}
