import { fileURLToPath } from 'node:url';

/**
 * Room for young objects. With what Node takes by itself (three times 32 MB on a large machine) a busy daemon is 100 MB larger, for
 * collections that are rarer and take 20 ms instead of 2.
 */
const YOUNG = '--max-semi-space-size=8';

/**
 * How far the heap may grow, in percent of what was live, before old objects are collected. V8 by itself lets a small heap grow
 * further when an agent floods (BND7.33). At 50 the daemon was no smaller, and took a quarter more processor time.
 */
const OLD = '--heap-growing-percent=200';

/** What Node is given to run a daemon: its source as it is, or what was built of it, which lies beside this either way. */
export const PROGRAM: readonly string[] = import.meta.url.endsWith('.ts')
  ? [YOUNG, OLD, '--conditions=source', fileURLToPath(new URL('./main.ts', import.meta.url))]
  : [YOUNG, OLD, fileURLToPath(new URL('./main.js', import.meta.url))];
