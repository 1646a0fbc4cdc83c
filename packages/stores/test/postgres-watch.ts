import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs a throwaway Postgres for as long as stdin is open, then stops and deletes it: `postgres-watch.ts <folder of the
 * programs> <where to put it> [<uid> <gid>]`. The end of the process that started it, however it comes, closes
 * stdin. It says `ready <folder of the socket>` when the server answers.
 */
const [programs = '', place = '', uid, gid] = process.argv.slice(2);
const user = uid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
const folder = mkdtempSync(join(place, 'rvpg-'));
let server: ChildProcess | undefined;
let stopping: Promise<void> | undefined;

const stop = (code: number): Promise<void> => (stopping ??= stopNow(code));
process.stdin
  .on('end', () => void stop(0))
  .on('error', () => void stop(0))
  .resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));

try {
  await start();
  process.stdout.write(`ready ${folder}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  await stop(1);
}

async function start(): Promise<void> {
  if (uid !== undefined) chownSync(folder, Number(uid), Number(gid));
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const init = ['-D', data, '-U', 'reveille', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  const made = spawnSync(join(programs, 'initdb'), init, { ...user, cwd: folder, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || String(made.error)}`);
  // Only a socket in a folder of its own: no port to collide on, nobody else can connect. It is never to survive a
  // crash of the machine, so it need not wait for the disk.
  const settings = ['listen_addresses=', 'fsync=off', 'max_connections=60', 'shared_buffers=32MB'];
  const options = ['-D', data, '-k', folder, ...settings.flatMap((setting) => ['-c', setting])];
  server = spawn(join(programs, 'postgres'), options, { ...user, cwd: folder, stdio: 'ignore' });
  for (let tries = 0; !answers(); tries++) {
    if (server.exitCode !== null || tries > 200) throw new Error('The Postgres server did not start.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function answers(): boolean {
  if (!existsSync(join(folder, '.s.PGSQL.5432'))) return false;
  return spawnSync(join(programs, 'pg_isready'), ['-h', folder, '-q'], { stdio: 'ignore' }).status === 0;
}

async function stopNow(code: number): Promise<void> {
  if (server && server.exitCode === null && server.signalCode === null) {
    const ended = once(server, 'exit');
    server.kill('SIGINT');
    const impatient = setTimeout(() => server?.kill('SIGQUIT'), 5_000);
    await ended;
    clearTimeout(impatient);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.exit(code);
}
