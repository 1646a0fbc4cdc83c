import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { git } from '../git/git.ts';
import type { Confinement } from '../sandbox/confinement.ts';

/**
 * A small world to break out into: a person's repository and home, two worktrees, our own records, a process and servers of
 * this machine. Everything in it that must not be read holds the secret. It is thrown away afterwards, so an attack
 * that succeeds harms nobody.
 */
export interface Scene extends AsyncDisposable {
  readonly folder: string;
  readonly secret: string;
  readonly home: string;
  /** The environment the sandbox is opened with: it has secrets too. */
  readonly env: NodeJS.ProcessEnv;
  readonly checkout: Checkout;
  /** What an attack is told: it knows every path, number and name it could want. */
  readonly places: Readonly<Record<string, string>>;
  readonly daemonPort: number;
  readonly listedPort: number;
  /** What is no longer as it was, outside. */
  damage(): Promise<string[]>;
}

export const RESPONSE = { daemon: 'the daemon answers', listed: 'the listed host answers' } as const;

export async function makeScene(options: { readonly kind?: Checkout['kind'] } = {}): Promise<Scene> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reveille-doctor-')));
  const started: (() => Promise<unknown>)[] = [async () => rm(folder, { recursive: true, force: true })];
  const dispose = async (): Promise<void> => {
    for (const stop of started.reverse()) await stop();
  };
  try {
    return await furnish({ folder, kind: options.kind ?? 'clone', started, dispose });
  } catch (error) {
    await dispose();
    throw error;
  }
}

interface Site {
  readonly folder: string;
  readonly kind: Checkout['kind'];
  /** What must be stopped again, the last one first. */
  readonly started: (() => Promise<unknown>)[];
  readonly dispose: () => Promise<void>;
}

async function furnish({ folder, kind, started, dispose }: Site): Promise<Scene> {
  const secret = `secret-${randomUUID()}`;
  const home = join(folder, 'home');
  const checkout = await makeRepository(folder, kind, secret);
  const { root, home: worktrees } = checkout.repository;
  await fill(folder, {
    'home/.ssh/id_ed25519': secret,
    'home/.bashrc': `# ${secret}`,
    'home/.agent/token': 'old',
    'outside.txt': secret,
  });
  await mkdir(join(folder, 'tmp'));
  const victim = startVictim(secret);
  started.push(async () => stopVictim(victim));
  const abstract = `reveille-${randomUUID()}`;
  const listen = async (says: string, at: number | string): Promise<Server> => {
    const server = await speak(says, at);
    started.push(async () => new Promise((resolve) => server.close(resolve)));
    return server;
  };
  const [daemonPort, listedPort, privatePort] = [
    portOf(await listen(RESPONSE.daemon, 0)),
    portOf(await listen(RESPONSE.listed, 0)),
    portOf(await listen(secret, 0)),
  ];
  const socket = join(folder, 'host.sock');
  await listen(secret, socket);
  if (process.platform === 'linux') await listen(secret, `\0${abstract}`);
  const before = await describe(folder);
  const env = { ...process.env, REVEILLE_TOKEN: secret, API_KEY: secret, SSH_AUTH_SOCK: socket };
  return {
    folder,
    secret,
    home,
    env,
    checkout,
    daemonPort,
    listedPort,
    places: {
      PERSON: root,
      OTHER: join(worktrees, 'other'),
      OURS: join(worktrees, '.reveille'),
      OUTSIDE: join(folder, 'outside.txt'),
      VICTIM: String(victim.pid),
      DAEMON: String(daemonPort),
      PRIVATE: String(privatePort),
      LISTED: String(listedPort),
      SOCKET: socket,
      ABSTRACT: abstract,
      NAMESPACES: (await namespaces()).join(' '),
    },
    damage: async () => {
      const changed = differences(before, await describe(folder));
      return isKilled(victim) ? [...changed, 'a process of this machine'] : changed;
    },
    [Symbol.asyncDispose]: dispose,
  };
}

/** Of the scene's checkout, as an agent of every day would have it. */
export function confinementIn(scene: Scene, changes: Partial<Confinement> = {}): Confinement {
  return {
    checkout: scene.checkout,
    write: true,
    network: { kind: 'off' },
    loopback: [scene.daemonPort],
    writes: [join(scene.home, '.agent')],
    tmp: join(scene.folder, 'tmp'),
    ...changes,
    env: { ...scene.places, ...changes.env },
  };
}

