import type { ModelServer } from '@reveille/model-server';

export const MODEL = 'claude-sonnet-4-5';

/** The settings by which the built-in loop asks a scripted model. */
export const asking = ({ url }: ModelServer, key = 'sk-ant-scripted'): NodeJS.ProcessEnv => ({
  REVEILLE_BACKENDS_BUILTIN_PROVIDER: 'anthropic',
  REVEILLE_BACKENDS_BUILTIN_MODEL: MODEL,
  REVEILLE_BACKENDS_BUILTIN_BASE_URL: url,
  REVEILLE_BACKENDS_BUILTIN_API_KEY_ENV: 'SHOP_KEY',
  SHOP_KEY: key,
});
