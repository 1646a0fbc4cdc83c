import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { environmentFor } from './environment.ts';
import { exitFailure, hangs, missing, requestFailed, tooOld } from './failures.ts';
import type { Announced, Link } from './link.ts';
import { WAITS } from './options.ts';
import type { Preset } from './presets.ts';
import { AgentProcess } from './process.ts';
import { findProgram, installedWith } from './program.ts';

/** What is known of an agent on this machine. */
export interface Detected {
  readonly name: string;
  readonly title: string;
  /** Where it is; null: it is not installed. */
  readonly program: string | null;
  readonly version: string | null;
  /** `yes`: there is a login or a key for it; whether that is still good only its model knows. */
  readonly login: 'yes' | 'no' | 'unknown';
  /** What it can do; null: it could not be asked. */
  readonly can: { readonly resume: boolean; readonly steer: boolean; readonly httpTools: boolean } | null;
  /** What does not work, in words that name the fix; null: nothing. */
  readonly problem: string | null;
}

export interface DetectOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The person's home: only looked at. */
  readonly home: string;
  /** Ours: what was found out is kept here, and the homes are made here that agents are asked with. */
  readonly folder: string;
  readonly version: string;
  readonly initializeMs?: number;
}

/** Looks for an agent, and asks it what it can do: once, for as long as its program is the same. */
export async function detect(preset: Preset, options: DetectOptions): Promise<Detected> {
  const { env } = options;
  const about = { name: preset.name, title: preset.title, login: loginOf(preset, options) };
  const found = findProgram(preset.programs, env['PATH'] ?? '');
  if (found === null)
    return { ...about, program: null, version: null, can: null, problem: missing(preset).message };
  const { program } = installedWith(found, options.home);
  const { mtimeMs, size } = await stat(program);
  const key = [program, ...preset.args, mtimeMs, size].join('\0');
  const file = join(options.folder, `${preset.name}.json`);
  const known = await readKnown(file, key);
  if (known) return { ...about, ...known };
  const asked = { program: found, ...(await ask(preset, program, options)) };
  // What went wrong may be put right without a new program.
  if (asked.problem === null) await keep(file, { key, ...asked });
  return { ...about, ...asked };
}

type Answer = Pick<Detected, 'version' | 'can' | 'problem'>;

/** With a home made for it: some write there as soon as they are started. */
async function ask(preset: Preset, program: string, options: DetectOptions): Promise<Answer> {
  const [{ Link }, { ClientDoors }] = await Promise.all([import('./link.ts'), import('./doors.ts')]);
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const home = await mkdtemp(join(options.folder, 'home-'));
  const holding = { confined: true, asks: false };
  const own = environmentFor(preset, holding, { outer: {}, configured: {} });
  const agent = new AgentProcess(`detect-${preset.name}-${process.pid}`, {
    argv: [program, ...preset.args],
    env: { PATH: options.env['PATH'] ?? '', TMPDIR: home, ...own, HOME: home },
    cwd: home,
    workdir: home,
    confined: false,
    dispose: async () => undefined,
  });
  const ears = { update: () => undefined, permission: async () => NOBODY, garbage: () => undefined };
  const link = new Link(agent, ears, new ClientDoors(null, NOBODY_OWNS));
  try {
    return await answerOf(preset, agent, link, options);
  } finally {
    await agent.end();
    link.close();
    await rm(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

const NOBODY_OWNS = { touched: () => undefined, takeApproval: () => false };
const NOBODY = { outcome: { outcome: 'cancelled' } } as const;

async function answerOf(
  preset: Preset,
  agent: AgentProcess,
  link: Link,
  { version, initializeMs = WAITS.initializeMs }: DetectOptions,
): Promise<Answer> {
  const nothing = { version: null, can: null };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((resolve) => {
    const words = (): string =>
      hangs(preset, 'to its first message', initializeMs, agent.errors.text).message;
    timer = setTimeout(() => resolve({ ...nothing, problem: words() }), initializeMs);
  });
  const gone = agent.exited.then(async (exit): Promise<Answer> => {
    await agent.end();
    return { ...nothing, problem: exitFailure(preset, exit, agent.errors.text, false).message };
  });
  const said = link.initialize(version).then(
    (announced) => understood(preset, announced),
    // A connection that broke is a process that ended, which says more.
    (error: unknown) =>
      'code' in Object(error)
        ? { ...nothing, problem: requestFailed(preset, 'at its first message', error).message }
        : gone,
  );
  try {
    return await Promise.race([said, gone, late]);
  } finally {
    clearTimeout(timer);
  }
}

function understood(preset: Preset, announced: Announced): Answer {
  const { protocol, version, loads, resumes, steers, httpMcp } = announced;
  const resume = preset.quirks.resumes && (loads || resumes);
  return {
    version: version || null,
    can: { resume, steer: steers, httpTools: httpMcp },
    problem: protocol === 1 ? null : tooOld(preset, version ? `${version} ` : '').message,
  };
}

/** Found by looking: a key in the environment, or the file of a login. */
export function loginOf(
  preset: Preset,
  { env, home }: Pick<DetectOptions, 'env' | 'home'>,
): Detected['login'] {
  const keys = Object.entries(env).some(
    ([name, value]) => value && /KEY|TOKEN/.test(name) && preset.passes.some((pattern) => pattern.test(name)),
  );
  if (keys || preset.credentials.some((path) => existsSync(join(home, path)))) return 'yes';
  // On a Mac Claude Code keeps it where only it can look.
  const hidden = preset.name === 'claude' && process.platform === 'darwin';
  return hidden || (preset.credentials.length === 0 && preset.passes.length === 0) ? 'unknown' : 'no';
}

async function readKnown(file: string, key: string): Promise<(Answer & { program: string }) | null> {
  try {
    const value = JSON.parse(await readFile(file, 'utf8')) as Answer & { key: string; program: string };
    const { key: kept, ...answer } = value;
    // Nobody but us writes there: what has our key has our shape.
    return kept === key ? answer : null;
  } catch {
    return null;
  }
}

async function keep(file: string, value: object): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const whole = `${file}.${process.pid}`;
  await writeFile(whole, JSON.stringify(value), { mode: 0o600 });
  await rename(whole, file);
}
