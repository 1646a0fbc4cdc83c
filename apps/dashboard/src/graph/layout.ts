export interface GraphNode {
  readonly id: string;
  readonly needs: readonly string[];
}
export interface Placed {
  readonly id: string;
  readonly layer: number;
  readonly row: number;
}

const SWEEPS = 6;

/**
 * A layered picture of what waits for what: each node one layer after the last of those it needs, and in its layer near the
 * middle of those it is joined to. Edges that are not in a graph without circles are left out.
 */
export function layered(nodes: readonly GraphNode[]): Placed[] {
  const layerOf = layers(nodes);
  const columns: string[][] = [];
  for (const { id } of nodes) (columns[layerOf.get(id) ?? 0] ??= []).push(id);
  const above = new Map(nodes.map(({ id, needs }) => [id, needs.filter((need) => layerOf.has(need))]));
  const below = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const [id, needs] of above) for (const need of needs) below.get(need)?.push(id);
  const rowOf = new Map<string, number>();
  const settle = (column: readonly string[]): void =>
    column.forEach((id, row) => rowOf.set(id, row - (column.length - 1) / 2));
  for (const column of columns) settle(column);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const column of down ? columns : columns.toReversed()) {
      sortByMiddle(column, down ? above : below, rowOf);
      settle(column);
    }
  }
  return nodes.map(({ id }) => ({ id, layer: layerOf.get(id) ?? 0, row: rowOf.get(id) ?? 0 }));
}

/** The longest way to each node. Nodes of a circle are put where the circle was met. */
function layers(nodes: readonly GraphNode[]): Map<string, number> {
  const needsOf = new Map(nodes.map(({ id, needs }) => [id, needs]));
  const found = new Map<string, number>();
  const open = new Set<string>();
  for (const { id: start } of nodes) {
    const path = [start];
    while (path.length > 0) {
      const id = path.at(-1) ?? '';
      const waits = (needsOf.get(id) ?? []).find(
        (need) => needsOf.has(need) && !found.has(need) && !open.has(need),
      );
      open.add(id);
      if (waits !== undefined && !found.has(id)) {
        path.push(waits);
        continue;
      }
      const before = (needsOf.get(id) ?? []).map((need) => found.get(need) ?? -1);
      if (!found.has(id)) found.set(id, Math.max(-1, ...before) + 1);
      open.delete(id);
      path.pop();
    }
  }
  return found;
}

function sortByMiddle(
  column: string[],
  joined: ReadonlyMap<string, readonly string[]>,
  rowOf: ReadonlyMap<string, number>,
): void {
  const middle = new Map(
    column.map((id) => {
      const rows = (joined.get(id) ?? []).map((other) => rowOf.get(other) ?? 0);
      return [
        id,
        rows.length > 0 ? rows.reduce((sum, row) => sum + row, 0) / rows.length : (rowOf.get(id) ?? 0),
      ];
    }),
  );
  column.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
}

/**
 * The longest chain of what is still to be done: the plan cannot end before it does. Each open task counts the same; nobody
 * knows how long one takes.
 */
export function criticalPath(
  nodes: readonly (GraphNode & { readonly open: boolean })[],
): ReadonlySet<string> {
  const order = layered(nodes).toSorted((a, b) => a.layer - b.layer);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const best = new Map<string, { readonly length: number; readonly from: string | null }>();
  for (const { id } of order) {
    const node = byId.get(id);
    if (!node?.open) continue;
    const before = node.needs.filter((need) => best.has(need));
    const from =
      before.toSorted((a, b) => (best.get(b)?.length ?? 0) - (best.get(a)?.length ?? 0))[0] ?? null;
    best.set(id, { length: (from === null ? 0 : (best.get(from)?.length ?? 0)) + 1, from });
  }
  const [last] = [...best].toSorted(([, a], [, b]) => b.length - a.length);
  const path = new Set<string>();
  if (!last || last[1].length < 2) return path;
  for (let id: string | null = last[0]; id !== null; id = best.get(id)?.from ?? null) path.add(id);
  return path;
}
