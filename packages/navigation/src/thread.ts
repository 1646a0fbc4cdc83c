import { Worker } from 'node:worker_threads';
import { ReveilleError } from '@reveille/protocol';

export interface ThreadOptions {
  readonly program: URL;
  /** For words. */
  readonly name: string;
  /** So long it may be at one question; as long as it takes, unless told. */
  readonly patienceMs?: number;
  /** It is ended when nobody has asked for so long; never, unless told. */
  readonly idleMs?: number;
}

interface Waiting {
  readonly id: number;
  readonly question: object;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** What a thread is told, and what it says. */
export interface Asked<Q> {
  readonly id: number;
  readonly question: Q;
}
export type Answered = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

/**
 * A thread of its own that answers questions in the order they come. It is started with the first, and keeps no process alive. If it
 * is gone, or at one question for too long, only that one is lost: the others are put to a new one.
 */
export class Thread<Q extends object> implements AsyncDisposable {
  readonly #options: ThreadOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #running = false;
  #clock: NodeJS.Timeout | undefined;
  #last = 0;
  #closed = false;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Somebody has asked, and it was not ended since. */
  get begun(): boolean {
    return this.#worker !== null;
  }

  async ask(question: Q): Promise<unknown> {
    // What goes on after the end must not begin a thread that nobody ends.
    if (this.#closed) throw this.#stopped();
    const id = ++this.#last;
    return await new Promise((resolve, reject) => {
      this.#put({ id, question, resolve, reject });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const worker = this.#drop();
    for (const { reject } of this.#waiting.values()) reject(this.#stopped());
    this.#waiting.clear();
    await worker?.terminate();
  }

  #put(waiting: Waiting): void {
    const worker = (this.#worker ??= this.#start());
    const { id, question } = waiting;
    this.#waiting.set(id, waiting);
    worker.postMessage({ id, question } satisfies Asked<object>);
    if (this.#waiting.size === 1) this.#wind();
  }

  #start(): Worker {
    const worker = new Worker(this.#options.program, { execArgv: [], env: {}, stdin: false });
    worker.unref();
    const isOurs = (): boolean => this.#worker === worker;
    worker.on('online', () => {
      this.#running = isOurs();
      this.#wind();
    });
    worker.on('message', (answered: Answered) => {
      if (isOurs()) this.#answered(answered);
    });
    const gone = (): void => {
      if (isOurs()) this.#replace(this.#stopped());
    };
    worker.on('error', gone);
    worker.on('exit', gone);
    return worker;
  }

  #answered(answered: Answered): void {
    const waiting = this.#waiting.get(answered.id);
    this.#waiting.delete(answered.id);
    if ('error' in answered)
      waiting?.reject(new ReveilleError('internal', `${this.#options.name}: ${answered.error}`));
    else waiting?.resolve(answered.value);
    this.#wind();
  }

  /** How long it is at the first of those that wait, or that nobody has asked. While it starts, neither is counted. */
  #wind(): void {
    const { patienceMs, idleMs, name } = this.#options;
    if (patienceMs === undefined && idleMs === undefined) return;
    clearTimeout(this.#clock);
    const isAsked = this.#waiting.size > 0;
    const ms = isAsked ? patienceMs : idleMs;
    if (ms === undefined || !this.#running) return;
    const over = (): void => {
      if (isAsked) return this.#replace(new ReveilleError('limit_reached', `${name} took too long.`));
      void this.#drop()?.terminate();
    };
    this.#clock = setTimeout(over, ms).unref();
  }

  /** The first of those that wait is what it was at. */
  #replace(error: Error): void {
    void this.#drop()?.terminate();
    const [first, ...others] = this.#waiting.values();
    this.#waiting.clear();
    first?.reject(error);
    for (const other of others) this.#put(other);
  }

  #drop(): Worker | null {
    const worker = this.#worker;
    this.#worker = null;
    this.#running = false;
    clearTimeout(this.#clock);
    return worker;
  }

  #stopped(): ReveilleError {
    return new ReveilleError('internal', `${this.#options.name} has stopped.`);
  }
}
