// Brings node_modules to what package-lock.json says, and says so as it goes; returns at once when it is there.
// Runs before `npm start`, `npm test` and the others, so it needs no package and works on Node 20.
//
// What must hold:
// - The stamp is removed before npm starts and written after it succeeded: an interrupted install is done again.
// - One install at a time. The lock names its holder and the npm it started; when both are gone, it is void.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const NEEDED_NODE = 24;
const LONGEST_WAIT_MS = 10 * 60_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, 'node_modules', '.reveille-setup');
const lockFile = join(root, '.cache', 'setup.lock');

const stamp = wantedStamp();
if (process.argv.includes('--installed')) {
  // npm's own `dependencies` of this project: somebody ran `npm install` or `npm ci` by hand.
  if (nodeOfScripts() >= NEEDED_NODE) writeFileSync(stampFile, stamp);
} else if (!isSetUp()) {
  await setUp();
}

async function setUp() {
  const started = Date.now();
  await takeLock(started);
  try {
    if (isSetUp()) return; // the one we waited for did it
    console.log('Setting up Reveille (once)');
    rmSync(stampFile, { force: true });
    await step('installing packages and Node 24 with npm', started, install);
    requireNewNode();
    writeFileSync(stampFile, stamp);
    console.log('Set up');
  } catch (error) {
    console.error(error.message);
    process.exitCode ||= 1;
  } finally {
    rmSync(lockFile, { force: true });
  }
}

/** What the install depends on: the lock file, the dependencies each manifest asks for, the machine's kind. */
function wantedStamp() {
  const rooms = ['packages', 'apps'].flatMap((dir) =>
    readdirSync(join(root, dir)).map((name) => join(dir, name)),
  );
  const manifests = ['.', ...rooms.sort((a, b) => a.localeCompare(b))]
    .map((room) => join(root, room, 'package.json'))
    .filter((file) => existsSync(file));
  const wishes = manifests.map((file) => {
    const { name, dependencies, devDependencies, optionalDependencies, workspaces } = JSON.parse(
      readFileSync(file),
    );
    return { name, dependencies, devDependencies, optionalDependencies, workspaces };
  });
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(JSON.stringify([wishes, process.platform, process.arch]))
    .digest('hex');
}

function isSetUp() {
  const inModules = (...path) => existsSync(join(root, 'node_modules', ...path));
  return (
    inModules('.reveille-setup') &&
    readFileSync(stampFile, 'utf8') === stamp &&
    // npm removes this one when it begins to change node_modules and writes it when it is done.
    inModules('.package-lock.json') &&
    (inModules('.bin', 'node') || Number.parseInt(process.versions.node, 10) >= NEEDED_NODE)
  );
}

/** Shows a step as it goes: every second on a terminal, every ten in a log. */
async function step(name, started, work) {
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(0)} s`;
  const line = () => `  ${name} … ${seconds()}`;
  const show = process.stdout.isTTY ? () => process.stdout.write(`\r${line()}`) : () => console.log(line());
  const timer = setInterval(show, process.stdout.isTTY ? 1000 : 10_000);
  show();
  try {
    await work();
    console.log(`${process.stdout.isTTY ? '\r' : ''}  ${name}: done after ${seconds()}`);
  } catch (error) {
    if (process.stdout.isTTY) console.log();
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** `npm ci` whatever the user's own settings leave out; its output is shown only when it fails. */
async function install() {
  const args = ['ci', '--include=dev', '--include=optional', '--engine-strict=false', '--prefer-offline'];
  // In a process group of its own, so that a Ctrl-C can end npm and all that npm started.
  const npm = spawn('npm', args, {
    cwd: root,
    env: envWithoutOurNode(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (npm.pid) writeLock(process.pid, npm.pid);
  const stopNpm = (signal) => {
    process.exitCode = signal === 'SIGINT' ? 130 : 143;
    killGroup(npm.pid, 'SIGTERM');
    setTimeout(() => killGroup(npm.pid, 'SIGKILL'), 3000).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stopNpm);

  let output = '';
  npm.stdout.on('data', (chunk) => (output += chunk));
  npm.stderr.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve) => {
    npm.on('error', (error) => resolve(error.message));
    npm.on('close', resolve);
  });
  if (process.exitCode) throw new Error('Set-up was interrupted; the next run starts it again.');
  if (code !== 0) throw new Error(`${output}\nnpm ci failed (${code}); its output is above.`);
}

/** A Node inside node_modules is about to be replaced: npm must run on the one outside. */
function envWithoutOurNode() {
  const outside = process.env.PATH.split(delimiter).filter(
    (dir) => !dir.startsWith(join(root, 'node_modules') + sep),
  );
  return { ...process.env, PATH: outside.join(delimiter) };
}

function requireNewNode() {
  if (nodeOfScripts() >= NEEDED_NODE) return;
  throw new Error(
    `npm did not bring Node ${NEEDED_NODE} along, because install scripts are switched off here: ` +
      `run \`npm ci --ignore-scripts=false\`, or install Node ${NEEDED_NODE} yourself.`,
  );
}

/** The major version of the `node` that npm scripts find: the one in node_modules/.bin, if it got there. */
function nodeOfScripts() {
  const bin = join(root, 'node_modules', '.bin');
  const env = { ...process.env, PATH: bin + delimiter + process.env.PATH };
  return Number.parseInt(
    execFileSync('node', ['-p', 'process.versions.node'], { env, encoding: 'utf8' }),
    10,
  );
}

async function takeLock(started) {
  mkdirSync(dirname(lockFile), { recursive: true });
  for (let told = false; !tryLock();) {
    const holders = readHolders();
    if (!holders.some(isAlive)) {
      breakLock(holders);
      continue;
    }
    if (!told) console.log(`Another set-up is at work (process ${holders.join(', ')}); waiting for it`);
    told = true;
    if (Date.now() - started > LONGEST_WAIT_MS) {
      console.error(`It takes too long. If no set-up is running, delete ${lockFile} and try again.`);
      process.exit(1);
    }
    await sleep(200);
  }
}

/** A lock appears with its content or not at all: written aside, then linked, which fails if there is one. */
function tryLock() {
  const mine = `${lockFile}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, lockFile);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(mine);
  }
}

function writeLock(...pids) {
  const mine = `${lockFile}.${process.pid}`;
  writeFileSync(mine, pids.join(' '));
  renameSync(mine, lockFile);
}

function readHolders() {
  try {
    return readFileSync(lockFile, 'utf8').split(' ').map(Number);
  } catch {
    return []; // released just now
  }
}

/** Two who find the same dead holder must not remove each other's lock: whoever moved a living one puts it back. */
function breakLock(deadHolders) {
  const aside = `${lockFile}.broken.${process.pid}`;
  try {
    renameSync(lockFile, aside);
    if (readFileSync(aside, 'utf8') !== deadHolders.join(' ')) linkSync(aside, lockFile);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isAlive(pid) {
  if (pid === process.pid) return false; // a number used again, as in a fresh container
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function killGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch {
    // already gone
  }
}
