// The process of the daemon. Loads little before it knows that it is the one: ten clients may start ten of these.
import { writeFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { openPlace, placeOf } from './place/folder.ts';
import { takeGuard } from './place/guard.ts';
import { EXIT } from './exit-codes.ts';

// Whatever it writes is this user's alone.
process.umask(0o077);
const place = placeOf(process.env);
openPlace(place);
const guard = takeGuard(place.guard);
if (!guard) process.exit(EXIT.held);
// What earlier ones said when they could not start is no longer of interest.
writeFileSync(place.startLog, '');
enableCompileCache(place.cache);

const { run } = await import('./run.ts');
const code = await run(place, process.argv.slice(2));
guard.release();
// An agent that did not stop in time must not keep it.
process.exit(code);
