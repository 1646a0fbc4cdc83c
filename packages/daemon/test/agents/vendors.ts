import { join } from 'node:path';

/** How a real agent is brought to speak with the scripted model, and what its own tools are called. */
export interface Vendor {
  readonly name: 'claude' | 'codex' | 'gemini' | 'copilot' | 'opencode';
  /** What its part of the configuration says. */
  readonly settings: (model: string, hasty: boolean) => Settings;
  /** A call of its shell. */
  readonly shell: (command: string) => Call;
  /** A call of its shell that it asks leave for, where that differs. */
  readonly asking?: (command: string) => Call;
  /** A call of its tool that makes a file. */
  readonly write: (path: string, content: string) => Call;
  /** It can be told to give up a call of ours soon. */
  readonly canBeHasty: boolean;
  readonly steers: boolean;
  readonly resumes: boolean;
}

interface Settings {
  readonly program?: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Call {
  readonly call: string;
  readonly input: Record<string, unknown>;
}

/** Longer than any call that does not wait. */
const HASTE_MS = 5_000;

/** How OpenAI's models make a file. */
const patchOf = (path: string, content: string): string =>
  `*** Begin Patch\n*** Add File: ${path}\n+${content}\n*** End Patch\n`;

/** Where each was installed, as `npm run test:agents` says it. */
const FOLDERS = JSON.parse(process.env['REVEILLE_AGENTS'] ?? '{}') as Partial<Record<Vendor['name'], string>>;

export function folderOf(name: Vendor['name']): string {
  const folder = FOLDERS[name];
  if (folder === undefined) throw new Error(`${name} is not installed: use npm run test:agents`);
  return folder;
}

const program = (name: Vendor['name'], file: string): string =>
  join(folderOf(name), 'node_modules/.bin', file);

const ALL: readonly Vendor[] = [
  {
    name: 'claude',
    settings: (model, hasty) => ({
      env: {
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: 'sk-ant-scripted',
        ...(hasty ? { MCP_TOOL_TIMEOUT: String(HASTE_MS) } : {}),
      },
    }),
    shell: (command) => ({ call: 'Bash', input: { command, description: 'work' } }),
    write: (path, content) => ({ call: 'Write', input: { file_path: path, content } }),
    canBeHasty: true,
    steers: true,
    resumes: true,
  },
  {
    name: 'codex',
    settings: (model) => ({
      program: program('codex', 'codex-acp'),
      env: {
        OPENAI_API_KEY: 'sk-scripted',
        MODEL_PROVIDER: 'scripted',
        CODEX_CONFIG: JSON.stringify({
          model: 'gpt-5.1-codex',
          model_provider: 'scripted',
          model_providers: {
            scripted: {
              name: 'scripted',
              base_url: `${model}/v1`,
              env_key: 'OPENAI_API_KEY',
              wire_api: 'responses',
              requires_openai_auth: false,
              request_max_retries: 0,
              stream_max_retries: 0,
            },
          },
        }),
      },
    }),
    shell: (cmd) => ({ call: 'exec_command', input: { cmd, yield_time_ms: 20_000 } }),
    // What its own sandbox would not let it do it asks for, if its model says so.
    asking: (cmd) => ({
      call: 'exec_command',
      input: { cmd, yield_time_ms: 20_000, sandbox_permissions: 'require_escalated', justification: 'work' },
    }),
    // It takes this from its shell's hands.
    write: (path, content) => ({
      call: 'exec_command',
      input: { cmd: `apply_patch <<'PATCH'\n${patchOf(path, content)}PATCH\n` },
    }),
    canBeHasty: false,
    steers: true,
    resumes: true,
  },
  {
    name: 'gemini',
    settings: (model) => ({
      program: program('gemini', 'gemini'),
      args: ['-m', 'gemini-2.5-pro'],
      env: { GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model },
    }),
    shell: (command) => ({ call: 'run_shell_command', input: { command, description: 'work' } }),
    write: (path, content) => ({ call: 'write_file', input: { file_path: path, content } }),
    canBeHasty: false,
    steers: false,
    resumes: false,
  },
  {
    name: 'copilot',
    settings: (model) => ({
      program: program('copilot', 'copilot'),
      env: {
        COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
        COPILOT_PROVIDER_TYPE: 'openai',
        COPILOT_PROVIDER_API_KEY: 'scripted',
        COPILOT_MODEL: 'gpt-5.4',
        COPILOT_OFFLINE: 'true',
      },
    }),
    shell: (command) => ({
      call: 'bash',
      input: { command, description: 'work', mode: 'sync', initial_wait: 30 },
    }),
    write: (path, content) => ({ call: 'apply_patch', input: { input: patchOf(path, content) } }),
    canBeHasty: false,
    steers: false,
    resumes: true,
  },
  {
    name: 'opencode',
    settings: (model, hasty) => ({
      program: program('opencode', 'opencode'),
      env: {
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          model: 'scripted/scripted-model',
          small_model: 'scripted/scripted-model',
          ...(hasty ? { experimental: { mcp_timeout: HASTE_MS } } : {}),
          provider: {
            scripted: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Scripted',
              options: { baseURL: `${model}/v1`, apiKey: 'scripted' },
              models: {
                'scripted-model': {
                  name: 'Scripted',
                  tool_call: true,
                  limit: { context: 200_000, output: 8_000 },
                },
              },
            },
          },
        }),
      },
    }),
    shell: (command) => ({ call: 'bash', input: { command, description: 'work' } }),
    write: (path, content) => ({ call: 'write', input: { filePath: path, content } }),
    canBeHasty: true,
    steers: false,
    resumes: true,
  },
];

/** But for those that the registry refused: `npm run test:agents` says which and why. */
const refused = new Set((process.env['REVEILLE_AGENTS_REFUSED'] ?? '').split(','));
export const VENDORS = ALL.filter(({ name }) => !refused.has(name));
