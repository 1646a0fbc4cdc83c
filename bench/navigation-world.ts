import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findServer, type Launch, type Place } from '@reveille/navigation';
import { openDoor, openSandbox, type Sandbox } from '@reveille/worktrees';

/** A large real project that the package registries have with its sources: 3,353 modules, 37 MB. */
const PACKAGE = '@babylonjs/core@9.31.0';
const CACHE = fileURLToPath(new URL('../.cache/bench-navigation', import.meta.url));

/** The project, fetched once. Its declarations are left out, so that imports lead to the sources. */
export function obtain(): { readonly root: string; readonly files: number } {
  const repository = join(CACHE, 'repository');
  const root = join(`${repository}.worktrees`, 'base');
  if (!existsSync(root)) {
    const stage = join(CACHE, 'stage');
    rmSync(stage, { recursive: true, force: true });
    mkdirSync(stage, { recursive: true });
    mkdirSync(join(repository, '.git'), { recursive: true });
    mkdirSync(`${repository}.worktrees`, { recursive: true });
    const archive =
      execFileSync('npm', ['pack', PACKAGE, '--silent'], { cwd: stage, encoding: 'utf8' })
        .trim()
        .split('\n')
        .at(-1) ?? '';
    execFileSync('tar', ['xzf', archive, '--exclude=*.d.ts', '--exclude=*.map', '--exclude=*.wasm'], {
      cwd: stage,
    });
    const config = {
      compilerOptions: {
        allowJs: true,
        checkJs: false,
        noEmit: true,
        module: 'esnext',
        moduleResolution: 'bundler',
        target: 'esnext',
      },
      include: ['.'],
    };
    writeFileSync(join(stage, 'package', 'tsconfig.json'), JSON.stringify(config));
    renameSync(join(stage, 'package'), root);
    rmSync(stage, { recursive: true });
  }
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  return { root, files: files.length };
}

/** Another worktree with the same files. */
export function copyTree(root: string, name: string): string {
  const target = join(root, '..', name);
  if (!existsSync(target)) cpSync(root, target, { recursive: true });
  return target;
}

export const openBench = (): Promise<Sandbox> =>
  openSandbox({ setting: 'warn', warn: (text) => console.log(text), runtimeFolder: CACHE });

/** A tree as the daemon gives it to navigation: held by the sandbox, read through the door. */
export function placeIn(sandbox: Sandbox, root: string): Place & Disposable {
  const repository = join(CACHE, 'repository');
  const launch: Launch = async (command, { reads, env }) => {
    const checkout = {
      repository: { root: repository, gitDir: join(repository, '.git'), home: `${repository}.worktrees` },
      kind: 'clone',
      path: root,
      agentGitDir: join(root, '.git'),
    } as const;
    const network = { kind: sandbox.kind === 'none' ? 'on' : 'off' } as const;
    const wrapped = await sandbox.wrap(command, { checkout, write: false, network, env, reads });
    return { ...wrapped, seesUs: sandbox.kind !== 'bubblewrap' };
  };
  const files = openDoor(root, { access: 'read' });
  return { root, repository, readOnly: false, files, launch, [Symbol.dispose]: () => files.close() };
}

export interface Spot {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The same server with nothing around it: what it can do at best. */
export class BareServer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #root: string;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #input = Buffer.alloc(0);
  #last = 0;

  static async start(root: string): Promise<BareServer> {
    const spec = await findServer('typescript', { configured: {}, folders: [], path: '' });
    if ('missing' in spec) throw new Error(spec.missing);
    const server = new BareServer(root, spec.argv);
    await server.#ask('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(root).href,
      capabilities: {},
    });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  private constructor(root: string, [program = '', ...args]: readonly string[]) {
    this.#root = root;
    this.#child = spawn(program, args, { cwd: root });
    this.#child.stderr.resume();
    this.#child.stdout.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      for (let body = this.#next(); body !== null; body = this.#next())
        this.#handle(JSON.parse(body) as { id?: number; method?: string; result?: unknown });
    });
  }

  open(file: string): void {
    const text = readFileSync(join(this.#root, file), 'utf8');
    const textDocument = { uri: this.#uri(file), languageId: 'javascript', version: 1, text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument } });
  }

  async references({ file, line, column }: Spot): Promise<number> {
    const found = await this.#ask('textDocument/references', {
      textDocument: { uri: this.#uri(file) },
      position: { line: line - 1, character: column - 1 },
      context: { includeDeclaration: true },
    });
    return Array.isArray(found) ? found.length : 0;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  #uri(file: string): string {
    return pathToFileURL(join(this.#root, file)).href;
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = ++this.#last;
    this.#send({ id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #next(): string | null {
    const head = this.#input.indexOf('\r\n\r\n');
    if (head < 0) return null;
    const length = Number(/Content-Length: (\d+)/i.exec(this.#input.subarray(0, head).toString())?.[1]);
    if (this.#input.length < head + 4 + length) return null;
    const body = this.#input.subarray(head + 4, head + 4 + length).toString();
    this.#input = this.#input.subarray(head + 4 + length);
    return body;
  }

  #handle({ id, method, result }: { id?: number; method?: string; result?: unknown }): void {
    if (id !== undefined && method !== undefined) return this.#send({ id, result: null });
    if (id === undefined) return;
    this.#waiting.get(id)?.(result);
    this.#waiting.delete(id);
  }
}
