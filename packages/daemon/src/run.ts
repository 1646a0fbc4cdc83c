import { flushCompileCache } from 'node:module';
import { isReveilleError } from '@reveille/protocol';
import { loadConfig } from './config/load.ts';
import { startDaemon, type Daemon } from './daemon.ts';
import { EXIT } from './exit-codes.ts';
import { openLog, type LogFile } from './log/log.ts';
import type { Place } from './place/folder.ts';

/** Runs the daemon until it is stopped or told to by a signal. Answers with the exit code of the process. */
export async function run(place: Place, args: readonly string[]): Promise<number> {
  let log: LogFile | undefined;
  try {
    const sources = { flags: flagsOf(args), env: process.env, userFile: place.userConfig };
    const { config, in: configIn } = loadConfig(sources);
    log = openLog({ path: place.log, ...config.logs });
    watchForDefects(log);
    const daemon = await startDaemon({ place, config, configIn, log });
    obeySignals(daemon, log);
    // Now, because one that is killed has no later.
    flushCompileCache();
    await daemon.done;
    return 0;
  } catch (error) {
    // Whoever started it is shown the end of this.
    process.stderr.write(`${isReveilleError(error) ? error.message : String(error)}\n`);
    log?.error('the daemon could not start', { error });
    return EXIT.failed;
  } finally {
    log?.[Symbol.dispose]();
  }
}

/** `--set engine.concurrency=4` */
function flagsOf(args: readonly string[]): Record<string, string> {
  const settings = args.filter((_, i) => args[i - 1] === '--set');
  return Object.fromEntries(
    settings.map((text) => [text.split('=', 1)[0] ?? '', text.slice(text.indexOf('=') + 1)]),
  );
}

function obeySignals(daemon: Daemon, log: LogFile): void {
  let asked = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (asked) {
        // What is not finished now is finished by the next start.
        log.warn('asked twice: the daemon ends at once', { signal });
        process.exit(EXIT.failed);
      }
      asked = true;
      void daemon.stop(signal);
    });
  }
  // The terminal it was started from is closed; that is no reason to end.
  process.on('SIGHUP', () => undefined);
}

function watchForDefects(log: LogFile): void {
  process.on('uncaughtException', (error) => {
    log.error('a defect ended the daemon; the next call starts it again', { error });
    process.exit(EXIT.failed);
  });
  // Nobody waited for it, so nothing depends on it; what it was about is found again by the engine.
  process.on('unhandledRejection', (error) => log.error('a failure that nobody waited for', { error }));
}
