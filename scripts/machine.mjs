// Programs of the operating system that some test suites need. `npm test` installs those that are missing where it can, and names
// the suites that it has to leave out.
import { execFileSync, spawnSync } from 'node:child_process';
import fs, { accessSync, constants, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Suites by the programs they need. `find`: true if the suite can run here, else the reason. `demand`: the variable that makes the
 * suite's tests fail, instead of being skipped, if they find nothing to run on; set for every suite that can run here.
 */
const SUITES = [
  {
    name: 'sandbox',
    packages: ['bubblewrap'],
    demand: 'REVEILLE_REQUIRE_SANDBOX',
    find: () => (hasProgram('bwrap') ? sandboxWorks() : 'bubblewrap is not installed'),
  },
  {
    name: 'dashboard in a browser',
    packages: ['chromium'],
    demand: 'REVEILLE_REQUIRE_BROWSER',
    find: () =>
      Boolean(process.env.REVEILLE_CHROMIUM) ||
      ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].some(hasProgram) ||
      'no Chromium is installed',
  },
  {
    name: 'Postgres store',
    packages: ['postgresql'],
    demand: 'REVEILLE_REQUIRE_POSTGRES',
    find: () =>
      Boolean(process.env.REVEILLE_TEST_PG_URL) ||
      hasProgram('postgres') ||
      fs.globSync(['/usr/lib/postgresql/*/bin/postgres', '/opt/homebrew/opt/postgresql*/bin/postgres'])
        .length > 0 ||
      'no Postgres is installed',
  },
  {
    // Without it, that every commit is synced is asked of SQLite only (STO6.1 in packages/stores/test).
    name: 'power cut',
    packages: ['gcc', 'libc6-dev'],
    demand: 'REVEILLE_REQUIRE_COMPILER',
    find: () =>
      (process.platform === 'linux' && ['cc', 'gcc', 'clang'].some(hasProgram)) ||
      'no C compiler is installed',
  },
  {
    name: 'navigation in C++ and Go',
    packages: ['clangd', 'gopls', 'golang-go'],
    demand: 'REVEILLE_REQUIRE_SERVERS',
    find: () => {
      const missing = ['clangd', 'gopls', 'go'].filter((program) => !hasProgram(program));
      return missing.length === 0 || `${missing.join(', ')}: not installed`;
    },
  },
];

/**
 * Installs what is missing, if this is root on a system with apt. Returns the variables for the tests, and a sentence for each
 * suite that cannot run here: its name, why, and what to do.
 */
export function prepareMachine(say = console.log) {
  const missing = SUITES.filter(({ find }) => find() !== true).flatMap(({ packages }) => packages);
  if (missing.length > 0 && canInstall()) install(missing, say);
  const states = SUITES.map((suite) => ({ ...suite, found: suite.find() }));
  const env = states.filter(({ found }) => found === true).map(({ demand }) => [demand, '1']);
  const leftOut = states
    .filter(({ found }) => found !== true)
    .map(({ name, found, packages }) => `${name} (${found}; ${commandFor(packages)})`);
  return { env: Object.fromEntries(env), leftOut };
}

function hasProgram(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isProgram(join(folder, name)));
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not to be run
  }
}

/** The product's own probe: bubblewrap may be installed and still not be allowed to make a sandbox. */
function sandboxWorks() {
  const probe = join(import.meta.dirname, '../packages/worktrees/src/sandbox/probe.ts');
  const script = `const { findSandbox } = await import(${JSON.stringify(probe)});
    const { kind, why } = await findSandbox();
    console.log(JSON.stringify({ kind, why }));`;
  const args = ['--conditions=source', '--input-type=module', '--eval', script];
  const { kind, why } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  return kind === 'bubblewrap' || why;
}

const canInstall = () =>
  process.getuid?.() === 0 && hasProgram('apt-get') && process.env.REVEILLE_INSTALL !== 'no';

function install(packages, say) {
  say(`Installing for the tests: ${packages.join(', ')} (REVEILLE_INSTALL=no leaves them out)`);
  // The tests start servers of their own: no cluster of the system is needed.
  mkdirSync('/etc/postgresql-common', { recursive: true });
  const clusters = '/etc/postgresql-common/createcluster.conf';
  if (!existsSync(clusters)) writeFileSync(clusters, 'create_main_cluster = false\n');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = ['-y', '--no-install-recommends', '-o', 'Dpkg::Options::=--force-confold'];
  for (const args of [['update'], ['install', ...options, ...packages]]) {
    const { status, stdout, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' });
    if (status === 0) continue;
    say(`${stdout}${stderr}\napt-get ${args[0]} failed; its output is above. Going on without.`);
    return;
  }
}

const commandFor = (packages) =>
  process.platform === 'darwin'
    ? 'this suite runs on Linux'
    : `to run it: apt-get install ${packages.join(' ')}, or the same packages of your system`;
