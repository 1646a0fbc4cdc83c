import { isTerminal, type Plan, type PlanId, type TaskRow } from '@reveille/protocol';
import { PlanButtons } from '../acts/buttons.tsx';
import { Graph } from '../graph/graph.tsx';
import { plural } from '../parts/amounts.ts';
import { Empty, Progress, Tabs } from '../parts/pieces.tsx';
import { LineHead, TaskRows } from '../parts/rows.tsx';
import { PlanState, TaskState } from '../parts/state.tsx';
import { Ago } from '../parts/time.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { href } from '../router.ts';
import { store, type ConflictRow } from '../store/store.ts';
import { COLUMNS, COLUMN_WORDS, columnOf, emptyColumns, summary, type Column } from '../store/summary.ts';

const PARTS = ['graph', 'board', 'list'] as const;
/** Of more the board says more at a glance; the graph is one key away. */
const MANY = 600;

export function PlanPage({ id, part }: { id: string; part: string | undefined }) {
  const plan = store.plans.get(id as PlanId);
  const rows = summary().byPlan.get(id as PlanId) ?? [];
  if (!plan)
    return (
      <Empty title="There is no such plan.">
        <a href={href('/plans')}>All plans</a>
      </Empty>
    );
  const at = PARTS.find((known) => known === part) ?? (rows.length > MANY ? 'board' : 'graph');
  return (
    <>
      <PlanHead plan={plan} rows={rows} />
      <Tabs tabs={PARTS} at={at} to={(tab) => href(`/plan/${id}/${tab}`)} />
      <Conflicts rows={rows} />
      {at === 'graph' ? <PlanGraph rows={rows} /> : null}
      {at === 'board' ? <Board rows={rows} /> : null}
      {at === 'list' ? (
        <>
          <LineHead />
          <TaskRows rows={rows} label="Tasks of the plan" />
        </>
      ) : null}
    </>
  );
}

function PlanHead({ plan, rows }: { plan: Plan; rows: readonly TaskRow[] }) {
  const done = rows.filter(({ state }) => state === 'completed').length;
  return (
    <header class="head">
      <div class="head-words">
        <h1>{plan.name}</h1>
        <p class="head-line">
          <PlanState plan={plan} />
          <span>
            {done} of {plural(rows.length, 'task')} done
          </span>
          <span>
            since <Ago at={plan.since} />
          </span>
          {plan.why === '' ? null : <span class="quiet">{plan.why}</span>}
          {plan.repository === null ? null : <code>{plan.repository}</code>}
        </p>
        <Progress rows={rows} label={plan.name} />
      </div>
      <PlanButtons plan={plan} />
    </header>
  );
}

const conflictsAmong = (rows: readonly TaskRow[]): ConflictRow[] => {
  if (store.conflicts.size === 0) return [];
  const open = new Set(
    rows.filter(({ state }) => !isTerminal(state) || state === 'completed').map(({ id }) => id),
  );
  return [...store.conflicts.values()].filter(({ a, b }) => open.has(a) && open.has(b));
};

function Conflicts({ rows }: { rows: readonly TaskRow[] }) {
  const found = conflictsAmong(rows);
  if (found.length === 0) return null;
  return (
    <div class="banner banner-bad" role="status">
      <strong>{plural(found.length, 'conflict')} between branches.</strong>
      <ul>
        {found.slice(0, 5).map(({ a, b, files }) => (
          <li key={`${a}${b}`}>
            <a href={href(`/task/${a}`)}>{store.rows.get(a)?.name}</a> and{' '}
            <a href={href(`/task/${b}`)}>{store.rows.get(b)?.name}</a> change the same lines of{' '}
            {files.join(', ')}
          </li>
        ))}
      </ul>
    </div>
  );
}

function PlanGraph({ rows }: { rows: readonly TaskRow[] }) {
  const { requestOf } = summary();
  const nodes = rows.map((row) => ({
    id: row.id,
    name: row.name,
    needs: row.dependencies,
    row,
    asks: requestOf.has(row.id),
  }));
  return <Graph nodes={nodes} conflicts={conflictsAmong(rows)} label="Tasks and what they wait for" />;
}

function Board({ rows }: { rows: readonly TaskRow[] }) {
  const { requestOf } = summary();
  const columns = emptyColumns();
  for (const row of rows) columns[columnOf(row, requestOf.has(row.id))].push(row);
  const shown = COLUMNS.filter((column) => columns[column].length > 0 || ALWAYS.has(column));
  return (
    <div class="board">
      {shown.map((column) => (
        <section key={column} class={`column column-${column}`} aria-label={COLUMN_WORDS[column]}>
          <h2 class="column-title">
            {COLUMN_WORDS[column]} <span class="count">{columns[column].length.toLocaleString('en')}</span>
          </h2>
          <div class="column-list scroll" tabIndex={0} role="group" aria-label={COLUMN_WORDS[column]}>
            <Virtual items={columns[column]} height={76} label={COLUMN_WORDS[column]} keyOf={({ id }) => id}>
              {(row) => <BoardCard row={row} asks={requestOf.has(row.id)} />}
            </Virtual>
          </div>
        </section>
      ))}
    </div>
  );
}

const ALWAYS: ReadonlySet<Column> = new Set(['queued', 'working', 'done']);

const BoardCard = ({ row, asks }: { row: TaskRow; asks: boolean }) => (
  <a class="board-card" href={href(`/task/${row.id}`)} data-item data-task={row.id}>
    <span class="board-name">{row.name}</span>
    <span class="board-foot">
      <TaskState row={row} asks={asks} bare />
      <span class="quiet board-agent">{row.agent}</span>
      <Ago at={row.since} />
    </span>
  </a>
);
