const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Signal = keyof typeof SIGNALS;

/** A signal, or a reader that went away, ends the demo early. A second signal does not wait for anything. */
export class Interruption {
  /** Why it is to end; null while it may go on. */
  why: Signal | 'unread' | null = null;
  readonly happens: Promise<void>;
  readonly #resolve: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.happens = promise;
    this.#resolve = resolve;
    for (const signal of Object.keys(SIGNALS)) process.on(signal, this.#onSignal);
    process.stdout.on('error', this.#onError);
  }

  get exitCode(): number {
    return this.why === null || this.why === 'unread' ? 0 : SIGNALS[this.why];
  }

  /** A stream whose reader is gone stays so, and goes on saying it: that is listened to until the end. */
  forget(): void {
    for (const signal of Object.keys(SIGNALS)) process.off(signal, this.#onSignal);
  }

  readonly #onSignal = (signal: Signal): void => {
    if (this.why) process.exit(SIGNALS[signal]);
    this.#end(signal);
  };

  readonly #onError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    this.#end('unread');
  };

  #end(why: Signal | 'unread'): void {
    this.why ??= why;
    this.#resolve();
  }
}
