import type { Backend } from '../backend.ts';
import type { PostgresOptions } from './options.ts';

/** All of it is loaded here, with the client: a host that writes into a file needs none of it. */
export async function openPostgres(options: PostgresOptions): Promise<Backend> {
  const { openServer } = await import('./server.ts');
  return openServer(options);
}
