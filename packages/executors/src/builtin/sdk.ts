import { registerHooks } from 'node:module';
import type { LanguageModel } from 'ai';
import { urlOf, type Endpoint } from './endpoint.ts';

/** The packages that speak with models. They are heavy and optional: whoever uses no model of ours needs none of them. */
export interface Sdk {
  readonly ai: typeof import('ai');
  model(endpoint: Endpoint, fetch: typeof globalThis.fetch): LanguageModel;
}

let loaded: Promise<Sdk> | null = null;

/** Loads them once. An error says what to install. */
export function loadSdk(): Promise<Sdk> {
  loaded ??= load().catch((cause: unknown) => {
    loaded = null;
    throw cause;
  });
  return loaded;
}

async function load(): Promise<Sdk> {
  withoutSource();
  try {
    const [ai, { createAnthropic }, { createOpenAICompatible }] = await Promise.all([
      import('ai'),
      import('@ai-sdk/anthropic'),
      import('@ai-sdk/openai-compatible'),
    ]);
    // Its warnings go to the standard error of a process that has better things to say there; there is no other switch.
    (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
    return {
      ai,
      model(endpoint, fetch) {
        const baseURL = urlOf(endpoint) ?? '';
        const apiKey = endpoint.apiKey() ?? '';
        if (endpoint.provider === 'anthropic')
          return createAnthropic({ baseURL, apiKey, fetch })(endpoint.model);
        const name = endpoint.provider;
        return createOpenAICompatible({ name, baseURL, apiKey, fetch, includeUsage: true })(endpoint.model);
      },
    };
  } catch (cause) {
    const words =
      'The built-in agent needs packages that are not installed. Run: npm install ai @ai-sdk/anthropic @ai-sdk/openai-compatible';
    throw new Error(words, { cause });
  }
}

/**
 * Our sources are found by the condition `source`. A package below has it too, for TypeScript of its own, which Node runs
 * nowhere below node_modules: for it, the condition does not count.
 */
function withoutSource(): void {
  const known = globalThis as { reveilleWithoutSource?: boolean };
  if (known.reveilleWithoutSource) return;
  known.reveilleWithoutSource = true;
  registerHooks({
    resolve: (specifier, context, next) =>
      next(
        specifier,
        /^eventsource\b/.test(specifier)
          ? { ...context, conditions: context.conditions.filter((condition) => condition !== 'source') }
          : context,
      ),
  });
}
