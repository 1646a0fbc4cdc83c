import type { Diff, TaskId, TaskRow, TaskView } from '@reveille/protocol';
import { TaskButtons } from '../acts/buttons.tsx';
import { DiffPart } from '../diff/diff.tsx';
import { api } from '../link/api.ts';
import { money, plural, tokens } from '../parts/amounts.ts';
import { oneLine } from '../parts/clean.ts';
import { Empty, Tabs } from '../parts/pieces.tsx';
import { whyOf } from '../parts/rows.tsx';
import { TaskState } from '../parts/state.tsx';
import { Prose } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { href } from '../router.ts';
import { store } from '../store/store.ts';
import { summary } from '../store/summary.ts';
import { useAsked } from './asked.ts';
import { Mailbox } from './mailbox.tsx';
import { RequestCard } from './requests.tsx';
import { Runs } from './runs.tsx';
import { Subtasks } from './subtasks.tsx';
import { Transcript } from './transcript.tsx';

const PARTS = ['transcript', 'mailbox', 'diff', 'runs', 'task'] as const;

/** One task and the agent at it. */
export function Worker({ id, part }: { id: string; part: string | undefined }) {
  const { requestOf } = summary();
  const row = store.rows.get(id as TaskId);
  if (!row)
    return (
      <Empty title="There is no such task.">
        <a href={href('/')}>To what runs now</a>
      </Empty>
    );
  const at = PARTS.find((known) => known === part) ?? 'transcript';
  const request = requestOf.get(row.id);
  return (
    <>
      <WorkerHead row={row} asks={request !== undefined} />
      {row.run?.takenBy ? <Taken row={row} by={row.run.takenBy} /> : null}
      {request ? <RequestCard request={request} /> : null}
      <Tabs tabs={PARTS} at={at} to={(tab) => href(`/task/${id}/${tab}`)} />
      {at === 'transcript' ? <Subtasks row={row} /> : null}
      {at === 'transcript' ? <Transcript row={row} /> : null}
      {at === 'mailbox' ? <Mailbox row={row} /> : null}
      {at === 'diff' ? <DiffPart row={row} /> : null}
      {at === 'runs' ? <Runs row={row} /> : null}
      {at === 'task' ? <About row={row} /> : null}
    </>
  );
}

function WorkerHead({ row, asks }: { row: TaskRow; asks: boolean }) {
  const plan = row.plan ? store.plans.get(row.plan) : undefined;
  const { run } = row;
  return (
    <header class="head">
      <div class="head-words">
        <Crumbs row={row} plan={plan ? { id: plan.id, name: plan.name } : null} />
        <h1>{row.name}</h1>
        <p class="head-line">
          <TaskState row={row} asks={asks} />
          <span>
            for <Ago at={row.since} />
          </span>
          <span class="quiet">{whyOf(row)}</span>
        </p>
        <p class="head-line quiet">
          <span>{row.agent}</span>
          {row.model ? <span>{row.model}</span> : null}
          <span>{plural(row.attempts, 'run')}</span>
          {run ? <span>{plural(run.turns, 'turn')}</span> : null}
          {run && run.tokens > 0 ? <span>{tokens(run.tokens, run.estimated)} tokens</span> : null}
          {run && run.usd > 0 ? <span>{money(run.usd, run.estimated)}</span> : null}
          {run?.state === 'open' && run.doing ? <code class="doing">{run.doing}</code> : null}
        </p>
      </div>
      <TaskButtons row={row} />
    </header>
  );
}

/** Whoever works there has to find it, and to know that an agent waits. */
function Taken({ row, by }: { row: TaskRow; by: string }) {
  const asked = useAsked<Diff>(() => api().diffTask(row.id), [row.id, row.run?.id]);
  return (
    <div class="banner" role="status">
      {oneLine(by, 80)} works in its worktree; its agent stands still until it is given back.{' '}
      {asked.state === 'known' ? <code>{oneLine(asked.value.worktree, 4_000)}</code> : null}
    </div>
  );
}

/** Where it comes from: its plan, and the tasks above it. */
function Crumbs({ row, plan }: { row: TaskRow; plan: { id: string; name: string } | null }) {
  const above: TaskRow[] = [];
  const { bySession } = summary();
  for (let up = bySession.get(row.owner); up && above.length < 10; up = bySession.get(up.owner))
    above.unshift(up);
  if (!plan && above.length === 0) return null;
  return (
    <nav class="crumbs" aria-label="Above it">
      {plan ? <a href={href(`/plan/${plan.id}`)}>{plan.name}</a> : null}
      {above.map(({ id, name }) => (
        <a key={id} href={href(`/task/${id}`)}>
          {name}
        </a>
      ))}
    </nav>
  );
}

function About({ row }: { row: TaskRow }) {
  const asked = useAsked<TaskView>(() => api().getTask(row.id), [row.id, row.state]);
  if (asked.state !== 'known') return <p class="loading">{asked.state === 'failed' ? asked.why : '…'}</p>;
  const { task, end } = asked.value;
  return (
    <div class="about">
      <Facts task={task} />
      <h2>What it was asked</h2>
      <Prose text={task.prompt} />
      {task.expectedOutput ? (
        <>
          <h2>What is expected</h2>
          <Prose text={task.expectedOutput} />
        </>
      ) : null}
      {end ? (
        <>
          <h2>How it ended: {end.status}</h2>
          <Prose text={end.output === '' ? '(It said nothing.)' : end.output} />
          {end.error ? <p class="bad">{`${end.error.class}: ${end.error.message}`}</p> : null}
        </>
      ) : null}
    </div>
  );
}

function reviewWords({ review, reviewing }: TaskView['task']): string {
  if (review === 'none') return 'none';
  const by = reviewing?.by ? `@${reviewing.by.backend}:${reviewing.by.name}` : `the ${review}`;
  const round = reviewing && reviewing.round > 0 ? `, round ${reviewing.round} of ${reviewing.most}` : '';
  return `by ${by}${review === 'person' ? '' : round}`;
}

function Facts({ task }: { task: TaskView['task'] }) {
  const facts: [string, string][] = [
    ['Id', task.id],
    ['Session', task.session],
    ['Repository', task.repository ?? 'none: it has no files'],
    ['Checkout', task.isolation === 'own' ? 'its own' : 'its parent’s'],
    ['Priority', task.priority],
    ['Review', reviewWords(task)],
    ['Files it aims at', task.targetFiles.join(', ') || 'not said'],
    ['Waits for', plural(task.dependencies.length, 'task')],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
