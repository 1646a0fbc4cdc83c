/** Where a command writes. */
export interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** A person, or whoever started the command, wants it to end. That ends the command and nothing else. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
  /** By the signal, as shells count: 130 for Ctrl-C. */
  readonly exitCode: number;
}

/** All that a command has of the process it runs in. */
export interface Io {
  readonly out: Stream;
  readonly err: Stream;
  readonly in: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  interruption(): Interruption;
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Signal = keyof typeof SIGNALS;

export function processIo(): Io {
  return {
    out: process.stdout,
    err: process.stderr,
    in: process.stdin,
    env: process.env,
    cwd: process.cwd(),
    interruption: onSignals,
  };
}

/** A reader that went away (`reveille logs | head`) has seen enough. */
export function endWhenUnread(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

function onSignals(): Interruption {
  const controller = new AbortController();
  let exitCode: number = SIGNALS.SIGINT;
  const stop = (signal: Signal): void => {
    // Asked twice: whatever it waits for is not worth it.
    if (controller.signal.aborted) process.exit(SIGNALS[signal]);
    exitCode = SIGNALS[signal];
    controller.abort();
  };
  const names = Object.keys(SIGNALS) as Signal[];
  for (const name of names) process.on(name, stop);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose]() {
      for (const name of names) process.off(name, stop);
    },
  };
}
