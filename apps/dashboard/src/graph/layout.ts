export interface GraphNode {
  readonly id: string;
  readonly needs: readonly string[];
}
export interface Spot {
  readonly layer: number;
  readonly row: number;
}
export interface Placed extends Spot {
  readonly id: string;
}
export interface Joined {
  readonly from: string;
  readonly to: string;
  /** Where it passes through the layers in between, beside what lies there. */
  readonly bends: readonly Spot[];
}
export interface Layout {
  readonly nodes: readonly Placed[];
  readonly edges: readonly Joined[];
}

/** Nobody follows the edges of thousands by eye: less order will do. */
const sweepsOf = (count: number): number => (count > 3_000 ? 2 : 6);
/** Of more nodes, or with more bends, edges go straight: a place in every layer would make it larger than anybody looks at. */
const MOST_BENT = 400;
const MOST_BENDS = 600;

export const layered = (nodes: readonly GraphNode[]): readonly Placed[] => laidOut(nodes).nodes;

/**
 * A layered picture of what waits for what: each node one layer after the last of those it needs, and in its layer near the
 * middle of those it is joined to. By number instead of by id: ten thousand tasks are laid out between two frames.
 */
export function laidOut(nodes: readonly GraphNode[]): Layout {
  const needs = numbered(nodes);
  const { layers } = depths(needs);
  const above = needs.map((list) => [...list]);
  const edges = joined(above, layers, nodes.length <= MOST_BENT && bendsOf(needs, layers) <= MOST_BENDS);
  const rows = settled(above, layers);
  const spot = (i: number): Spot => ({ layer: layers[i] ?? 0, row: rows[i] ?? 0 });
  const idOf = (i: number): string => nodes[i]?.id ?? '';
  return {
    nodes: nodes.map(({ id }, i) => ({ id, ...spot(i) })),
    edges: edges.map(({ from, to, by }) => ({ from: idOf(from), to: idOf(to), bends: by.map(spot) })),
  };
}

/** What each needs, by number; what is not there is left out. */
function numbered(nodes: readonly GraphNode[]): number[][] {
  const numberOf = new Map(nodes.map(({ id }, i) => [id, i]));
  return nodes.map(({ needs }, i) => {
    const known = new Set(needs.map((need) => numberOf.get(need) ?? i));
    known.delete(i);
    return [...known];
  });
}

/** The longest way to each node, and an order in which each comes after what it needs. A circle ends where it was met. */
function depths(needs: readonly (readonly number[])[]): { layers: number[]; order: number[] } {
  const layers = needs.map(() => -1);
  const next = needs.map(() => 0);
  const order: number[] = [];
  for (let start = 0; start < needs.length; start++) {
    const path = layers[start] === -1 && next[start] === 0 ? [start] : [];
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const list = needs[at] ?? [];
      const need = list[next[at] ?? 0];
      next[at] = (next[at] ?? 0) + 1;
      if (need === undefined) {
        layers[at] = list.reduce((most, each) => Math.max(most, layers[each] ?? -1), -1) + 1;
        order.push(at);
        path.pop();
        // Its first look says that it was begun; one that needs nothing has begun too.
      } else if (next[need] === 0) path.push(need);
    }
  }
  return { layers, order };
}

/** How many places long edges would take. */
const bendsOf = (needs: readonly (readonly number[])[], layers: readonly number[]): number =>
  needs.reduce(
    (sum, list, to) =>
      list.reduce((all, from) => all + Math.max(0, (layers[to] ?? 0) - (layers[from] ?? 0) - 1), sum),
    0,
  );

interface NumberedEdge {
  readonly from: number;
  readonly to: number;
  /** Places of its own in the layers between, which are numbered after the nodes. */
  readonly by: readonly number[];
}

/** The edges. Long ones are given a place in each layer they pass, so that they go round what lies there. */
function joined(above: number[][], layers: number[], bent: boolean): NumberedEdge[] {
  const edges: NumberedEdge[] = [];
  const count = above.length;
  for (let to = 0; to < count; to++) {
    const joins = above[to] ?? [];
    joins.forEach((from, k) => {
      const by: number[] = [];
      for (let layer = (layers[from] ?? 0) + 1; bent && layer < (layers[to] ?? 0); layer++) {
        by.push(layers.push(layer) - 1);
        above.push([by.at(-2) ?? from]);
      }
      joins[k] = by.at(-1) ?? from;
      edges.push({ from, to, by });
    });
  }
  return edges;
}

/** In which row of its layer each lies: swept to and fro, each layer is sorted by where its neighbours are. */
function settled(above: readonly (readonly number[])[], layers: readonly number[]): Float64Array {
  const below: number[][] = above.map(() => []);
  above.forEach((list, i) => list.forEach((need) => below[need]?.push(i)));
  const columns: number[][] = [];
  layers.forEach((layer, i) => (columns[layer] ??= []).push(i));
  const rows = new Float64Array(above.length);
  // Of few, the layers lie round a middle; of many, that would be far down.
  const middled = above.length <= MOST_BENT * 2;
  const settle = (column: readonly number[]): void => {
    const first = middled ? (column.length - 1) / 2 : 0;
    column.forEach((i, row) => (rows[i] = row - first));
  };
  for (const column of columns) settle(column);
  const middles = new Float64Array(above.length);
  /** Joined to nothing: after all others. */
  const isAlone = (i: number): boolean => above[i]?.length === 0 && below[i]?.length === 0;
  for (let sweep = 0; sweep < sweepsOf(above.length); sweep++) {
    const down = sweep % 2 === 0;
    for (const column of down ? columns : columns.toReversed()) {
      for (const i of column) middles[i] = middleOf((down ? above : below)[i] ?? [], rows, i);
      for (const i of column) if (isAlone(i)) middles[i] = Infinity;
      // Two that are both alone are as they were: their difference is no number.
      column.sort((a, b) => (middles[a] ?? 0) - (middles[b] ?? 0) || 0);
      settle(column);
    }
  }
  return rows;
}

function middleOf(joins: readonly number[], rows: Float64Array, own: number): number {
  if (joins.length === 0) return rows[own] ?? 0;
  let sum = 0;
  for (const other of joins) sum += rows[other] ?? 0;
  return sum / joins.length;
}

/**
 * The longest chain of what is still to be done: the plan cannot end before it does. Each open task counts the same; nobody
 * knows how long one takes.
 */
export function criticalPath(
  nodes: readonly (GraphNode & { readonly open: boolean })[],
): ReadonlySet<string> {
  const needs = numbered(nodes);
  const length = nodes.map(() => 0);
  const from = nodes.map(() => -1);
  let last = -1;
  for (const i of depths(needs).order) {
    if (!nodes[i]?.open) continue;
    for (const need of needs[i] ?? []) if ((length[need] ?? 0) > (length[from[i] ?? -1] ?? 0)) from[i] = need;
    length[i] = (length[from[i] ?? -1] ?? 0) + 1;
    if ((length[i] ?? 0) > (length[last] ?? 0)) last = i;
  }
  const path = new Set<string>();
  if ((length[last] ?? 0) < 2) return path;
  for (let i = last; i !== -1; i = from[i] ?? -1) path.add(nodes[i]?.id ?? '');
  return path;
}
