import { pathToFileURL } from 'node:url';
import { ErrorCodes, createMessageConnection, type MessageConnection } from 'vscode-jsonrpc/node';
import type { z } from 'zod';
import type { Launched } from '../place.ts';
import { startProcess, type ServerProcess } from './process.ts';
import { PromptReader } from './prompt-reader.ts';
import { PromptWriter } from './prompt-writer.ts';
import { Asked, FileStatus, Initialized, Progress } from './shapes.ts';

/** Why a server cannot be used any more. It is replaced; the question it had is answered from text. */
export class ServerBroken extends Error {
  override readonly name = 'ServerBroken';
}

export interface ConnectOptions {
  readonly root: string;
  readonly launched: Launched;
  readonly initializationOptions: unknown;
  /** What it is told when it asks for its settings, by section. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Within which it must begin, and later answer: one that does not hangs. */
  readonly startMs: number;
  readonly hangMs: number;
  /** Called before it has answered anything: its process is there, and can be measured and ended. */
  readonly opened?: (connection: Connection) => void;
}

/** A process that reads no more is given so long to say how it ends. */
const LAST_WORDS_MS = 1_000;

const CAPABILITIES = {
  workspace: {
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    configuration: true,
    workspaceFolders: true,
    symbol: {},
  },
  textDocument: {
    definition: { linkSupport: true },
    references: {},
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    hover: { contentFormat: ['markdown', 'plaintext'] },
  },
  window: { workDoneProgress: true },
};

/** It could not be sent: the other end is closed. */
const isUnwritten = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  [ErrorCodes.MessageWriteError, 'EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].some(
    (code) => code === error.code,
  );

/** One server that is spoken with. Whatever goes wrong with it breaks it for good, once. */
export class Connection {
  readonly #process: ServerProcess;
  readonly #rpc: MessageConnection;
  #hangMs: number;
  /** Those who wait for an answer are told if there will be none. */
  readonly #waiting = new Set<(error: ServerBroken) => void>();
  #why: string | null = null;
  #progress = 0;
  /** The files that are open, and whether it says that it is reading them. */
  readonly #files = new Map<string, boolean>();

  static async open(options: ConnectOptions): Promise<Connection> {
    const connection = new Connection(await startProcess(options.launched), options);
    options.opened?.(connection);
    try {
      const uri = pathToFileURL(options.root).href;
      await connection.ask('initialize', Initialized, {
        processId: options.launched.seesUs ? process.pid : null,
        clientInfo: { name: 'reveille' },
        rootUri: uri,
        workspaceFolders: [{ uri, name: 'root' }],
        capabilities: CAPABILITIES,
        initializationOptions: options.initializationOptions,
      });
      connection.#hangMs = options.hangMs;
      connection.tell('initialized', {});
      connection.tell('workspace/didChangeConfiguration', { settings: options.settings });
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(process: ServerProcess, { root, settings, startMs }: ConnectOptions) {
    this.#process = process;
    this.#hangMs = startMs;
    this.#rpc = createMessageConnection(new PromptReader(process.stdout), new PromptWriter(process.stdin));
    this.#rpc.onError(([error]) => {
      if (isUnwritten(error)) return this.#unheard();
      this.#break(`it does not speak the protocol: ${error.message}`);
    });
    this.#rpc.onClose(() => void process.ended.then((how) => this.#break(how)));
    void process.ended.then((how) => this.#break(how));
    this.#serve(root, settings);
    this.#rpc.listen();
  }

  /** Null: it can be asked. */
  get broken(): string | null {
    return this.#why;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** It says that it is at work on something. */
  get busy(): boolean {
    return this.#progress > 0 || this.#files.values().some((reading) => reading);
  }

  async ask<T>(method: string, shape: z.ZodType<T>, params: object): Promise<T> {
    if (this.#why !== null) throw new ServerBroken(this.#why);
    const hang = setTimeout(
      () => this.#break(`it did not answer ${method} within ${this.#hangMs} ms`),
      this.#hangMs,
    );
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.add(reject);
    try {
      this.#rpc.sendRequest(method, params).then(resolve, (error: unknown) => {
        if (isUnwritten(error)) this.#unheard();
        else reject(error);
      });
      const answer = await promise;
      const parsed = shape.safeParse(answer ?? null);
      if (parsed.success) return parsed.data;
      this.#break(`its answer to ${method} makes no sense`);
      throw new ServerBroken(this.#why ?? '');
    } finally {
      clearTimeout(hang);
      this.#waiting.delete(reject);
    }
  }

  opened(uri: string): void {
    this.#files.set(uri, false);
  }

  closed(uri: string): void {
    this.#files.delete(uri);
  }

  tell(method: string, params: object): void {
    if (this.#why !== null) return;
    this.#rpc.sendNotification(method, params).catch(() => this.#unheard());
  }

  /** Ends it at once: a server of a tree that is only read has nothing to save. */
  close(why = 'it was ended'): void {
    this.#break(why);
  }

  /** When its process is gone. */
  get ended(): Promise<string> {
    return this.#process.ended;
  }

  /** What was sent could not be written. Mostly it is just ending, and how it ended says more. */
  #unheard(): void {
    setTimeout(() => this.#break('it does not listen'), LAST_WORDS_MS).unref();
  }

  #break(why: string): void {
    if (this.#why !== null) return;
    this.#why = why;
    for (const reject of this.#waiting) reject(new ServerBroken(why));
    this.#rpc.dispose();
    this.#process.kill();
  }

  /** What servers ask of an editor. Nothing is applied, shown or run. */
  #serve(root: string, settings: Readonly<Record<string, unknown>>): void {
    const rpc = this.#rpc;
    rpc.onRequest('workspace/configuration', (params: unknown) =>
      (Asked.safeParse(params).data?.items ?? []).map(({ section }) =>
        typeof section === 'string' ? (settings[section] ?? null) : settings,
      ),
    );
    rpc.onRequest('workspace/workspaceFolders', () => [{ uri: pathToFileURL(root).href, name: 'root' }]);
    rpc.onRequest('workspace/applyEdit', () => ({ applied: false }));
    rpc.onRequest(() => null);
    rpc.onNotification('$/progress', (params: unknown) => {
      const kind = Progress.safeParse(params).data?.value?.kind;
      if (kind === 'begin') this.#progress += 1;
      if (kind === 'end') this.#progress = Math.max(0, this.#progress - 1);
    });
    // What clangd says of a file, besides; and Intelephense instead.
    rpc.onNotification('textDocument/clangd.fileStatus', (params: unknown) => {
      const { uri, state } = FileStatus.safeParse(params).data ?? {};
      if (uri !== undefined && this.#files.has(uri)) this.#files.set(uri, state !== 'idle');
    });
    rpc.onNotification('indexingStarted', () => void (this.#progress += 1));
    rpc.onNotification('indexingEnded', () => void (this.#progress = Math.max(0, this.#progress - 1)));
    rpc.onUnhandledProgress(() => undefined);
    rpc.onNotification(() => undefined);
  }
}
