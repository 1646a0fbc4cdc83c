import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isReveilleError } from '@reveille/protocol';
import { agentsOf, backendsHere } from '../agents.ts';
import { command } from '../command/spec.ts';
import type { Io } from '../io.ts';
import { paintOf, print } from '../reach.ts';
import { repositoryIfAny, type Repository } from '../repository.ts';
import { configHere } from '../trusted.ts';
import { backendWords } from './agent.ts';
import { supervisionWords, words as daemonWords } from './daemon.ts';
import { installedService } from './daemon-service.ts';
import { examineBackends } from './doctor-backends.ts';
import { reportLines, type Finding } from './doctor-report.ts';

type Examine = (io: Io, repository: Repository | null) => Promise<readonly Finding[]>;

/** Everything that is looked at, in this order. What the room of worktrees examines (files, sandbox) belongs at the end. */
const EXAMINED: readonly Examine[] = [
  system,
  dataFolder,
  configuration,
  daemon,
  agents,
  examineBackends,
  languageServers,
  boundary,
];

/** Git, the file system, and what the sandbox holds back here: the attacks are run, in a repository made for it. */
async function boundary(_io: Io, repository: Repository | null): Promise<readonly Finding[]> {
  const { examine } = await import('@reveille/worktrees');
  const { usedByTree } = await import('@reveille/daemon');
  return await examine({ measure: usedByTree, ...(repository ? { repositoryPath: repository.top } : {}) });
}

export const doctor = command({
  name: 'doctor',
  group: 'Begin',
  summary: 'says what is installed, what is missing, and what to do',
  usage: '',
  about:
    'What does not work stands first, then what could be better; the last line says what to do first. Exit code 1 if something does not work. Nothing is changed or installed; agents that are installed are asked, with an empty home, what they can do.',
  options: { all: { type: 'boolean', means: 'every check on a line of its own, also those that held' } },
  json: '{ findings: [{ area, name, verdict: "good" | "weak" | "bad", expected, got, advice, command }] }; command is there if there is one to paste.',
  async run(call) {
    const repository = await repositoryIfAny(call);
    const findings: Finding[] = [];
    for (const look of EXAMINED) {
      for (const finding of await look(call.io, repository))
        // What both look at is said once.
        if (!findings.some(({ name }) => name === finding.name)) findings.push(finding);
    }
    const { all } = call.options;
    const look = { columns: call.io.out.columns ?? 100, paint: paintOf(call), all };
    print(call, { findings }, () => reportLines(findings, look));
    return findings.some(({ verdict }) => verdict === 'bad') ? 1 : 0;
  },
});

const run = promisify(execFile);
const NODE = 24;
const GIT = [2, 38] as const;

async function system(io: Io): Promise<Finding[]> {
  const node = process.versions.node;
  const recent = Number.parseInt(node, 10) >= NODE;
  return [
    {
      area: 'system',
      name: 'Node.js',
      verdict: recent ? 'good' : 'bad',
      expected: `${NODE} or newer`,
      got: node,
      advice: recent ? '' : `Install Node ${NODE}.`,
    },
    await git(io),
  ];
}

async function git({ env }: Io): Promise<Finding> {
  const about = { area: 'system', name: 'git', expected: `${GIT.join('.')} or newer` };
  try {
    const { stdout } = await run('git', ['--version'], { env });
    const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout)?.slice(1) ?? []).map(Number);
    const recent = major > GIT[0] || (major === GIT[0] && minor >= GIT[1]);
    return {
      ...about,
      verdict: recent ? 'good' : 'bad',
      got: stdout.trim(),
      advice: recent ? '' : 'Install a newer git.',
    };
  } catch {
    return { ...about, verdict: 'bad', got: 'not found', advice: 'Install git and put it on the PATH.' };
  }
}

/** What a daemon needs to start, in the words that a start would fail with. */
async function dataFolder({ env }: Io): Promise<Finding[]> {
  const { examinePlace, placeOf } = await import('@reveille/daemon');
  try {
    const place = placeOf(env);
    return examinePlace(place).map(({ name, path, problem }) => ({
      area: 'daemon',
      name,
      verdict: problem === null ? 'good' : 'bad',
      expected: EXPECTED[name],
      got: problem ?? (name === 'data folder' ? folderWords(path) : path),
      advice: '',
    }));
  } catch (error) {
    const got = error instanceof Error ? error.message : String(error);
    const about = { area: 'daemon', name: 'data folder', expected: EXPECTED['data folder'] };
    return [{ ...about, verdict: 'bad', got, advice: '' }];
  }
}

const EXPECTED = {
  'data folder': 'a folder of your own that can be written, with room on its disk',
  identity: 'a secret that only you can read',
  'lock file': 'a file of yours that names the daemon',
  guard: 'an undamaged file that one daemon at a time can hold',
  database: 'an undamaged file',
} as const;

const folderWords = (path: string): string => (existsSync(path) ? path : `${path} (made when it is needed)`);

async function configuration(io: Io, repository: Repository | null): Promise<Finding[]> {
  const about = { area: 'daemon', name: 'configuration', expected: 'no problem' };
  try {
    const { origins, ignored } = await configHere(io, repository);
    const sources = [...new Set(origins.values())];
    const got =
      sources.length > 0
        ? `${origins.size} set by ${sources.join(', ')}`
        : 'nothing is set: the defaults hold';
    const advice =
      ignored.length > 0 ? `${ignored.join(', ')} does not count until you trust it: reveille init` : '';
    return [{ ...about, verdict: ignored.length > 0 ? 'weak' : 'good', got, advice }];
  } catch (error) {
    if (!isReveilleError(error)) throw error;
    return [
      {
        ...about,
        verdict: 'bad',
        got: error.message,
        advice: 'Correct what is named; nothing starts before.',
      },
    ];
  }
}

