// Runs the tests with the real agents of their vendors. One that cannot be had is named, with what the registry said; a
// test of it that does not run for any other reason is a failure.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { AGENTS, folderOf, installAgents } from './agents.mjs';

const root = join(import.meta.dirname, '..');
const refused = await installAgents();
for (const [name, answer] of Object.entries(refused))
  console.error(`${name} (${AGENTS[name]}) is left out: the registry refused it.\n${answer}`);

const installed = Object.keys(AGENTS).filter((name) => !(name in refused));
const env = {
  ...process.env,
  REVEILLE_AGENTS: JSON.stringify(Object.fromEntries(installed.map((name) => [name, folderOf(name)]))),
  REVEILLE_AGENTS_REFUSED: Object.keys(refused).join(','),
};
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
// One file after the other; how many tests of it at once is said where the tests are configured.
const args = [vitest, 'run', '--project', 'agents', '--maxWorkers=1', ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1;
