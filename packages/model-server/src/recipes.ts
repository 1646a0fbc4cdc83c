/** Agents of vendors that are known to run on a scripted model, without a key or an account. */
export const REAL_AGENTS = ['claude', 'codex', 'gemini', 'copilot', 'opencode'] as const;
export type RealAgent = (typeof REAL_AGENTS)[number];

export const isRealAgent = (name: string): name is RealAgent =>
  (REAL_AGENTS as readonly string[]).includes(name);

/** How an agent is brought to speak with the scripted model, and how a script uses its own shell. */
export interface Recipe {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly shell: (command: string) => { readonly call: string; readonly input: Record<string, unknown> };
}

/** No secret: whoever listens at the scripted model's door takes any. */
const KEY = 'scripted';

/** `url` is the server's own, without `/v1`. */
export const recipeFor = (agent: RealAgent, url: string): Recipe => RECIPES[agent](url);

const RECIPES: Readonly<Record<RealAgent, (url: string) => Recipe>> = {
  claude: (url) => ({
    args: [],
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: KEY },
    shell: (command) => ({ call: 'Bash', input: { command, description: 'work' } }),
  }),
  codex: (url) => ({
    args: [],
    env: { OPENAI_API_KEY: KEY, MODEL_PROVIDER: 'scripted', CODEX_CONFIG: codexConfig(url) },
    shell: (cmd) => ({ call: 'exec_command', input: { cmd, yield_time_ms: 20_000 } }),
  }),
  gemini: (url) => ({
    // Without a name it asks a router, which is one more model to play.
    args: ['-m', 'gemini-2.5-pro'],
    env: { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url },
    shell: (command) => ({ call: 'run_shell_command', input: { command, description: 'work' } }),
  }),
  copilot: (url) => ({
    args: [],
    env: {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_MODEL: 'gpt-5.4',
      COPILOT_OFFLINE: 'true',
    },
    shell: (command) => ({
      call: 'bash',
      input: { command, description: 'work', mode: 'sync', initial_wait: 30 },
    }),
  }),
  opencode: (url) => ({
    args: [],
    env: { OPENCODE_DISABLE_DEFAULT_PLUGINS: '1', OPENCODE_CONFIG_CONTENT: opencodeConfig(url) },
    shell: (command) => ({ call: 'bash', input: { command, description: 'work' } }),
  }),
};

const codexConfig = (url: string): string =>
  JSON.stringify({
    model: 'gpt-5.1-codex',
    model_provider: 'scripted',
    model_providers: {
      scripted: {
        name: 'scripted',
        base_url: `${url}/v1`,
        env_key: 'OPENAI_API_KEY',
        wire_api: 'responses',
        requires_openai_auth: false,
        request_max_retries: 0,
        stream_max_retries: 0,
      },
    },
  });

const opencodeConfig = (url: string): string =>
  JSON.stringify({
    model: 'scripted/scripted-model',
    small_model: 'scripted/scripted-model',
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Scripted',
        options: { baseURL: `${url}/v1`, apiKey: KEY },
        models: {
          'scripted-model': {
            name: 'Scripted',
            tool_call: true,
            limit: { context: 200_000, output: 8_000 },
          },
        },
      },
    },
  });
