import pg from 'pg';
import { ReveilleError } from '@reveille/protocol';

export interface ConnectionOptions {
  readonly url: string;
  readonly schema: string;
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,40}$/;

/** How every connection is made. An answer means "on disk", whatever the server's own default is. */
export function clientConfig({ url, schema }: ConnectionOptions): pg.ClientConfig {
  if (!SCHEMA.test(schema)) {
    throw new ReveilleError(
      'invalid_input',
      `"${schema}" cannot be the name of a schema: use a-z, 0-9 and _, at most 41 characters.`,
    );
  }
  return {
    connectionString: url,
    application_name: 'reveille',
    options: `-c search_path=${schema} -c synchronous_commit=on -c client_min_messages=warning`,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  };
}

export const channelOf = (schema: string): string => `reveille_${schema}`;

/** A connected client whose loss shows in its queries; without a listener it would end the process. */
export async function connect(options: ConnectionOptions): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(options));
  client.on('error', () => {});
  await client.connect();
  return client;
}
