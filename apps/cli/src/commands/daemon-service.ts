import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { ReveilleError } from '@reveille/protocol';
import { command } from '../command/spec.ts';
import type { Io } from '../io.ts';
import { PROGRAM } from '../program.ts';
import { print } from '../reach.ts';
import { serviceOf, type Service } from '../service/files.ts';
import { UsageError } from '../usage.ts';

const GROUP = 'The daemon';
const run = promisify(execFile);
const MANAGERS = ['systemd', 'launchd'];

const daemonRun = command({
  name: 'daemon run',
  group: GROUP,
  summary: 'runs the daemon in the foreground, for a service manager or a container',
  usage: '',
  about: 'It has no supervisor of its own: whoever runs it starts it again. If another daemon runs, it ends.',
  options: {
    'supervised-by': {
      type: 'string',
      value: 'NAME',
      means: 'what starts it again if it dies, for daemon status: systemd or launchd',
    },
  },
  json: 'Nothing: it prints what the daemon prints.',
  async run(call) {
    const name = call.options['supervised-by'];
    if (name !== undefined && !MANAGERS.includes(name))
      throw new UsageError(`--supervised-by takes ${MANAGERS.join(' or ')}, not "${name}".`, 'daemon run');
    const { DAEMON_PROGRAM } = await import('@reveille/daemon/connect');
    const own = name === undefined ? ['--set', 'daemon.restart=false'] : ['--supervised-by', name];
    const env = Object.fromEntries(
      Object.entries(call.io.env).filter((pair): pair is [string, string] => pair[1] !== undefined),
    );
    process.execve?.(process.execPath, [process.execPath, ...DAEMON_PROGRAM, ...own], env);
  },
});

const daemonInstall = command({
  name: 'daemon install',
  group: GROUP,
  summary: 'writes a systemd user unit or a launchd item, so that the system runs the daemon',
  usage: '',
  about:
    'Nothing is started: the command that enables it is printed. The settings and places of this environment are written into it; keys of models are not, so put them where your service manager finds them.',
  options: {},
  json: '{ manager, path, written, works, enable }: whether the file was written now, and whether the manager answers here.',
  async run(call) {
    const service = serviceHere(call.io);
    const reloaded = await manage(service, call.io, 'daemon-reload');
    if (reloaded === 'missing') throw noManager();
    const written = write(service);
    if (written) await manage(service, call.io, 'daemon-reload');
    const { manager, path, enable } = service;
    const works = reloaded === 'done';
    print(call, { manager, path, written, works, enable }, () => [
      `${written ? 'Written' : 'Already there'}: ${path}`,
      ...(works
        ? []
        : ['`systemctl --user` does not work in this session; run the next line in one where it does.']),
      `To enable it: reveille daemon stop && ${enable}`,
      ...(manager === 'systemd'
        ? ['So that it also runs while you are logged out: loginctl enable-linger']
        : []),
    ]);
  },
});

const daemonUninstall = command({
  name: 'daemon uninstall',
  group: GROUP,
  summary: 'removes what daemon install wrote',
  usage: '',
  about: 'A daemon that runs goes on; from the next start by a command on it has its own supervisor.',
  options: {},
  json: '{ removed, path }: whether there was one.',
  async run(call) {
    const service = serviceHere(call.io);
    const removed = existsSync(service.path);
    if (removed) {
      await manage(service, call.io, 'disable', 'reveille.service');
      rmSync(service.path);
      await manage(service, call.io, 'daemon-reload');
    }
    print(call, { removed, path: service.path }, () => [
      removed ? `Removed: ${service.path}` : `Nothing is installed: there is no ${service.path}.`,
    ]);
  },
});

function serviceHere({ env }: Pick<Io, 'env'>): Service {
  // The program of the clone is a shell script, which finds Node.
  const program = PROGRAM.endsWith('.cjs') ? [process.execPath, PROGRAM] : [PROGRAM];
  const service = serviceOf(env, { platform: process.platform, program: [...program, 'daemon', 'run'] });
  if (!service) throw noManager();
  return service;
}

/** The file that the service manager reads, if it was written. */
export function installedService({ env }: Pick<Io, 'env'>): string | null {
  const path = serviceOf(env, { platform: process.platform, program: [] })?.path;
  return path !== undefined && existsSync(path) ? path : null;
}

const noManager = (): ReveilleError =>
  new ReveilleError(
    'wrong_state',
    'There is neither systemd nor launchd here, so nothing was written. The daemon has a supervisor of its own, which starts it again if it dies.',
  );

/** launchd reads its files by itself. */
async function manage(
  service: Service,
  { env }: Pick<Io, 'env'>,
  ...args: string[]
): Promise<'done' | 'failed' | 'missing'> {
  if (service.manager === 'launchd') return 'done';
  try {
    await run('systemctl', ['--user', ...args], { env });
    return 'done';
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'missing' : 'failed';
  }
}

function write({ path, text }: Service): boolean {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return false;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
  return true;
}

export const serviceCommands = [daemonRun, daemonInstall, daemonUninstall];
