import { PROVIDERS } from '@reveille/executors/builtin';
import { z } from 'zod';
import { choice, group, maybe, ms, texts } from './kinds.ts';

const variables = z
  .record(z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable'), z.string().max(100_000))
  .default({})
  .describe('Variables it is given besides its own: keys, and where its model is.');
const acpAgent = {
  args: texts('Further arguments of its program.'),
  env: variables,
  hosts: texts('Hosts it must reach whatever sandbox.network says: where its model is.'),
  reads: texts('Further paths it may read; ~/ is the home.'),
  writes: texts('Further paths it may write, such as its login.'),
};
const preset = (title: string, program: string) =>
  group(
    {
      program: z
        .string()
        .min(1)
        .max(4_096)
        .nullable()
        .default(null)
        .describe(`Where its program is; null: ${program} on the PATH.`),
      ...acpAgent,
    },
    `${title}.`,
  );

export const Acp = group(
  {
    permissions: choice(
      ['boundary', 'ask'],
      'boundary',
      'What an agent wants leave for: allowed where the sandbox holds it and asked otherwise, or always asked.',
    ),
    initializeMs: ms(30_000, 'How long an agent has to answer its first message.', 100),
    codex: preset('Codex', 'codex-acp'),
    gemini: preset('Gemini CLI', 'gemini'),
    copilot: preset('GitHub Copilot CLI', 'copilot'),
    opencode: preset('OpenCode', 'opencode'),
    custom: z
      .record(
        z
          .string()
          .regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be of small letters, digits, - and _')
          .refine(
            (backend) =>
              !/^(?:scripted|builtin|claude|codex|gemini|copilot|opencode|vscode|reveille)$/.test(backend),
            'is the name of a backend that there is already',
          ),
        z.strictObject({
          command: z.array(z.string().min(1).max(4_096)).min(1).max(100).describe('Program and arguments.'),
          ...acpAgent,
        }),
      )
      .default({})
      .describe('Any other agent that speaks the protocol, by the name of its backend.'),
  },
  'Agents that speak the Agent Client Protocol.',
);

const dollars = (means: string) => maybe(z.number().min(0).max(1_000_000), means);
const Builtin = group(
  {
    provider: choice(PROVIDERS, 'anthropic', 'Who has the model, or whose words its endpoint speaks.'),
    model: maybe(
      z.string().min(1).max(200),
      'The model, as its endpoint calls it; null: there is no such backend.',
    ),
    baseUrl: maybe(
      z.url({ protocol: /^https?$/ }).max(2_000),
      'Where the endpoint is; null: the provider’s own.',
    ),
    apiKeyEnv: maybe(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, 'must be the name of a variable, not the key itself'),
      'The variable of the daemon’s environment that holds the key; null: ANTHROPIC_API_KEY or OPENAI_API_KEY.',
    ),
    contextTokens: maybe(
      z.number().int().min(1_000).max(100_000_000),
      'What a conversation may hold before it is shortened; null: what is usual.',
    ),
    maxOutputTokens: maybe(
      z.number().int().min(16).max(10_000_000),
      'How long one answer may be; null: the endpoint decides.',
    ),
    price: group(
      {
        input: dollars('What is sent; null: costs are unknown.'),
        output: dollars('What comes back; null: costs are unknown.'),
        cached: dollars('What is sent and read from a cache; null: as what is sent.'),
      },
      'Dollars for a million tokens.',
    ),
  },
  'Our own agent, on a model of yours.',
);

export const Prices = z
  .record(
    z.string().min(1).max(200),
    z.strictObject({
      input: z.number().min(0).max(1_000_000).describe('What is sent.'),
      output: z.number().min(0).max(1_000_000).describe('What comes back.'),
      cached: dollars('What is sent and read from a cache; null: as what is sent.'),
      written: dollars('What is sent and written into a cache; null: as what is sent.'),
    }),
  )
  .default({})
  .describe(
    'Dollars for a million tokens, by model: {"qwen3-coder": {"input": 0.2, "output": 0.8}}. Comes before the table that Reveille brings.',
  );

export const Backends = group(
  { builtin: Builtin, claude: preset('Claude Code', 'claude') },
  'How agents are run.',
);