async function daemon({ env }: Io): Promise<Finding[]> {
  const { daemonStatus } = await import('@reveille/daemon/connect');
  const status = await daemonStatus({ env });
  const { supervision } = status;
  const silent = status.state === 'silent';
  const failed = status.state === 'none' ? supervision?.gaveUp : null;
  const found: Finding = {
    area: 'daemon',
    name: 'daemon',
    verdict: silent ? 'bad' : failed ? 'weak' : 'good',
    expected: 'running, or started when it is needed',
    got: failed ? `The last start failed: ${failed.why}` : daemonWords(status),
    advice: silent ? 'reveille daemon stop' : '',
  };
  const installed = installedService({ env });
  const runs = status.state !== 'none' && supervision !== null;
  const words = runs
    ? supervisionWords(supervision)
    : 'A daemon that a command starts has its own supervisor.';
  const supervised: Finding = {
    area: 'daemon',
    name: 'supervision',
    verdict: runs && supervision.by === 'nobody' ? 'weak' : 'good',
    expected: 'somebody who starts the daemon again if it dies',
    got: installed === null ? words : `${words} The system is told to run it by ${installed}.`,
    advice: '',
  };
  return [found, supervised];
}

/** Programs that backends run. They are only looked for: starting one could have effects. */
const PROGRAMS = ['claude', 'codex-acp', 'gemini', 'copilot', 'opencode'];

async function agents(io: Io, repository: Repository | null): Promise<Finding[]> {
  using catalogue = await agentsOf(io, repository);
  const problems = catalogue.problems();
  const [first] = problems;
  const untrusted = catalogue.list().filter(({ state }) => state === 'untrusted').length;
  const found = PROGRAMS.filter((program) => onPath(io.env, program));
  const { installClaude, placeOf } = await import('@reveille/daemon');
  return [
    {
      area: 'agents',
      name: 'agents',
      verdict: problems.some(({ severity }) => severity === 'error')
        ? 'bad'
        : problems.length + untrusted > 0
          ? 'weak'
          : 'good',
      expected: 'every definition can be used',
      got: `${catalogue.names().length} can be used, ${untrusted} not trusted, ${problems.length} problems`,
      advice: first
        ? `${first.path}:${first.line ?? 1}: ${first.message} (reveille agent list has all)`
        : untrusted > 0
          ? 'reveille init'
          : '',
    },
    await backends(io),
    {
      area: 'agents',
      name: 'programs',
      verdict: found.length > 0 ? 'good' : 'weak',
      expected: `one of ${PROGRAMS.join(', ')}`,
      got: found.length > 0 ? found.join(', ') : 'none on the PATH',
      ...(found.length > 0
        ? { advice: '' }
        : {
            advice: 'Install one for agents that think; scripted agents need none. For Claude Code:',
            command: installClaude(placeOf(io.env).home),
          }),
    },
  ];
}

/** What the daemon can run agents on, and which of them is the default and why. */
async function backends(io: Io): Promise<Finding> {
  const about = { area: 'agents', name: 'backends', expected: 'at least one, the default among them' };
  const here = await backendsHere(io);
  if (here === null)
    return { ...about, verdict: 'good', got: 'known once the settings are right', advice: '' };
  const there = here.backends;
  const got = backendWords(there);
  if (!there.some(({ isDefault }) => isDefault)) {
    const advice = 'The default backend is not here: set engine.defaultBackend to one that is.';
    return { ...about, verdict: 'weak', got, advice };
  }
  if (!here.afterRestart) return { ...about, verdict: 'good', got, advice: '' };
  const { name, why } = here.afterRestart;
  const advice = `After a restart of the daemon ${name} is the default: ${why}. To end this one:`;
  return { ...about, verdict: 'weak', got, advice, command: 'reveille daemon stop' };
}

/** In which languages symbols are found by a server. They are only looked for; others are found by text. */
async function languageServers({ env }: Io): Promise<Finding[]> {
  const { loadConfig, placeOf, serversIfStarted } = await import('@reveille/daemon');
  const place = placeOf(env);
  const about = { area: 'navigation', name: 'languages', expected: 'a language server for what you write' };
  try {
    const { config } = loadConfig({ env, userFile: place.userConfig });
    if (!config.navigation.enabled)
      return [{ ...about, verdict: 'good', got: 'navigation is switched off', advice: '' }];
    const all = await serversIfStarted({ config, place, env });
    const named = (isThere: boolean): string =>
      all.flatMap(({ language, program }) => ((program !== null) === isThere ? [language] : [])).join(', ');
    // The one that comes with us.
    const own = all.find(({ language }) => language === 'typescript');
    const verdict = own?.program ? 'good' : 'weak';
    const got = `${named(true)} by their servers; by text: ${named(false) || 'none'}`;
    return [{ ...about, verdict, got, advice: own?.advice ?? '' }];
  } catch {
    return [];
  }
}

function onPath(env: NodeJS.ProcessEnv, program: string): boolean {
  return (env['PATH'] ?? '')
    .split(delimiter)
    .some((folder) => isProgram(join(folder || dirname('.'), program)));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
