import { useMemo } from 'preact/hooks';
import { isTerminal, type TaskRow } from '@reveille/protocol';
import { Shape, lookOf } from '../parts/state.tsx';
import { href } from '../router.ts';
import type { ConflictRow } from '../store/store.ts';
import { criticalPath, layered } from './layout.ts';

export interface Node {
  readonly id: string;
  readonly name: string;
  readonly needs: readonly string[];
  /** Null: it is not saved yet. */
  readonly row: TaskRow | null;
  readonly asks: boolean;
}

const BOX = { width: 184, height: 46 } as const;
const GAP = { x: 48, y: 14 } as const;
const EDGE = 20;

interface Props {
  readonly nodes: readonly Node[];
  readonly conflicts?: readonly ConflictRow[];
  readonly label: string;
}

/** What waits for what, from left to right. */
export function Graph({ nodes, conflicts = [], label }: Props) {
  const shape = nodes.map(({ id, needs }) => `${id}<${needs.join(' ')}`).join('\n');
  // Where a node lies follows from the edges alone, which seldom change; its state is drawn often.
  const { at, width, height } = useMemo(() => place(nodes), [shape]);
  const open = nodes.map(({ id, needs, row }) => ({
    id,
    needs,
    open: row !== null && !isTerminal(row.state),
  }));
  const states = open.map((node) => Number(node.open)).join('');
  const critical = useMemo(() => criticalPath(open), [shape, states]);
  return (
    <figure class="graph scroll" tabIndex={0} aria-label={label}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={label}>
        {nodes.flatMap(({ id, needs }) =>
          needs
            .filter((need) => at.has(need))
            .map((need) => (
              <path
                key={`${need} ${id}`}
                class={`edge ${critical.has(id) && critical.has(need) ? 'edge-critical' : ''}`}
                d={curve(at.get(need), at.get(id))}
              />
            )),
        )}
        {conflicts.map(({ a, b }) => (
          <path key={`${a} ${b}`} class="edge edge-conflict" d={curve(at.get(a), at.get(b), true)} />
        ))}
        {nodes.map((node) => (
          <NodeBox key={node.id} node={node} at={at.get(node.id)} critical={critical.has(node.id)} />
        ))}
      </svg>
      <figcaption class="legend">
        <span class="legend-critical">critical path</span>
        {conflicts.length > 0 ? <span class="legend-conflict">conflict</span> : null}
      </figcaption>
    </figure>
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function place(nodes: readonly Node[]): { at: ReadonlyMap<string, Point>; width: number; height: number } {
  const placed = layered(nodes);
  const rows = placed.map(({ row }) => row);
  const top = Math.min(0, ...rows);
  const at = new Map(
    placed.map(({ id, layer, row }) => [
      id,
      { x: EDGE + layer * (BOX.width + GAP.x), y: EDGE + (row - top) * (BOX.height + GAP.y) },
    ]),
  );
  const layerCount = Math.max(0, ...placed.map(({ layer }) => layer)) + 1;
  return {
    at,
    width: EDGE * 2 + layerCount * (BOX.width + GAP.x) - GAP.x,
    height: EDGE * 2 + (Math.max(0, ...rows) - top + 1) * (BOX.height + GAP.y) - GAP.y,
  };
}

/** From the right of one to the left of the other; a conflict, which has no direction, between their middles. */
function curve(from: Point | undefined, to: Point | undefined, middle = false): string {
  if (!from || !to) return '';
  const [x1, y1] = [from.x + (middle ? BOX.width / 2 : BOX.width), from.y + BOX.height / 2];
  const [x2, y2] = [to.x + (middle ? BOX.width / 2 : 0), to.y + BOX.height / 2];
  const bend = middle ? 0 : Math.max(24, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

const LONGEST = 22;

function NodeBox({ node, at, critical }: { node: Node; at: Point | undefined; critical: boolean }) {
  if (!at) return null;
  const look = node.row ? lookOf(node.row, node.asks) : null;
  const name = node.name.length > LONGEST ? `${node.name.slice(0, LONGEST - 1)}…` : node.name;
  const box = (
    <g
      class={`node tone-${look?.tone ?? 'quiet'} ${critical ? 'node-critical' : ''}`}
      transform={`translate(${at.x} ${at.y})`}
    >
      {name === node.name ? null : <title>{node.name}</title>}
      <rect width={BOX.width} height={BOX.height} rx="7" />
      <text class="node-name" x="12" y="19">
        {name}
      </text>
      {look ? (
        <>
          <svg x="10" y="26" width="13" height="13">
            <Shape shape={look.shape} />
          </svg>
          <text class="node-state" x="28" y="37">
            {look.word}
          </text>
        </>
      ) : (
        <text class="node-state" x="12" y="37">
          new
        </text>
      )}
    </g>
  );
  return node.row ? (
    <a href={href(`/task/${node.row.id}`)} data-item data-task={node.row.id}>
      {box}
    </a>
  ) : (
    box
  );
}
