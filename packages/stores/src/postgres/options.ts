import type { Migration } from '../migrations/migration.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly schema?: string;
  readonly migrations?: readonly Migration[];
  /** Waited between attempts to reach a server that was lost. */
  readonly retryMs?: number;
}
