import { connect } from 'node:net';
import { Failed } from './failures.ts';
import type { Preset } from './presets.ts';
import { at, fieldsOf, textOf } from './shapes.ts';

type Variables = Readonly<Record<string, string>>;

/** The variables in which agents look for the address of their model. */
const NAMED = [
  'ANTHROPIC_BASE_URL',
  'OPENAI_BASE_URL',
  'GOOGLE_GEMINI_BASE_URL',
  'COPILOT_PROVIDER_BASE_URL',
] as const;

const WAIT_MS = 2_000;

/** Where an agent with this environment will look for its model, as far as it was told; null: where its vendor is. */
export function endpointOf({ name }: Preset, env: Variables): string | null {
  if (name === 'codex') return inCodex(env) ?? env['OPENAI_BASE_URL'] ?? null;
  if (name === 'opencode') return inOpencode(env);
  return NAMED.map((variable) => env[variable]).find((value) => value !== undefined) ?? null;
}

function inCodex(env: Variables): string | null {
  const config = parsed(env['CODEX_CONFIG']);
  const provider = env['MODEL_PROVIDER'] ?? textOf(at(config, 'model_provider'));
  return textOf(at(config, 'model_providers', provider, 'base_url')) || null;
}

function inOpencode(env: Variables): string | null {
  const config = parsed(env['OPENCODE_CONFIG_CONTENT']);
  const [provider = ''] = textOf(at(config, 'model')).split('/');
  return textOf(at(config, 'provider', provider, 'options', 'baseURL')) || null;
}

function parsed(text: string | undefined): unknown {
  try {
    return fieldsOf(JSON.parse(text ?? '{}'));
  } catch {
    return {};
  }
}

/**
 * Throws if nobody listens where an agent's model should be on this machine: some agents try for minutes and say nothing.
 * What is elsewhere may be behind a proxy; only the agent can tell.
 */
export async function checkEndpoint(preset: Preset, env: Variables): Promise<void> {
  const address = endpointOf(preset, env);
  const url = address !== null && URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)) return;
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  if (!(await refuses(url.hostname.replace(/^\[|\]$/g, ''), port))) return;
  throw new Failed({
    class: 'network',
    message: `Nobody answers at ${url.origin}, where ${preset.title} looks for its model. Start what should listen there, or put the address of its endpoint right.`,
  });
}

function refuses(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: WAIT_MS });
    const done = (refused: boolean): void => {
      socket.destroy();
      resolve(refused);
    };
    socket.once('connect', () => done(false));
    socket.once('timeout', () => done(false));
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code === 'ECONNREFUSED'));
  });
}
