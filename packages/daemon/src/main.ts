// The process of the daemon. Loads little before it knows that it is the one: ten clients may start ten of these.
import { statSync, truncateSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { openPlace, placeOf, type Place } from './place/folder.ts';
import { takeGuard } from './place/guard.ts';
import { checkRoom } from './place/trouble.ts';
import { EXIT } from './exit-codes.ts';
import { startArguments } from './start-arguments.ts';
import { startFailure, tellFailure } from './start-failure.ts';
import { Supervision } from './supervision/supervision.ts';

const LONGEST_START_LOG = 100_000;

// Whatever it writes is this user's alone.
process.umask(0o077);
const start = startArguments(process.argv.slice(2));
const place = placeOf(process.env);
const supervision = new Supervision(place, start);
// An agent that did not stop in time must not keep it.
process.exit(await begin());

async function begin(): Promise<number> {
  try {
    openPlace(place);
    checkRoom(place.home);
    using guard = takeGuard(place.guard);
    if (!guard) {
      supervision.end();
      // A service manager would start one again and again.
      return start.supervisedBy ? 0 : EXIT.held;
    }
    shortenStartLog(place);
    enableCompileCache(place.cache);
    const { run } = await import('./run.ts');
    return await run({ place, start, supervision });
  } catch (error) {
    const failure = startFailure(error, place);
    tellFailure(failure, start.failuresTo);
    supervision.failed(failure.words, failure.mayPass);
    return failure.mayPass ? EXIT.failed : EXIT.cannot;
  }
}

function shortenStartLog({ startLog }: Place): void {
  const size = statSync(startLog, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LONGEST_START_LOG) truncateSync(startLog);
}
