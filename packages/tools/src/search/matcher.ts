import { Worker } from 'node:worker_threads';
import { ReveilleError } from '@reveille/protocol';
import { findInFiles, type FileHits, type FileText, type Wanted } from './find-lines.ts';

/** Looks for a pattern in files. Whoever opens one closes it. */
export interface Matcher {
  /** Null: the time is up, and the pattern will never answer. */
  find(files: readonly FileText[]): Promise<readonly FileHits[] | null>;
  close(): Promise<void>;
}

/** Words that are looked for as they are cannot run away: they are looked for right here. */
export function literalMatcher(wanted: Wanted): Matcher {
  return { find: async (files) => findInFiles(files, wanted), close: async () => undefined };
}

/** What a thread may use: a pattern can ask for much memory, too. */
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 } as const;

/** As it is here: the source, or what was made of it. */
const PROGRAM = import.meta.url.endsWith('.ts')
  ? new URL('./search-worker.ts', import.meta.url)
  : new URL('./search-worker.js', import.meta.url);

/** In a thread of its own, which is ended when the signal fires, in the middle of a match if need be. */
export function regexMatcher(wanted: Wanted, signal: AbortSignal): Matcher {
  const worker = new Worker(PROGRAM, {
    workerData: wanted,
    resourceLimits: LIMITS,
    // Nothing of how this process was started is its business.
    execArgv: [],
    env: {},
    stdin: false,
  });
  let failure: Error | null = null;
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  return {
    find: (files) =>
      new Promise((resolve, reject) => {
        const settle = (): void => {
          worker.off('message', answered);
          worker.off('exit', ended);
          signal.removeEventListener('abort', timeUp);
        };
        const answered = (hits: readonly FileHits[]): void => {
          settle();
          resolve(hits);
        };
        const ended = (): void => {
          settle();
          if (signal.aborted) resolve(null);
          else
            reject(
              new ReveilleError(
                'limit_reached',
                `The pattern could not be run: ${failure?.message ?? 'it used too much memory'}. Make it simpler.`,
              ),
            );
        };
        const timeUp = (): void => void worker.terminate();
        worker.on('message', answered);
        worker.on('exit', ended);
        signal.addEventListener('abort', timeUp, { once: true });
        if (signal.aborted) timeUp();
        else worker.postMessage(files);
      }),
    close: async () => void (await worker.terminate()),
  };
}
