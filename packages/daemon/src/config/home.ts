import { join } from 'node:path';

/** `~` and `~/…` as everybody writes them. */
export const expandHome = (path: string, home: string): string =>
  path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path;
