import { spawn } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import {
  ReveilleError,
  type CommandEnd,
  type CommandOptions,
  type ToolFiles,
  type ToolWorkspace,
  type WalkOptions,
} from '@reveille/protocol';

const missing = (error: unknown, path: string): ReveilleError => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT')
    return new ReveilleError('not_found', `"${path}" does not exist.`, { data: { path } });
  if (code === 'EEXIST')
    return new ReveilleError('wrong_state', `"${path}" exists already.`, { data: { path } });
  return new ReveilleError('wrong_state', `"${path}" cannot be used (${String(code)}).`, { data: { path } });
};

/** A plain folder as a workspace: real files and real commands, and of the boundary only its simplest part. */
export class DirectoryWorkspace implements ToolWorkspace, AsyncDisposable {
  readonly root: string;
  readonly files: ToolFiles;
  test: string | null = null;

  constructor(root: string) {
    this.root = root;
    this.files = new DirectoryFiles(root);
  }

  static async make(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<DirectoryWorkspace> {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'reveille-tools-')));
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    }
    return new DirectoryWorkspace(root);
  }

  runCommand(
    command: string,
    { args = [], timeoutMs, signal, onOutput }: CommandOptions,
  ): Promise<CommandEnd> {
    return new Promise((done, failed) => {
      const shell = spawn('sh', ['-c', args.length > 0 ? `${command} "$@"` : command, 'sh', ...args], {
        cwd: this.root,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let timedOut = false;
      const end = (): void => {
        if (shell.pid !== undefined && shell.exitCode === null && shell.signalCode === null)
          process.kill(-shell.pid, 'SIGKILL');
      };
      const timer = setTimeout(() => {
        timedOut = true;
        end();
      }, timeoutMs);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding('utf8').on('data', onOutput);
      shell.on('error', failed);
      shell.on('close', (exitCode, by) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        done({ exitCode, signal: by, timedOut });
      });
    });
  }

  testCommand(): string | null {
    return this.test;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

class DirectoryFiles implements ToolFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async readFile(path: string, options: { readonly maxBytes?: number } = {}) {
    const at = this.#at(path);
    try {
      const bytes = await readFile(at);
      if (bytes.length > (options.maxBytes ?? 16 * 2 ** 20))
        throw new ReveilleError('limit_reached', `"${path}" is too large.`);
      const text = (): string => {
        try {
          return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
        } catch {
          throw new ReveilleError('wrong_state', `"${path}" is not UTF-8 text.`);
        }
      };
      return { path: relative(this.#root, at), size: bytes.length, text };
    } catch (error) {
      throw error instanceof ReveilleError ? error : missing(error, path);
    }
  }

  async writeFile(path: string, data: string, { create = true, exclusive = false } = {}) {
    const at = this.#at(path);
    const there = await lstat(at).catch(() => null);
    if (!there && !create) throw new ReveilleError('not_found', `"${path}" does not exist.`);
    await mkdir(dirname(at), { recursive: true });
    try {
      await writeFile(at, data, { flag: exclusive ? 'wx' : 'w' });
    } catch (error) {
      throw missing(error, path);
    }
    return { path: relative(this.#root, at), created: !there };
  }

  async deleteFile(path: string) {
    const at = this.#at(path);
    await rm(at).catch((error: unknown) => {
      throw missing(error, path);
    });
    return { path: relative(this.#root, at) };
  }

  async listDirectory(path: string, { limit = 1_000 } = {}) {
    const at = this.#at(path);
    const found = await readdir(at, { withFileTypes: true }).catch((error: unknown) => {
      throw missing(error, path);
    });
    const entries = await Promise.all(
      found.slice(0, limit).map(async (entry) => {
        const kind = entry.isFile()
          ? 'file'
          : entry.isDirectory()
            ? 'directory'
            : entry.isSymbolicLink()
              ? 'link'
              : 'other';
        return {
          name: entry.name,
          kind,
          size: kind === 'file' ? (await lstat(join(at, entry.name))).size : null,
        } as const;
      }),
    );
    const path_ = relative(this.#root, at);
    return {
      path: path_,
      entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      truncated: found.length > limit,
    };
  }

  async *walk(path: string, { skip, limit = 200_000 }: WalkOptions = {}): AsyncGenerator<string> {
    const waiting = [this.#at(path)];
    let seen = 0;
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      const found = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
        throw missing(error, path);
      });
      for (const entry of found.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        seen += 1;
        if (seen > limit) throw new ReveilleError('limit_reached', 'There are too many entries.');
        const at = join(folder, entry.name);
        const name = relative(this.#root, at);
        const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other';
        if (skip?.({ path: name, name: entry.name, kind })) continue;
        if (kind === 'file') yield name;
        if (kind === 'directory') waiting.push(at);
      }
    }
  }

  #at(path: string): string {
    const at = resolve(this.#root, path);
    if (at === this.#root || at.startsWith(`${this.#root}${sep}`)) return at;
    throw new ReveilleError('not_allowed', `"${path}" leads out of the worktree.`, {
      data: { path, rule: 'outside' },
    });
  }
}
