import { fileURLToPath } from 'node:url';

/**
 * Room for young objects. With what Node takes by itself (three times 32 MB on a large machine) a busy daemon is 100 MB larger, for
 * collections that are rarer and take 20 ms instead of 2.
 */
const YOUNG = '--max-semi-space-size=8';

/**
 * V8 collects old objects when the heap has grown by this many percent of what was live. An agent that floods fills the heap up to that
 * limit (BND7.33). With 200 the heap grows to three times what is live, and the daemon passed 250 MB; with 50 it stayed below 225 MB,
 * for the same processor time.
 */
const OLD = '--heap-growing-percent=50';

/** What Node is given to run a daemon: its source as it is, or what was built of it, which lies beside this either way. */
export const PROGRAM: readonly string[] = import.meta.url.endsWith('.ts')
  ? [YOUNG, OLD, '--conditions=source', fileURLToPath(new URL('./main.ts', import.meta.url))]
  : [YOUNG, OLD, fileURLToPath(new URL('./main.js', import.meta.url))];
