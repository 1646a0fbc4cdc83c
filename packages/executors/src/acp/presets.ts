/** What is known of an agent that its protocol does not say. */
export interface Quirks {
  /**
   * What a second prompt does while a turn is open. None is ever sent: this is why. `steers`: there is a request of its
   * own for it, if `initialize` announces it.
   */
  readonly midTurn: 'steers' | 'queues' | 'folds' | 'cancels' | 'unknown';
  /** Whether a session it says it can load is really there afterwards. */
  readonly resumes: boolean;
  /** How it takes our tools; `http` only if it says so, else by a bridge over stdio. */
  readonly mcp: 'http' | 'stdio';
  /**
   * What the usage in the answer to a prompt counts: this turn, all turns of the process, the last request only, or
   * nothing, and this turn is in `_meta`.
   */
  readonly usage: 'turn' | 'cumulative' | 'last' | 'meta';
  /** When it says what it used: by `usage_update` after each request, with the answer to the prompt, or nobody knows. */
  readonly reports: 'request' | 'turn' | 'unknown';
  /** The first `usage_update` of a session that is taken up again is about the life before. */
  readonly restatesUsage?: boolean;
  /** A turn that is cancelled is gone from its history, with what it was told in it. */
  readonly forgetsCancelled?: boolean;
  /** Words of its model have a `messageId`. Words without one are its program's own, such as a warning. */
  readonly namesWords?: boolean;
  /** It says what it cost. */
  readonly cost?: boolean;
  /** The last words of a turn that ended well although its model failed: some only say so. */
  readonly failsInWords?: RegExp;
}

/** How an agent is held when it is started. */
export interface Holding {
  /** Our sandbox holds it, so its own is switched off. */
  readonly confined: boolean;
  /** Whether everything it wants leave for is to be asked, or only what the sandbox does not hold. */
  readonly asks: boolean;
}

/** An agent that speaks the protocol: how it is started, and what to tell a person when that fails. */
export interface Preset {
  readonly name: string;
  readonly title: string;
  /** Names of its program on the path. */
  readonly programs: readonly string[];
  readonly args: readonly string[];
  readonly env: (holding: Holding) => Readonly<Record<string, string>>;
  /** Variables whose value is JSON: what is configured is put over ours, not in its place. */
  readonly jsonEnv: readonly string[];
  /** Variables of ours that it is given: its keys and where its model is. */
  readonly passes: readonly RegExp[];
  /** Files of the home that hold its login. It may write them: a login is refreshed. */
  readonly credentials: readonly string[];
  /** Files it finds in its own home, beside its login. */
  readonly files: Readonly<Record<string, string>>;
  /** Where its model is, for networks that are shut otherwise. */
  readonly hosts: readonly string[];
  /** The ways it can log in, the first of which there is something for: a variable, or one of its credentials. */
  readonly logins: readonly { readonly method: string; readonly needs: string }[];
  readonly install: string;
  readonly login: string;
  /** What it calls a tool of our server, exactly. */
  readonly toolName: (tool: string) => string;
  readonly quirks: Quirks;
  /** What one of them takes with one session, busy; what is seen of it counts more, once it is. */
  readonly memoryMb: number;
}

/** The name under which every agent is given our tools. */
export const SERVER = 'reveille';
/** The name that Claude Code, and many after it, give a tool of a server. */
export const mcpToolName = (tool: string): string => `mcp__${SERVER}__${tool}`;

const CODEX: Preset = {
  name: 'codex',
  title: 'Codex',
  programs: ['codex-acp'],
  args: [],
  env: ({ confined, asks }) => ({
    NO_BROWSER: '1',
    // Its mode `agent` has a model decide on approvals. The others ask us for what their sandbox forbids: where everything
    // is to be asked, that is every change. Where its sandbox cannot be, nothing runs that was not asked for.
    INITIAL_AGENT_MODE: asks ? 'read-only' : confined ? 'agent-full-access' : 'workspace-write',
    CODEX_CONFIG: JSON.stringify({
      check_for_update_on_startup: false,
      analytics: { enabled: false },
      features: { multi_agent: false },
    }),
  }),
  jsonEnv: ['CODEX_CONFIG'],
  passes: [/^OPENAI_/, /^CODEX_API_KEY$/, /^MODEL_PROVIDER$/],
  credentials: ['.codex/auth.json'],
  files: {},
  hosts: ['api.openai.com', 'chatgpt.com', '*.chatgpt.com', 'auth.openai.com'],
  logins: [
    { method: 'api-key', needs: 'CODEX_API_KEY' },
    { method: 'api-key', needs: 'OPENAI_API_KEY' },
  ],
  install: 'npm install -g @agentclientprotocol/codex-acp',
  login: 'run `codex login`, or set OPENAI_API_KEY',
  toolName: (tool) => `mcp.${SERVER}.${tool}`,
  quirks: {
    midTurn: 'steers',
    resumes: true,
    mcp: 'http',
    usage: 'turn',
    reports: 'request',
    restatesUsage: true,
    namesWords: true,
  },
  memoryMb: 300,
};

