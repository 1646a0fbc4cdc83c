import type { ServerResponse } from 'node:http';

export interface SseOptions {
  readonly heartbeatMs: number;
  readonly stallMs: number;
  readonly bufferBytes: number;
}

/** A message as it is on the wire. The data is JSON, which holds no line break. */
export function sseMessage(message: { event?: string; id?: number; data: unknown }): string {
  const event = message.event === undefined ? '' : `event: ${message.event}\n`;
  const id = message.id === undefined ? '' : `id: ${message.id}\n`;
  return `${event}${id}data: ${JSON.stringify(message.data)}\n\n`;
}

/**
 * One open stream of server-sent events. It says now and then that it lives, and cuts off a reader that takes nothing:
 * what waits for it stays bounded, because whoever writes stops while `full` and waits for `drained`.
 */
export class SseStream {
  readonly #response: ServerResponse;
  readonly #options: SseOptions;
  readonly #closed = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #waitingSince: number | null = null;
  /** Cut off for taking nothing. */
  stalled = false;

  constructor(response: ServerResponse, options: SseOptions) {
    this.#response = response;
    this.#options = options;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    response.on('close', () => this.#gone()).on('drain', () => (this.#waitingSince = null));
    const every = Math.min(options.heartbeatMs, options.stallMs);
    let quiet = 0;
    this.#timer = setInterval(() => {
      quiet += every;
      this.#look();
      if (quiet < options.heartbeatMs) return;
      quiet = 0;
      if (!this.full) this.write(': \n\n');
    }, every);
    if (response.destroyed) this.#gone();
  }

  /** Aborted when the reader is gone. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get full(): boolean {
    return this.#response.writableLength > this.#options.bufferBytes;
  }

  write(text: string | Uint8Array): void {
    if (this.#closed.signal.aborted || this.#response.writableEnded) return;
    if (!this.#response.write(text)) this.#waitingSince ??= performance.now();
  }

  /** Resolves when there is room again, or nobody to make it for. */
  drained(): Promise<void> {
    if (!this.#response.writableNeedDrain || this.closed.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#response.once('drain', resolve);
      this.closed.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  end(): void {
    this.#response.end();
  }

  /** Without waiting for what the reader has not taken. */
  cut(): void {
    this.#response.destroy();
  }

  #look(): void {
    const { stallMs } = this.#options;
    if (this.#waitingSince === null || performance.now() - this.#waitingSince < stallMs) return;
    this.stalled = true;
    this.cut();
  }

  #gone(): void {
    clearInterval(this.#timer);
    this.#closed.abort();
  }
}
