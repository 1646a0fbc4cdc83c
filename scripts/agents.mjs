// Installs the real agents that `npm run test:agents` runs, by exact version, into the user's cache: they are too large
// for the repository, and nobody who only uses or tests Reveille needs them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The package of each, as it was when the tests were last seen to pass. */
export const AGENTS = {
  claude: '@anthropic-ai/claude-agent-sdk@0.3.325',
  codex: '@agentclientprotocol/codex-acp@2.6.0',
  gemini: '@google/gemini-cli@0.61.0',
  copilot: '@github/copilot@1.0.102',
  opencode: 'opencode-ai@1.18.33',
};

const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'reveille', 'agents');

/** Where an agent is installed, whether it is there or not. */
export const folderOf = (name) => join(cache, AGENTS[name].replaceAll('/', '+'));

/** Installs what is missing. What the registry answered to those that it refused, by name. */
export function installAgents(say = console.log) {
  const refused = {};
  for (const name of Object.keys(AGENTS)) {
    const folder = folderOf(name);
    if (existsSync(join(folder, 'node_modules'))) continue;
    say(`Installing ${AGENTS[name]} …`);
    const half = `${folder}.${process.pid}`;
    try {
      mkdirSync(half, { recursive: true });
      writeFileSync(join(half, 'package.json'), '{"private":true}');
      const args = ['install', '--no-audit', '--no-fund', '--save-exact', AGENTS[name]];
      execFileSync('npm', args, { cwd: half, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
      // Whole or not at all: a half of one would be taken for it.
      renameSync(half, folder);
    } catch (error) {
      refused[name] = String(error.stderr || error);
      rmSync(half, { recursive: true, force: true });
    }
  }
  return refused;
}

if (process.argv[1] === import.meta.filename) {
  const refused = installAgents();
  for (const [name, answer] of Object.entries(refused)) console.error(`${name} was refused:\n${answer}`);
  process.exitCode = Object.keys(refused).length > 0 ? 1 : 0;
}
