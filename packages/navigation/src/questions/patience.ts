/** How long somebody waits: for so long, or until they give up. Leaves nothing behind at a signal that lives on. */
export class Patience implements Disposable {
  /** Comes when it is over. */
  readonly over: Promise<null>;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #end: () => void;

  constructor(ms: number, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<null>();
    this.over = promise;
    this.#end = () => resolve(null);
    this.#signal = signal;
    this.#timer = setTimeout(this.#end, ms);
    if (signal.aborted) this.#end();
    else signal.addEventListener('abort', this.#end, { once: true });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#end);
  }
}