async function fill(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

const AUTHOR = {
  GIT_AUTHOR_NAME: 'Doctor',
  GIT_AUTHOR_EMAIL: 'doctor@example.invalid',
  GIT_COMMITTER_NAME: 'Doctor',
  GIT_COMMITTER_EMAIL: 'doctor@example.invalid',
};

/** A repository with one commit, and the worktree `mine` of it, whose agent is to be kept in. */
async function makeRepository(folder: string, kind: Checkout['kind'], secret: string): Promise<Checkout> {
  const root = join(folder, 'person');
  const home = join(folder, 'person.worktrees');
  const gitDir = join(root, '.git');
  const repository = { root, gitDir, home, objectStores: [join(gitDir, 'objects')] };
  await fill(folder, {
    'person/a.txt': 'first\n',
    'person/test.mjs': "import test from 'node:test';\ntest('passes', () => {});\n",
    'person.worktrees/other/secret.txt': secret,
    'person.worktrees/.reveille/mine/record.json': secret,
    'person.worktrees/mine/.keep': '',
  });
  const person = { gitDir: repository.gitDir, workTree: root };
  await git({ ...person, args: ['init', '-q', '-b', 'main'] });
  await git({ ...person, args: ['add', 'a.txt', 'test.mjs'] });
  await git({ ...person, args: ['commit', '-q', '-m', 'first'], env: AUTHOR });
  await fill(folder, { 'person/secret.txt': secret });
  const start = (await git({ ...person, args: ['rev-parse', 'HEAD'] })).stdout.trim();
  const path = join(home, 'mine');
  const checkout = { repository, name: 'mine', kind, path, branch: 'reveille/plan/mine', start };
  const agentGitDir = kind === 'clone' ? join(path, '.git') : join(repository.gitDir, 'worktrees', 'mine');
  if (kind === 'clone') await makeClone({ ...checkout, agentGitDir });
  else await makeLinked({ ...checkout, agentGitDir });
  const room = join(home, '.reveille', 'mine');
  return { ...checkout, agentGitDir, room, ownGitDir: join(room, 'own.git') };
}

type Unfinished = Pick<Checkout, 'repository' | 'path' | 'branch' | 'start' | 'agentGitDir'>;

async function makeClone({ repository, path, branch, start, agentGitDir }: Unfinished): Promise<void> {
  const place = { gitDir: agentGitDir, workTree: path };
  await git({ ...place, args: ['init', '-q', '-b', branch] });
  await fill(agentGitDir, { 'objects/info/alternates': `${join(repository.gitDir, 'objects')}\n` });
  await git({ ...place, args: ['config', 'user.name', 'Agent'] });
  await git({ ...place, args: ['config', 'user.email', 'agent@example.invalid'] });
  await git({ ...place, args: ['reset', '-q', '--hard', start] });
}

async function makeLinked({ repository, path, branch, start, agentGitDir }: Unfinished): Promise<void> {
  await git({ gitDir: repository.gitDir, args: ['update-ref', `refs/heads/${branch}`, start] });
  await fill(agentGitDir, {
    HEAD: `ref: refs/heads/${branch}\n`,
    commondir: '../..\n',
    gitdir: `${join(path, '.git')}\n`,
  });
  await fill(path, { '.git': `gitdir: ${agentGitDir}\n` });
  await git({ gitDir: agentGitDir, workTree: path, args: ['reset', '-q', '--hard', start] });
}

/** Waits for an end of its input that never comes. The secret is in its environment and on its command line. */
function startVictim(secret: string): ChildProcess {
  return spawn('/bin/sh', ['-c', 'read line', secret], {
    env: { VICTIM_TOKEN: secret },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
}

/** Dead, or about to be: on a busy machine it takes a moment to die, and we one to hear of it. */
function isKilled({ exitCode, signalCode, pid }: ChildProcess): boolean {
  if (exitCode !== null || signalCode !== null) return true;
  if (!existsSync('/proc/self/status')) return false;
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const pending = [...status.matchAll(/^S(?:ig|hd)Pnd:\s*([0-9a-f]+)$/gm)].map(([, bits = '0']) =>
      BigInt(`0x${bits}`),
    );
    return /^State:\s*[ZX]/m.test(status) || pending.some((bits) => (bits & KILL) !== 0n);
  } catch {
    return true;
  }
}

/** The bit of signal 9 in a mask of signals. */
const KILL = 1n << 8n;

async function stopVictim(victim: ChildProcess): Promise<void> {
  if (victim.exitCode !== null || victim.signalCode !== null) return;
  victim.kill('SIGKILL');
  await once(victim, 'close');
}

/** Answers whoever connects, HTTP or not, with the same words. */
async function speak(says: string, at: number | string): Promise<Server> {
  const server = createServer((client: Socket) => {
    client.on('error', () => client.destroy());
    client.resume();
    client.end(
      `HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${says.length}\r\n\r\n${says}`,
    );
  });
  if (typeof at === 'number') server.listen(at, '127.0.0.1');
  else server.listen(at);
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function namespaces(): Promise<string[]> {
  const names = await readdir('/proc/self/ns').catch(() => []);
  return Promise.all(names.map(async (name) => readlink(join('/proc/self/ns', name))));
}

/** What an agent may change, and what changes by itself. */
const MAY_CHANGE = ['/person.worktrees/mine', '/home/.agent', '/tmp', '/host.sock'];

/** Path → what is there, for everything in the scene that must stay as it is. */
async function describe(folder: string, below = ''): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const name = `${below}/${entry.name}`;
    if (MAY_CHANGE.includes(name)) continue;
    if (entry.isDirectory()) {
      found.set(name, 'folder');
      for (const [path, text] of await describe(folder, name)) found.set(path, text);
    } else if (entry.isSymbolicLink()) found.set(name, `link ${await readlink(join(folder, name))}`);
    else
      found.set(
        name,
        createHash('sha256')
          .update(await readFile(join(folder, name)))
          .digest('hex'),
      );
  }
  return found;
}

function differences(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter((name) => before.get(name) !== now.get(name));
}
