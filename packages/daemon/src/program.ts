import { fileURLToPath } from 'node:url';

/** What Node is given to run a daemon: its source as it is, or what was built of it, which lies beside this either way. */
export const PROGRAM: readonly string[] = import.meta.url.endsWith('.ts')
  ? ['--conditions=source', fileURLToPath(new URL('./main.ts', import.meta.url))]
  : [fileURLToPath(new URL('./main.js', import.meta.url))];
