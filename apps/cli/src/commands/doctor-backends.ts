import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Detected, Preset } from '@reveille/executors/acp';
import type { Io } from '../io.ts';
import { version } from '../version.ts';

/** As the other findings of doctor. */
interface BackendFinding {
  readonly area: string;
  readonly name: string;
  readonly verdict: 'good' | 'weak';
  readonly expected: string;
  readonly got: string;
  readonly advice: string;
}

/** The agents that are installed: which version, whether there is a login, what they can do. Others are not mentioned. */
export async function examineBackends({ env }: Io): Promise<BackendFinding[]> {
  const [{ PRESETS, detect }, { placeOf }] = await Promise.all([
    import('@reveille/executors/acp'),
    import('@reveille/daemon/connect'),
  ]);
  const place = placeOf(env);
  const { home } = place;
  // Where nothing of ours is yet, nothing is left.
  const kept = existsSync(home);
  const folder = kept ? join(home, 'detected') : mkdtempSync(join(tmpdir(), 'reveille-doctor-'));
  const acp = await configured(env, place.userConfig);
  const { initializeMs } = acp;
  const options = { home: env['HOME'] ?? homedir(), folder, version: version(), initializeMs };
  // A key may be in what is configured for the agent alone.
  const { codex, gemini, copilot, opencode } = acp;
  const own: Readonly<Record<string, Pick<typeof codex, 'env'>>> = { codex, gemini, copilot, opencode };
  const envOf = ({ name }: Preset): Io['env'] => ({ ...env, ...own[name]?.env });
  try {
    const found = await Promise.all(
      PRESETS.map(async (preset) => ({
        preset,
        detected: await detect(preset, { ...options, env: envOf(preset) }),
      })),
    );
    return found
      .filter(({ detected }) => detected.program !== null)
      .map(({ preset, detected }) => findingOf(preset, detected));
  } finally {
    if (!kept) rmSync(folder, { recursive: true, force: true });
  }
}

/** As it is set; what is wrong with the settings is found by another look. */
async function configured(env: Io['env'], userFile: string) {
  const { loadConfig } = await import('@reveille/daemon');
  try {
    return loadConfig({ env, userFile }).config.acp;
  } catch {
    return loadConfig({}).config.acp;
  }
}

function findingOf({ name, login: howToLogIn }: Preset, detected: Detected): BackendFinding {
  const { version: found, login, can, problem } = detected;
  const about = { area: 'agents', name, expected: 'answers, with a login' };
  if (problem !== null || can === null)
    return { ...about, verdict: 'weak', got: 'does not work', advice: problem ?? '' };
  const abilities = [
    can.resume ? 'goes on after a crash' : 'begins anew after a crash',
    can.steer ? 'takes mail while it works' : 'takes mail after its turn',
  ];
  const words = { yes: 'has a login', no: 'has no login', unknown: 'login unknown' }[login];
  const got = [found ?? 'unknown version', words, ...abilities].join(', ');
  return {
    ...about,
    verdict: login === 'no' ? 'weak' : 'good',
    got,
    advice: login === 'no' ? `To log in: ${howToLogIn}.` : '',
  };
}
