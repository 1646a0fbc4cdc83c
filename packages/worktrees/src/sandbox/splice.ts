import type { Socket } from 'node:net';

/**
 * Joins two open sockets until both have said all they had to say. One that is gone takes the other with it, but not
 * before that has been sent what was on its way.
 */
export function splice(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.pipe(to);
    from.once('close', () => to.destroySoon());
  }
}
