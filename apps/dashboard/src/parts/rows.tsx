import { healthLine, withoutCause, type TaskRow } from '@reveille/protocol';
import { href } from '../router.ts';
import { store } from '../store/store.ts';
import { summary } from '../store/summary.ts';
import { money, tokens } from './amounts.ts';
import { narrow } from './narrow.ts';
import { TaskState } from './state.tsx';
import { Ago, now } from './time.tsx';
import { Virtual } from './virtual.tsx';

/** Many tasks, one line each; two on a phone. */
export const TaskRows = ({ rows, label }: { rows: readonly TaskRow[]; label: string }) => (
  <Virtual items={rows} height={narrow.value ? 68 : 40} label={label} keyOf={({ id }) => id} seen={watch}>
    {(row) => <TaskLine row={row} />}
  </Virtual>
);

/** What no event says of these is read now and then. */
function watch(rows: readonly TaskRow[]): void {
  store.visible.clear();
  for (const { id } of rows) store.visible.add(id);
}

export const TaskLine = ({ row }: { row: TaskRow }) => {
  const asks = summary().requestOf.has(row.id);
  const { run } = row;
  return (
    <a class="line" href={href(`/task/${row.id}`)} data-item data-task={row.id}>
      <TaskState row={row} asks={asks} />
      <span class="line-name">{row.name}</span>
      <span class="line-why" title={run?.health ? whyOf(row) : row.why}>
        {row.state === 'running' && run?.doing && !run.health ? <code>{run.doing}</code> : whyOf(row)}
      </span>
      <span class="line-agent">{row.agent}</span>
      <span class="line-number" title="tokens of the latest run">
        {tokens(run?.tokens ?? 0, run?.estimated)}
      </span>
      <span class="line-number" title="cost of the latest run">
        {money(run?.usd ?? 0, run?.estimated)}
      </span>
      <span class="line-number">
        <Ago at={row.since} />
      </span>
    </a>
  );
};

const WAITS: Readonly<Record<string, string>> = {
  children: 'for its subtasks',
  answer: 'for an answer',
  approval: 'for leave',
  memory: 'for memory',
  cpu: 'for CPU',
  disk: 'for disk space',
  backoff: 'to try again',
  mail: 'for mail',
  paused: 'paused by hand',
};

export function whyOf({ state, run, why, waitingOn, cancelling }: TaskRow): string {
  if (cancelling) return 'being cancelled';
  if (state === 'running' && run?.health) return healthLine(run.health, now.value);
  if (waitingOn) return WAITS[waitingOn] ?? waitingOn;
  return withoutCause(why);
}

/** What the columns are; for eyes only, each cell says it itself. */
export const LineHead = () => (
  <div class="line line-head" aria-hidden="true">
    <span>State</span>
    <span>Task</span>
    <span>Doing, or why</span>
    <span>Agent</span>
    <span>Tokens</span>
    <span>Cost</span>
    <span>Since</span>
  </div>
);
