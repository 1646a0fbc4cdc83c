import { POINTS, type Point } from './points.ts';

/** How a life of the victim ends. */
export type Kill =
  | { readonly how: 'random'; readonly from: 'start' | 'first effect'; readonly afterMs: number }
  | { readonly how: 'point'; readonly point: Point; readonly hit: number }
  /** An orderly stop, in the middle of which it may be killed by the point `stopping`. */
  | { readonly how: 'signal'; readonly signal: 'SIGTERM' | 'SIGINT'; readonly afterMs: number };

/** Only a first life opens a new file. */
const FIRST_LIFE: readonly Point[] = ['before-open', 'migrating', 'opened'];
/** Reached once per life, on the way up; and the one on the way down. */
const ONCE: readonly Point[] = ['before-open', 'opened', 'reclaimed', 'swept', 'recovered', 'stopping'];
const OFTEN = POINTS.filter((point) => !ONCE.includes(point) && point !== 'migrating');
/** After about this many a life of the victim is over anyway. */
const FEW: readonly Point[] = [
  'before-steer',
  'after-steer',
  'before-seen',
  'after-seen',
  'before-reap',
  'after-reap',
];

/** The kill of one cycle. A third falls at random; the others go through the points in turn. */
export function chooseKill(options: {
  cycle: number;
  world: number;
  chance: () => number;
  only?: Point | undefined;
}): Kill {
  const { cycle, world, chance, only } = options;
  if (only) return at(only, chance);
  if (cycle === 0) return at(FIRST_LIFE[world % FIRST_LIFE.length] as Point, chance);
  if (cycle % 11 === 10)
    return { how: 'signal', signal: chance() < 0.5 ? 'SIGTERM' : 'SIGINT', afterMs: chance() * 100 };
  if (cycle % 3 === 1) {
    if (chance() < 0.2) return { how: 'random', from: 'start', afterMs: chance() * 200 };
    return { how: 'random', from: 'first effect', afterMs: chance() * 150 };
  }
  const points = [...OFTEN, ...ONCE.slice(1)];
  // Coprime with their number, so that every point comes up before one does again.
  return at(points[(world * 7 + cycle * 5) % points.length] as Point, chance);
}

function at(point: Point, chance: () => number): Kill {
  const most = ONCE.includes(point) ? 1 : FEW.includes(point) ? 2 : 6;
  return { how: 'point', point, hit: 1 + Math.floor(chance() * most) };
}

export const describeKill = (kill: Kill): string => {
  if (kill.how === 'point') return `at ${kill.point}, hit ${kill.hit}`;
  if (kill.how === 'signal') return `${kill.signal}, ${Math.round(kill.afterMs)} ms after its first effect`;
  return `${Math.round(kill.afterMs)} ms after its ${kill.from}`;
};
