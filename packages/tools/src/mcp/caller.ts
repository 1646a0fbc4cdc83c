import type { McpServer } from '@modelcontextprotocol/server';
import type { Caller, CallerWorld } from '@reveille/protocol';

/**
 * Who calls, as whoever mounts the server found out from the credential of the connection (ID3). Nothing else is kept
 * about it: whichever connection it comes by, it is the same caller.
 */
export interface McpCaller {
  /** The same for the same credential, and for no other. */
  readonly key: string;
  readonly kind: Caller['kind'];
  /** Its world as it is now; asked for at every call, so that what was taken from it is gone at once. */
  world(): CallerWorld | Promise<CallerWorld>;
}

export interface McpClient {
  readonly name: string;
  readonly version: string;
}

export interface McpOptions {
  readonly version: string;
  /** Between two signs of life of a call that takes long. */
  readonly progressEveryMs?: number;
  /** How long a client waits for an answer, in milliseconds; `progress`: it asked for signs of life. */
  readonly patience?: (client: McpClient | null, progress: boolean) => number;
  /** Resolves when the answer to an HTTP request is out; absent: it is as soon as it is made. Never, if it is lost. */
  readonly sent?: (request: Request) => Promise<void>;
  readonly onError?: (error: Error) => void;
}

/** Makes the server of a caller. `connection` tells its calls from those of its other connections; null: nothing does. */
export type ServerFor = (caller: McpCaller, connection: string | null) => McpServer;
