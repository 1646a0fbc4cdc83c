import type { Socket } from 'node:net';
import type { Caller } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';

export type ConnectionLimits = Pick<
  Config['daemon'],
  'connections' | 'newConnections' | 'newHeadersMs' | 'runConnections'
>;

/** Of all connections, the part that only the person and their pages can have. */
const RESERVED = 1 / 4;

/**
 * The open connections of one listener, by who calls on them, so that nobody can take the places of others:
 *
 *   new ── a request of nobody we know ──► unknown ──┐
 *    └──── a request with a credential ──► known  ◄──┘   person | one session | one run
 *
 * A new connection has `newHeadersMs` to send its first request. Of new ones, and of unknown ones, there are at most
 * `newConnections`: one more ends the oldest of its kind, so that whoever sends its request at once gets in, however many only
 * hold a place. A run has at most `runConnections`; all runs and sessions together leave a quarter of `connections` to the person.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #dropped: () => void;
  readonly #groups = new Map<string, Set<Socket>>();
  readonly #groupOf = new Map<Socket, string>();
  readonly #patience = new Map<Socket, NodeJS.Timeout>();

  constructor(limits: ConnectionLimits, dropped: () => void) {
    this.#limits = limits;
    this.#dropped = dropped;
  }

  opened(socket: Socket): void {
    socket.once('close', () => this.#forget(socket));
    const { newHeadersMs } = this.#limits;
    this.#patience.set(
      socket,
      setTimeout(() => socket.destroy(), newHeadersMs),
    );
    this.#hold(socket, 'new');
  }

  /** A whole head came. Null: it may be answered; else why not. */
  asked(socket: Socket, caller: Caller | null): string | null {
    clearTimeout(this.#patience.get(socket));
    this.#patience.delete(socket);
    if (!caller) {
      this.#hold(socket, 'unknown');
      return null;
    }
    const group = groupNameOf(caller);
    if (this.#groupOf.get(socket) === group) return null;
    const full = this.#fullFor(caller, group);
    if (!full) this.#move(socket, group);
    return full;
  }

  /** New and unknown ones make room among themselves. */
  #hold(socket: Socket, group: 'new' | 'unknown'): void {
    this.#move(socket, group);
    const held = this.#groups.get(group);
    const [oldest] = held ?? [];
    if (!held || !oldest || held.size <= this.#limits.newConnections) return;
    oldest.destroy();
    this.#leave(oldest);
    this.#dropped();
  }

  #fullFor(caller: Caller, group: string): string | null {
    const { connections, runConnections } = this.#limits;
    const own = this.#groups.get(group)?.size ?? 0;
    const person = this.#groups.get('person')?.size ?? 0;
    const known = this.#groupOf.size - this.#size('new') - this.#size('unknown');
    if (caller.kind === 'worker' && own >= runConnections)
      return `This run has ${own} connections open, as many as it may. Close some, or use those that are open.`;
    if (caller.kind !== 'person' && known - person >= connections * (1 - RESERVED))
      return 'All connections for agents and chats are in use. Try again in a few seconds.';
    return known >= connections ? 'All connections are in use. Try again in a few seconds.' : null;
  }

  #size(group: string): number {
    return this.#groups.get(group)?.size ?? 0;
  }

  #move(socket: Socket, group: string): void {
    this.#leave(socket);
    // One that was destroyed meanwhile says so no more.
    if (socket.destroyed) return;
    this.#groupOf.set(socket, group);
    const sockets = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, sockets.add(socket));
  }

  #leave(socket: Socket): void {
    const group = this.#groupOf.get(socket);
    if (group === undefined) return;
    this.#groupOf.delete(socket);
    const sockets = this.#groups.get(group);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#groups.delete(group);
  }

  #forget(socket: Socket): void {
    clearTimeout(this.#patience.get(socket));
    this.#patience.delete(socket);
    this.#leave(socket);
  }
}

function groupNameOf(caller: Caller): string {
  if (caller.kind === 'person') return 'person';
  return caller.kind === 'worker' ? caller.run : caller.session;
}
