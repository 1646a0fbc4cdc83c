// Installs packages by exact version into the user's cache: real programs that only some tests run, too large for everybody
// who uses Reveille.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How npm says that it was the registry, or the way to it. */
const REGISTRY =
  /npm (?:error|ERR!) code (?:E\d{3}|ETARGET|ENOTFOUND|ECONN\w+|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)/;
/** A registry that answers is done long before. */
const LONGEST_MS = 300_000;

const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'reveille');

/** A kind of packages, by name. `parts`: what npm leaves out without a word if it cannot have it, by name. */
export class CachedPackages {
  constructor(kind, packages, parts = {}) {
    this.kind = kind;
    this.packages = packages;
    this.parts = parts;
  }

  /** Where one is installed, whether it is there or not. */
  folderOf(name) {
    return join(cache, this.kind, this.packages[name].replaceAll('/', '+'));
  }

  /**
   * Installs what is missing, two at once. What the registry answered to those that it refused, by name; whatever else goes
   * wrong is thrown.
   */
  async install(say = console.log) {
    const refused = {};
    const isMissing = (name) => !existsSync(join(this.folderOf(name), 'node_modules'));
    const missing = Object.keys(this.packages).filter(isMissing);
    const work = async () => {
      for (let name = missing.shift(); name !== undefined; name = missing.shift()) {
        say(`Installing ${this.packages[name]} …`);
        const answer = await this.#installOne(name);
        if (answer !== null) refused[name] = answer;
      }
    };
    await Promise.all([work(), work()]);
    return refused;
  }

  /** Null: it is there; otherwise what the registry said. */
  async #installOne(name) {
    const folder = this.folderOf(name);
    const half = `${folder}.${process.pid}`;
    try {
      mkdirSync(half, { recursive: true });
      writeFileSync(join(half, 'package.json'), '{"private":true}');
      const quick = ['--no-audit', '--no-fund', '--fetch-retries=1', '--fetch-timeout=60000'];
      const args = ['install', '--save-exact', ...quick, this.packages[name]];
      const { stderr } = await run('npm', args, { cwd: half, timeout: LONGEST_MS, encoding: 'utf8' });
      const part = this.parts[name] && `${this.parts[name]}-${process.platform}-${process.arch}`;
      if (part && !existsSync(join(half, 'node_modules', part)))
        return `npm came back without ${part}, which is optional to it: the registry did not give it.\n${stderr}`;
      // Whole or not at all: a half of one would be taken for it.
      moveUnlessThere(half, folder);
      return null;
    } catch (error) {
      const said = String(error.stderr || error);
      if (error.killed) return `The registry did not give it within ${LONGEST_MS / 60_000} minutes.\n${said}`;
      if (REGISTRY.test(said)) return said;
      throw new Error(`${this.packages[name]} could not be installed.\n${said}`, { cause: error });
    } finally {
      rmSync(half, { recursive: true, force: true });
    }
  }
}

/** Somebody else may have been faster, with the same. */
function moveUnlessThere(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(join(to, 'node_modules'))) throw error;
  }
}
