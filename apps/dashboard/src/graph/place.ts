import { laidOut, type GraphNode, type Spot } from './layout.ts';
import type { Area } from './seen.ts';

export const BOX = { width: 184, height: 46 } as const;
const GAP = { x: 48, y: 14 } as const;
const EDGE = 20;

export interface Point {
  readonly x: number;
  readonly y: number;
}
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly d: string;
}
interface Drawing {
  readonly at: ReadonlyMap<string, Point>;
  readonly edges: readonly Edge[];
  readonly width: number;
  readonly height: number;
}

/** Where everything lies, and the lines between. */
export function place(nodes: readonly GraphNode[]): Drawing {
  const { nodes: placed, edges } = laidOut(nodes);
  const spots = [...placed, ...edges.flatMap(({ bends }) => bends)];
  const most = (of: (spot: Spot) => number): number =>
    spots.reduce((max, spot) => Math.max(max, of(spot)), 0);
  const [top, bottom, last] = [-most(({ row }) => -row), most(({ row }) => row), most(({ layer }) => layer)];
  const pointOf = ({ layer, row }: Spot): Point => ({
    x: EDGE + layer * (BOX.width + GAP.x),
    y: EDGE + (row - top) * (BOX.height + GAP.y),
  });
  const at = new Map(placed.map((node) => [node.id, pointOf(node)]));
  return {
    at,
    edges: edges.map(({ from, to, bends }) => ({
      from,
      to,
      d: curve([at.get(from), ...bends.map(pointOf), at.get(to)]),
    })),
    width: EDGE * 2 + (last + 1) * (BOX.width + GAP.x) - GAP.x,
    height: EDGE * 2 + (bottom - top + 1) * (BOX.height + GAP.y) - GAP.y,
  };
}

/** From the right of the first to the left of the last, straight through the places in between. */
function curve(points: readonly (Point | undefined)[]): string {
  const [from, ...rest] = points;
  if (!from) return '';
  let [x, y] = [from.x + BOX.width, from.y + BOX.height / 2];
  let d = `M${x} ${y}`;
  for (const [i, to] of rest.entries()) {
    if (!to) continue;
    const middle = to.y + BOX.height / 2;
    const bend = Math.max(24, (to.x - x) / 2);
    d += `C${x + bend} ${y} ${to.x - bend} ${middle} ${to.x} ${middle}`;
    [x, y] = [to.x, middle];
    if (i === rest.length - 1) break;
    x += BOX.width;
    d += `H${x}`;
  }
  return d;
}

/** A conflict has no direction: from middle to middle. */
export function across(from: Point | undefined, to: Point | undefined): string {
  if (!from || !to) return '';
  const [x, y] = [BOX.width / 2, BOX.height / 2];
  return `M${from.x + x} ${from.y + y}L${to.x + x} ${to.y + y}`;
}

export const isIn = ({ left, top, right, bottom }: Area, at: Point | undefined): boolean =>
  at !== undefined && at.x + BOX.width >= left && at.x <= right && at.y + BOX.height >= top && at.y <= bottom;
