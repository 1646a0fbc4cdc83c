// Installs the real agents that `npm run test:agents` runs, by exact version, into the user's cache: they are too large
// for the repository, and nobody who only uses or tests Reveille needs them.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The package of each, as it was when the tests were last seen to pass. */
export const AGENTS = {
  claude: '@anthropic-ai/claude-agent-sdk@0.3.325',
  codex: '@agentclientprotocol/codex-acp@2.6.0',
  gemini: '@google/gemini-cli@0.61.0',
  copilot: '@github/copilot@1.0.102',
  opencode: 'opencode-ai@1.18.33',
};

/** What npm leaves out without a word if it cannot have it: the program for this kind of machine. */
const PARTS = {
  claude: '@anthropic-ai/claude-agent-sdk',
  codex: '@openai/codex',
  copilot: '@github/copilot',
  opencode: 'opencode',
};

/** How npm says that it was the registry, or the way to it. */
const REGISTRY =
  /npm (?:error|ERR!) code (?:E\d{3}|ETARGET|ENOTFOUND|ECONN\w+|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)/;
/** A registry that answers is done long before. */
const LONGEST_MS = 300_000;

const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'reveille', 'agents');

/** Where an agent is installed, whether it is there or not. */
export const folderOf = (name) => join(cache, AGENTS[name].replaceAll('/', '+'));

/**
 * Installs what is missing, two at once. What the registry answered to those that it refused, by name; whatever else goes
 * wrong is thrown.
 */
export async function installAgents(say = console.log) {
  const refused = {};
  const missing = Object.keys(AGENTS).filter((name) => !existsSync(join(folderOf(name), 'node_modules')));
  const work = async () => {
    for (let name = missing.shift(); name !== undefined; name = missing.shift()) {
      say(`Installing ${AGENTS[name]} …`);
      const answer = await install(name);
      if (answer !== null) refused[name] = answer;
    }
  };
  await Promise.all([work(), work()]);
  return refused;
}

/** Null: it is there; otherwise what the registry said. */
async function install(name) {
  const folder = folderOf(name);
  const half = `${folder}.${process.pid}`;
  try {
    mkdirSync(half, { recursive: true });
    writeFileSync(join(half, 'package.json'), '{"private":true}');
    const quick = ['--no-audit', '--no-fund', '--fetch-retries=1', '--fetch-timeout=60000'];
    const args = ['install', '--save-exact', ...quick, AGENTS[name]];
    const { stderr } = await run('npm', args, { cwd: half, timeout: LONGEST_MS, encoding: 'utf8' });
    const part = PARTS[name] && `${PARTS[name]}-${process.platform}-${process.arch}`;
    if (part && !existsSync(join(half, 'node_modules', part)))
      return `npm came back without ${part}, which is optional to it: the registry did not give it.\n${stderr}`;
    // Whole or not at all: a half of one would be taken for it.
    if (!existsSync(folder)) renameSync(half, folder);
    return null;
  } catch (error) {
    const said = String(error.stderr || error);
    if (error.killed) return `The registry did not give it within ${LONGEST_MS / 60_000} minutes.\n${said}`;
    if (REGISTRY.test(said)) return said;
    throw new Error(`${AGENTS[name]} could not be installed.\n${said}`, { cause: error });
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const refused = await installAgents();
  for (const [name, answer] of Object.entries(refused)) console.error(`${name} was refused:\n${answer}`);
  process.exitCode = Object.keys(refused).length > 0 ? 1 : 0;
}
