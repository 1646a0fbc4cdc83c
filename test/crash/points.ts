/**
 * Where the victim can be told to die. The first four are the store's own; the others lie between two things that the
 * engine does to the world: a hand-over begun and not done, or done and not known.
 */
export const POINTS = [
  'before-apply',
  'before-commit',
  'after-commit',
  'after-commit-before-ack',
  'before-open',
  'migrating',
  'opened',
  'reclaimed',
  'swept',
  'recovered',
  'committed',
  'claimed',
  'before-start',
  'after-start',
  'before-turn',
  'after-turn',
  'before-steer',
  'after-steer',
  'before-seen',
  'after-seen',
  'before-stop',
  'after-stop',
  'before-reap',
  'after-reap',
  'before-call',
  'before-answer',
  'after-answer',
  'before-receive',
  'after-receive',
  'stopping',
] as const;
export type Point = (typeof POINTS)[number];

export const isPoint = (name: string): name is Point => (POINTS as readonly string[]).includes(name);

/** `CRASH_AT=name:n`: the nth time the point is reached, the process kills itself and nothing of it runs on. */
export function crashPoints(wish: string | undefined): (name: Point) => void {
  const [name, hits = '1'] = wish?.split(':') ?? [];
  let left = Number(hits);
  return (point) => {
    if (point !== name || --left > 0) return;
    process.kill(process.pid, 'SIGKILL');
    // A signal may take a moment to arrive; nothing may happen in it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
}
