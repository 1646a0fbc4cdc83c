import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadedConfig } from '@reveille/daemon/config';
import type { Detected, Preset } from '@reveille/executors/acp';
import type { Io } from '../io.ts';
import { version } from '../version.ts';
import type { Finding } from './doctor-report.ts';

type Config = LoadedConfig['config'];

/** The agents that are installed: which version, whether there is a login, what they can do. Others are not mentioned. */
export async function examineBackends({ env }: Io): Promise<Finding[]> {
  const [{ PRESETS, detect }, { placeOf }] = await Promise.all([
    import('@reveille/executors/acp'),
    import('@reveille/daemon/connect'),
  ]);
  const place = placeOf(env);
  const { home } = place;
  // Where nothing of ours is yet, nothing is left.
  const kept = existsSync(home);
  const folder = kept ? join(home, 'detected') : mkdtempSync(join(tmpdir(), 'reveille-doctor-'));
  const { acp, backends } = await settings(env, place.userConfig);
  const person = env['HOME'] ?? homedir();
  const options = { home: person, folder, version: version(), initializeMs: acp.initializeMs };
  const { codex, gemini, copilot, opencode } = acp;
  const known: Readonly<Record<string, { readonly env: NodeJS.ProcessEnv }>> = {
    codex,
    gemini,
    copilot,
    opencode,
  };
  try {
    const found = await Promise.all([
      examineClaude({ env, home, person, settings: backends.claude }),
      ...PRESETS.map(async (preset) => {
        const own = { ...env, ...known[preset.name]?.env };
        const detected = await detect(preset, { ...options, env: own });
        return detected.program === null ? null : findingOf(preset, detected);
      }),
    ]);
    return found.filter((finding) => finding !== null);
  } finally {
    if (!kept) rmSync(folder, { recursive: true, force: true });
  }
}

interface ClaudeHere {
  readonly env: NodeJS.ProcessEnv;
  /** The daemon's folder. */
  readonly home: string;
  /** The person's. */
  readonly person: string;
  readonly settings: Config['backends']['claude'];
}

/** Claude Code needs its Agent SDK beside it, and is run by it; null: there is neither. */
async function examineClaude({ env, home, person, settings: own }: ClaudeHere): Promise<Finding | null> {
  const [{ findProgram, loginOf }, { CLAUDE, bundledProgram, sdkFile }, { installClaude, sdkFolder }] =
    await Promise.all([
      import('@reveille/executors/acp'),
      import('@reveille/executors/claude'),
      import('@reveille/daemon'),
    ]);
  const folder = sdkFolder(home);
  const sdk = sdkFile(folder);
  const program = own.program ?? findProgram(CLAUDE.programs, env['PATH'] ?? '') ?? bundledProgram(folder);
  if (program === null && sdk === null) return null;
  const about = {
    area: 'agents',
    name: CLAUDE.name,
    expected: 'Claude Code and its Agent SDK, with a login',
  };
  const login = loginOf(CLAUDE, { env: { ...env, ...own.env }, home: person });
  const versions = [
    program === null ? 'Claude Code is not there' : `Claude Code ${await claudeVersion(program, env)}`,
    sdk === null ? 'its Agent SDK is not installed' : `Agent SDK ${sdkVersion(sdk)}`,
  ];
  const got = [...versions, LOGIN_WORDS[login]].join(', ');
  if (sdk === null || program === null) {
    const advice = 'Without both it cannot be used. To install them:';
    return { ...about, verdict: 'weak', got, advice, command: installClaude(home) };
  }
  const isIn = login !== 'no';
  return {
    ...about,
    verdict: isIn ? 'good' : 'weak',
    got,
    advice: isIn ? '' : `To log in: ${CLAUDE.login}.`,
  };
}

const ANSWER_MS = 20_000;

/** With an empty home: it writes there as soon as it is started. */
async function claudeVersion(program: string, env: NodeJS.ProcessEnv): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'reveille-doctor-'));
  const options = { env: { PATH: env['PATH'], HOME: home, DISABLE_AUTOUPDATER: '1' }, timeout: ANSWER_MS };
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], options);
    return /^\d[\w.-]*/.exec(stdout.trim())?.[0] ?? 'of unknown version';
  } catch {
    return `does not start (${program})`;
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** From the package around its file. */
function sdkVersion(file: string): string {
  try {
    const { version: found } = JSON.parse(readFileSync(join(dirname(file), 'package.json'), 'utf8')) as {
      version?: unknown;
    };
    return typeof found === 'string' ? found : 'of unknown version';
  } catch {
    return 'of unknown version';
  }
}

/** As they are; what is wrong with them is found by another look. */
async function settings(env: Io['env'], userFile: string): Promise<Config> {
  const { loadConfig } = await import('@reveille/daemon');
  try {
    return loadConfig({ env, userFile }).config;
  } catch {
    return loadConfig({}).config;
  }
}

const LOGIN_WORDS = { yes: 'has a login', no: 'has no login', unknown: 'login unknown' } as const;

function findingOf({ name, login: howToLogIn }: Preset, detected: Detected): Finding {
  const { version: found, login, can, problem } = detected;
  const about = { area: 'agents', name, expected: 'answers, with a login' };
  if (problem !== null || can === null)
    return { ...about, verdict: 'weak', got: 'does not work', advice: problem ?? '' };
  const abilities = [
    can.resume ? 'goes on after a crash' : 'begins anew after a crash',
    can.steer ? 'takes mail while it works' : 'takes mail after its turn',
  ];
  const got = [found ?? 'unknown version', LOGIN_WORDS[login], ...abilities].join(', ');
  return {
    ...about,
    verdict: login === 'no' ? 'weak' : 'good',
    got,
    advice: login === 'no' ? `To log in: ${howToLogIn}.` : '',
  };
}
