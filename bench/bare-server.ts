import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findServer } from '@reveille/navigation';
import type { Project } from './navigation-projects.ts';

interface Position {
  readonly line: number;
  readonly character: number;
}

/** The same server with nothing around it: what it can do at best. */
export class BareServer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #root: string;
  readonly #languageId: string;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #input = Buffer.alloc(0);
  #last = 0;

  static async start({ root, languageId }: Pick<Project, 'root' | 'languageId'>): Promise<BareServer> {
    const spec = await findServer('typescript', { configured: {}, folders: [], path: '' });
    if ('missing' in spec) throw new Error(spec.missing);
    const server = new BareServer({ root, languageId }, spec.argv);
    await server.#ask('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(root).href,
      capabilities: {},
    });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  private constructor(
    { root, languageId }: Pick<Project, 'root' | 'languageId'>,
    [program = '', ...args]: readonly string[],
  ) {
    this.#root = root;
    this.#languageId = languageId;
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
    const textDocument = { uri: this.#uri(file), languageId: this.#languageId, version: 1, text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument } });
  }

  /**
   * What it lists for a symbol, and where it says that it is defined. It must be told a place: whoever has a name and a file
   * reads the file and looks for a line that begins with the definition. No line of the answer is read.
   */
  async references(name: string, file: string): Promise<number> {
    const defines = new RegExp(`^export (?:abstract )?(?:class|function|const|let|var) (?=${name}\\b)`, 'm');
    const here = this.#at(this.#uri(file), this.#find(file, defines));
    const [found] = await Promise.all([
      this.#ask('textDocument/references', { ...here, context: { includeDeclaration: true } }),
      this.#ask('textDocument/definition', here),
    ]);
    return Array.isArray(found) ? found.length : 0;
  }

  /** Where a name that a file imports is defined, and what the server shows of it there: its signature and documentation. */
  async definition(name: string, file: string): Promise<void> {
    const use = this.#at(
      this.#uri(file),
      this.#find(file, new RegExp(`^import \\{ (?:[\\w$]+, )*(?=${name}\\b)`, 'm')),
    );
    const found = await this.#ask('textDocument/definition', use);
    const [target] = (Array.isArray(found) ? found : [found]) as {
      readonly uri: string;
      readonly range: { readonly start: Position };
    }[];
    if (!target) throw new Error(`${name} leads nowhere from ${file}`);
    await this.#ask('textDocument/hover', this.#at(target.uri, target.range.start));
  }

  /** Right after what a pattern finds in a file. */
  #find(file: string, pattern: RegExp): Position {
    const text = readFileSync(join(this.#root, file), 'utf8');
    const match = pattern.exec(text);
    if (!match) throw new Error(`there is no ${String(pattern)} in ${file}`);
    const before = text.slice(0, match.index + match[0].length);
    return { line: before.split('\n').length - 1, character: before.length - before.lastIndexOf('\n') - 1 };
  }

  #at(uri: string, position: Position): object {
    return { textDocument: { uri }, position };
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
