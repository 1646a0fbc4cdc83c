import { isJSONRPCNotification, type McpServer, type RequestId } from '@modelcontextprotocol/server';

/** More calls than a client has under way at once. */
const MOST = 64;

/**
 * The last calls of a connection that were answered. A client that gives a call up while the answer is on its way throws
 * the answer away: its word that it gave up comes too late to stop the call, and must undo the delivery instead.
 */
class Answered {
  readonly #undo = new Map<RequestId, () => void>();

  add(id: RequestId, undo: () => void): void {
    this.#undo.delete(id);
    this.#undo.set(id, undo);
    for (const oldest of this.#undo.keys()) {
      if (this.#undo.size <= MOST) break;
      this.#undo.delete(oldest);
    }
  }

  /** Looks at what a client sent after it was handed on. */
  hear(message: unknown): void {
    if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return;
    const id = message.params?.['requestId'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#undo.get(id)?.();
    this.#undo.delete(id);
  }
}

const byServer = new WeakMap<McpServer, Answered>();

/** Those of the connection that a server serves. */
export function answeredBy(server: McpServer): Answered {
  const answered = byServer.get(server) ?? new Answered();
  byServer.set(server, answered);
  return answered;
}
