import type { Budget, Run, TaskRow } from '@reveille/protocol';
import { api } from '../link/api.ts';
import { count, money, plural, tokens } from '../parts/amounts.ts';
import { clean, oneLine } from '../parts/clean.ts';
import { Empty } from '../parts/pieces.tsx';
import { Ago, duration, now } from '../parts/time.tsx';
import { useAsked } from './asked.ts';

/** Every attempt at the task, the newest first: how it went, what it used, where its work is. */
export function Runs({ row }: { row: TaskRow }) {
  const asked = useAsked(
    () => api().views.runs({ task: row.id }),
    [row.id, row.state, row.run?.id, row.run?.turns],
  );
  if (asked.state !== 'known') return <p class="loading">{asked.state === 'failed' ? asked.why : '…'}</p>;
  const { runs, budget, notes } = asked.value;
  return (
    <>
      {budget ? <Limits budget={budget} /> : null}
      {notes.map((note) => (
        <p key={note} class="bad">
          {note}
        </p>
      ))}
      {runs.length === 0 ? <Empty title="No agent has begun." /> : null}
      <ol class="letters" aria-label="Runs">
        {runs.toReversed().map((run) => (
          <RunCard key={run.id} run={run} />
        ))}
      </ol>
    </>
  );
}

/** What may be used, and what has been, here and below. */
const Limits = ({ budget }: { budget: Budget }) => (
  <dl class="facts" aria-label="Limits">
    {Object.entries(budget.limits).map(([name, limit]) => (
      <div key={name}>
        <dt>Limit of {name === 'usd' ? 'cost' : name === 'wallMs' ? 'time' : name}</dt>
        <dd>{limitWords(name, limit ?? 0, budget)}</dd>
      </div>
    ))}
  </dl>
);

function limitWords(name: string, limit: number, { used, estimated, reserved }: Budget): string {
  if (name === 'wallMs') return duration(limit);
  const key = name as keyof Budget['used'];
  const shown = (value: number): string => (key === 'usd' ? money(value) : count(value));
  const about = (key === 'tokens' || key === 'usd') && (estimated?.[key] ?? 0) > 0 ? '≈' : '';
  const aside = Object.values(reserved).reduce((sum, amounts) => sum + (amounts[key] ?? 0), 0);
  return `${about}${shown(used[key])} of ${shown(limit)}${aside > 0 ? `, ${shown(aside)} set aside` : ''}`;
}

function RunCard({ run }: { run: Run }) {
  const { end } = run;
  const took = (end?.at ?? now.value) - run.startedAt;
  const facts: [string, string][] = [
    ['Took', duration(took)],
    ['Turns', String(run.turns)],
    ['Tokens', tokens(run.used.tokens, (run.used.estimated?.tokens ?? 0) > 0)],
    ['Cost', money(run.used.usd, (run.used.estimated?.usd ?? 0) > 0)],
    ['Faults since a good turn', String(run.faults)],
    ['Process', run.identity ?? 'none of its own'],
    ...(end?.work
      ? ([
          ['Branch', end.work.branch],
          ['Worktree', end.work.worktree],
          ['Commit', end.work.commit?.slice(0, 12) ?? 'none'],
          ['Changed', plural(end.work.files.length, 'file')],
        ] satisfies [string, string][])
      : []),
  ];
  return (
    <li class="letter" tabIndex={0} data-item>
      <header class="letter-head">
        <strong>Run {run.attempt}</strong>
        <span class={end?.status === 'failed' ? 'bad' : 'quiet'}>
          {end ? `${end.status}, by ${end.cause.replaceAll('_', ' ')}` : run.paused ? 'paused' : 'open'}
        </span>
        <Ago at={run.startedAt} suffix=" ago" />
      </header>
      {end?.error ? <p class="bad">{clean(`${end.error.class}: ${end.error.message}`)}</p> : null}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{oneLine(value)}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}
