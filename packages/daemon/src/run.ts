import { closeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { loadConfig } from './config/load.ts';
import { startDaemon, type Daemon } from './daemon.ts';
import { EXIT } from './exit-codes.ts';
import { openLog, type LogFile } from './log/log.ts';
import type { Place } from './place/folder.ts';
import { mayPass } from './place/trouble.ts';
import type { StartArguments } from './start-arguments.ts';
import type { Supervision } from './supervision/supervision.ts';

export interface RunOptions {
  /** Whose guard the caller holds. */
  readonly place: Place;
  readonly start: StartArguments;
  readonly supervision: Supervision;
}

/** Runs the daemon until it is stopped or told to by a signal. Answers with the exit code of the process. */
export async function run({ place, start, supervision }: RunOptions): Promise<number> {
  let log: LogFile | undefined;
  try {
    const { config, in: configIn } = loadConfig({
      flags: start.settings,
      env: process.env,
      userFile: place.userConfig,
    });
    log = openLog({ path: place.log, ...config.logs });
    watchForDefects(log, supervision);
    if (start.restart) log.warn('the daemon died and was started again', start.restart);
    supervision.begin(config.daemon.restart, log);
    const stopping = (): void => supervision.end();
    const daemon = startDaemon({ place, config, configIn, log, stopping });
    obeySignals(daemon, { log, stopping });
    const { done } = await daemon;
    if (start.failuresTo !== null) closeSync(start.failuresTo);
    // Now, because one that is killed has no later.
    flushCompileCache();
    await done;
    return 0;
  } catch (error) {
    log?.error('the daemon could not start', { error });
    throw error;
  } finally {
    log?.[Symbol.dispose]();
  }
}

function obeySignals(
  starting: Promise<Daemon>,
  { log, stopping }: { readonly log: LogFile; readonly stopping: () => void },
): void {
  let asked = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (asked) {
        // What is not finished now is finished by the next start.
        log.warn('asked twice: the daemon ends at once', { signal });
        process.exit(EXIT.failed);
      }
      asked = true;
      stopping();
      // A start that fails says so itself.
      starting.then((daemon) => daemon.stop(signal)).catch(() => undefined);
    });
  }
  // The terminal it was started from is closed; that is no reason to end.
  process.on('SIGHUP', () => undefined);
}

function watchForDefects(log: LogFile, supervision: Supervision): void {
  process.on('uncaughtException', (error) => {
    // The call that met it has failed, or is found again by the engine; everything else goes on.
    if (mayPass(error))
      return log.error('the machine has run out of something; the daemon goes on', { error });
    log.error('a defect ended the daemon', { error });
    supervision.dying(`a defect of Reveille: ${error.message}`);
    process.exit(EXIT.failed);
  });
  // Nobody waited for it, so nothing depends on it; what it was about is found again by the engine.
  process.on('unhandledRejection', (error) => log.error('a failure that nobody waited for', { error }));
}
