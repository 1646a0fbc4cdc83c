import { fileURLToPath } from 'node:url';

/** The file that people and their programs start: of the clone, which finds a Node that is new enough, or of the package. */
export const PROGRAM: string = import.meta.url.endsWith('.ts')
  ? fileURLToPath(new URL('../../../bin/reveille', import.meta.url))
  : fileURLToPath(new URL('../bin/reveille.cjs', import.meta.url));