const GEMINI: Preset = {
  name: 'gemini',
  title: 'Gemini CLI',
  programs: ['gemini'],
  args: ['--acp'],
  env: () => ({
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    GEMINI_TELEMETRY_ENABLED: 'false',
    GEMINI_CLI_NO_RELAUNCH: 'true',
    GEMINI_SANDBOX: 'false',
  }),
  jsonEnv: [],
  passes: [/^GEMINI_API_KEY$/, /^GOOGLE_/, /^GEMINI_MODEL$/],
  credentials: ['.gemini/oauth_creds.json', '.gemini/google_accounts.json'],
  files: {
    '.gemini/settings.json': JSON.stringify({
      general: { disableAutoUpdate: true, enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
    }),
  },
  hosts: ['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'],
  logins: [
    { method: 'gemini-api-key', needs: 'GEMINI_API_KEY' },
    { method: 'oauth-personal', needs: '.gemini/oauth_creds.json' },
  ],
  install: 'npm install -g @google/gemini-cli',
  login: 'run `gemini` once and log in, or set GEMINI_API_KEY',
  toolName: (tool) => `${tool} (${SERVER} MCP Server)`,
  // It says it can load a session; what it then loads is often not it (google-gemini/gemini-cli#28775).
  quirks: {
    midTurn: 'cancels',
    resumes: false,
    mcp: 'http',
    usage: 'meta',
    reports: 'turn',
    forgetsCancelled: true,
  },
  memoryMb: 320,
};

const COPILOT: Preset = {
  name: 'copilot',
  title: 'GitHub Copilot CLI',
  programs: ['copilot'],
  args: ['--acp', '--no-auto-update'],
  env: () => ({ COPILOT_AUTO_UPDATE: 'false' }),
  jsonEnv: [],
  passes: [/^COPILOT_/, /^GH_TOKEN$/, /^GITHUB_TOKEN$/],
  credentials: ['.copilot/config.json'],
  files: {},
  hosts: ['api.github.com', 'github.com', '*.githubcopilot.com'],
  logins: [],
  install: 'npm install -g @github/copilot',
  login:
    'run `copilot` once and log in, or set COPILOT_GITHUB_TOKEN, or COPILOT_PROVIDER_BASE_URL for a model of your own',
  toolName: (tool) => `${SERVER}-${tool}`,
  quirks: {
    midTurn: 'cancels',
    resumes: true,
    mcp: 'http',
    usage: 'cumulative',
    reports: 'request',
    failsInWords: /(?:^|Retrying\.\.\.)Error: [\s\S]+$/,
  },
  memoryMb: 330,
};

const OPENCODE: Preset = {
  name: 'opencode',
  title: 'OpenCode',
  programs: ['opencode'],
  args: ['acp'],
  env: ({ confined, asks }) => {
    // Its own default lets nearly everything through.
    const permission = confined && !asks ? 'allow' : 'ask';
    return {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        permission: { edit: permission, bash: permission, '*': permission },
        tools: { task: false },
      }),
    };
  },
  jsonEnv: ['OPENCODE_CONFIG_CONTENT'],
  passes: [/^OPENCODE_API_KEY$/, /^ANTHROPIC_/, /^OPENAI_/, /^GEMINI_API_KEY$/, /^OPENROUTER_API_KEY$/],
  credentials: ['.local/share/opencode/auth.json'],
  files: {},
  hosts: ['opencode.ai', 'models.dev', 'api.anthropic.com', 'api.openai.com', 'openrouter.ai'],
  logins: [],
  install: 'npm install -g opencode-ai',
  login: 'run `opencode auth login`, or set the key of your provider',
  toolName: (tool) => `${SERVER}_${tool}`,
  quirks: { midTurn: 'folds', resumes: true, mcp: 'http', usage: 'last', reports: 'turn', cost: true },
  memoryMb: 750,
};

export const PRESETS: readonly Preset[] = [CODEX, GEMINI, COPILOT, OPENCODE];

/** Any other agent, by its command. Of its habits nothing is known, so only what it announces is believed. */
export const custom = (name: string, program: string, args: readonly string[]): Preset => ({
  name,
  title: name,
  programs: [program],
  args,
  env: () => ({}),
  jsonEnv: [],
  passes: [],
  credentials: [],
  files: {},
  hosts: [],
  logins: [],
  install: `install "${program}", or put right the command of agents.custom.${name} in the configuration`,
  login: 'log in to it, or set its key in the configuration',
  toolName: mcpToolName,
  quirks: { midTurn: 'unknown', resumes: true, mcp: 'http', usage: 'turn', reports: 'unknown' },
  memoryMb: 300,
});
