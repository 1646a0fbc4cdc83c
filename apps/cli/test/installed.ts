import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ended, type Child, type Ended, type House } from './house.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, '');
/** What is in the working folder and no part of a clone, or takes no part in packing. */
const LEFT_OUT = /\/(?:\.git|\.cache|\.reveille|node_modules|dist|test|bench)$/;

/** The package as somebody has it who installed it: packed from a clone, then installed from the tarball, offline. */
export class Installed implements Disposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-package-')));
  tarball = '';
  /** Where it lies now. */
  readonly root = join(this.folder, 'prefix/lib/node_modules/reveille');
  readonly program = join(this.folder, 'prefix/bin/reveille');

  static async make(): Promise<Installed> {
    const installed = new Installed();
    try {
      installed.tarball = await installed.#pack();
      const empty = join(installed.folder, 'empty');
      mkdirSync(empty);
      await installed.#npm(empty, 'install', '--global', '--offline', installed.tarball);
      return installed;
    } catch (error) {
      installed[Symbol.dispose]();
      throw error;
    }
  }

  /** Runs it in a house, and reads it until it ends. */
  run(house: House, ...args: string[]): Promise<Ended> {
    const child = this.start(house, args);
    child.stdin.end();
    return ended(child);
  }

  /** By npx, as somebody who installs nothing. */
  npx(...args: string[]): Promise<string> {
    const from = ['--yes', '--offline', '--package', this.tarball];
    return this.#npm(join(this.folder, 'empty'), 'exec', ...from, '--', 'reveille', ...args);
  }

  start(house: House, args: readonly string[]): Child {
    return spawn(this.program, args, {
      cwd: house.repository,
      env: { ...house.env, PATH: pathWithNode() },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }

  /** In a clone of its own: packing writes into it, and others may pack at the same time. */
  async #pack(): Promise<string> {
    const clone = join(this.folder, 'clone');
    cpSync(ROOT, clone, { recursive: true, filter: (path) => !LEFT_OUT.test(path) });
    linkModules(clone);
    const packed = await this.#npm(clone, 'pack', '--silent', '--pack-destination', this.folder);
    return join(this.folder, packed.trim().split('\n').at(-1) ?? '');
  }

  async #npm(cwd: string, ...args: string[]): Promise<string> {
    const env = {
      PATH: pathWithNode(),
      HOME: join(this.folder, 'home'),
      npm_config_cache: join(this.folder, 'cache'),
      npm_config_prefix: join(this.folder, 'prefix'),
      npm_config_update_notifier: 'false',
    };
    return (await promisify(execFile)('npm', args, { cwd, env })).stdout;
  }
}

/** The Node that the tests run on is the one a program finds. */
const pathWithNode = (): string => [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);

/** What is installed here, by links: nothing that happens to the clone's modules happens to ours. */
function linkModules(clone: string): void {
  const modules = join(clone, 'node_modules');
  mkdirSync(join(modules, '@reveille'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@reveille') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  for (const room of [...roomsOf('packages'), 'apps/cli'])
    symlinkSync(join(clone, room), join(modules, '@reveille', room.split('/')[1] ?? room));
}

const roomsOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`);
