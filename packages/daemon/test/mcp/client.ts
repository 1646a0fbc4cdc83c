import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';

export type Era = '2025' | '2026';
export type Result = Awaited<ReturnType<Client['callTool']>>;
export interface Asked {
  readonly id: number;
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly timeoutMs?: number;
}
export interface Answer {
  readonly id: number;
  readonly result?: Result;
  readonly tools?: readonly string[];
  readonly error?: string;
}

const PROGRAM = fileURLToPath(new URL('client-process.ts', import.meta.url));
/** Shared by all of them: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../../../../.cache/compiled', import.meta.url));

export const textOf = ({ content }: Result): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

/** A client in a process of its own, over the daemon's socket. */
export class McpClient implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (answer: Answer) => void>();
  readonly #gone: Promise<unknown>;
  #calls = 0;
  tools: readonly string[] = [];

  private constructor(url: string, credential: string, era: Era) {
    const env = { ...process.env, NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: COMPILED };
    this.#child = fork(PROGRAM, [`${url}/mcp`, credential, era], { execArgv: [], env, stdio: 'inherit' });
    this.#gone = once(this.#child, 'exit');
    this.#child.on('message', (answer: Answer) => this.#answers.get(answer.id)?.(answer));
  }

  /** Rejects with the words of the refusal if it is not let in. */
  static async connect({ url }: { readonly url: string }, credential: string, era: Era): Promise<McpClient> {
    const client = new McpClient(url, credential, era);
    const { tools = [], error } = await client.#answer(0);
    if (error === undefined) return Object.assign(client, { tools });
    await client.kill();
    throw new Error(error);
  }

  async call(name: string, args: Record<string, unknown> = {}, timeoutMs?: number): Promise<Result> {
    const id = ++this.#calls;
    const answered = this.#answer(id);
    const asked: Asked = { id, name, args, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    this.#child.send(asked);
    const { result, error } = await answered;
    if (!result) throw new Error(error);
    return result;
  }

  /** As a crash would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #answer(id: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#answers.set(id, resolve);
      this.#child.once('exit', () => reject(new Error('the client was killed')));
    });
  }
}
