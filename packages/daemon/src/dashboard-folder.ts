import { fileURLToPath } from 'node:url';

/** Where the built page lies: in its room of the clone, or beside the code of the package. */
export const DASHBOARD: string = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../apps/dashboard/dist' : '../dashboard', import.meta.url),
).replace(/\/$/, '');
