import { useMemo, useRef } from 'preact/hooks';
import { isTerminal, type TaskRow } from '@reveille/protocol';
import { Shape, lookOf } from '../parts/state.tsx';
import { href } from '../router.ts';
import type { ConflictRow } from '../store/store.ts';
import { criticalPath } from './layout.ts';
import { BOX, across, isIn, place, type Edge, type Point } from './place.ts';
import { useSeen } from './seen.ts';

export interface Node {
  readonly id: string;
  readonly name: string;
  readonly needs: readonly string[];
  /** Null: it is not saved yet. */
  readonly row: TaskRow | null;
  readonly asks: boolean;
}

interface Props {
  readonly nodes: readonly Node[];
  readonly conflicts?: readonly ConflictRow[];
  readonly label: string;
}

/** As many are drawn whole; of more, what can be seen of them. */
const WHOLE = 300;
/** One task may need thousands. */
const MOST_EDGES = 1_000;

/** What waits for what, from left to right. */
export function Graph({ nodes, conflicts = [], label }: Props) {
  // Where a node lies follows from the edges alone, which seldom change; its state is drawn often.
  const shape = useShape(nodes);
  const { at, edges, width, height } = useMemo(() => place(shape), [shape]);
  const open = nodes.map(({ id, needs, row }) => ({
    id,
    needs,
    open: row !== null && !isTerminal(row.state),
  }));
  const states = open.map((node) => Number(node.open)).join('');
  const critical = useMemo(() => criticalPath(open), [shape, states]);
  const box = useRef<HTMLElement>(null);
  const seen = useSeen(box);
  const isSeen = (id: string): boolean => nodes.length <= WHOLE || isIn(seen, at.get(id));
  // The lines are the most of it, and the same in almost every picture. One that leads far away says little and costs most.
  const lines = useMemo(
    () => <Lines edges={edges.filter(({ from, to }) => isSeen(from) && isSeen(to))} critical={critical} />,
    [edges, critical, seen],
  );
  return (
    <figure class="graph scroll" ref={box} tabIndex={0} aria-label={label}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={label}>
        {lines}
        {conflicts.map(({ a, b }) => (
          <path key={`${a} ${b}`} class="edge edge-conflict" d={across(at.get(a), at.get(b))} />
        ))}
        {nodes
          .filter(({ id }) => isSeen(id))
          .map((node) => (
            <NodeBox key={node.id} node={node} at={at.get(node.id)} critical={critical.has(node.id)} />
          ))}
      </svg>
      <figcaption class="legend">
        {critical.size > 0 ? <span class="legend-critical">critical path</span> : null}
        {conflicts.length > 0 ? <span class="legend-conflict">conflict</span> : null}
      </figcaption>
    </figure>
  );
}

const Lines = ({ edges, critical }: { edges: readonly Edge[]; critical: ReadonlySet<string> }) => (
  <>
    {edges.slice(0, MOST_EDGES).map(({ from, to, d }) => (
      <path
        key={`${from} ${to}`}
        class={`edge ${critical.has(from) && critical.has(to) ? 'edge-critical' : ''}`}
        d={d}
      />
    ))}
  </>
);

/** The nodes as they were when their edges last changed. */
function useShape(nodes: readonly Node[]): readonly Node[] {
  const known = useRef(nodes);
  const isSame = ({ id, needs }: Node, i: number): boolean => {
    const before = known.current[i];
    if (before?.id !== id || before.needs.length !== needs.length) return false;
    return before.needs === needs || needs.every((need, k) => need === before.needs[k]);
  };
  if (known.current.length !== nodes.length || !nodes.every(isSame)) known.current = nodes;
  return known.current;
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
