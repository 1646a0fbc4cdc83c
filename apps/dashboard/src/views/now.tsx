import { PlanState } from '../parts/state.tsx';
import { Empty, Progress, Section } from '../parts/pieces.tsx';
import { LineHead, TaskRows } from '../parts/rows.tsx';
import { plural } from '../parts/amounts.ts';
import { href } from '../router.ts';
import { summary } from '../store/summary.ts';
import { RequestCard } from './requests.tsx';
import { Ago } from '../parts/time.tsx';

const MOST_REQUESTS = 3;
const MOST_PLANS = 4;

/** What needs the person first, then what runs. */
export function Now() {
  const { byColumn, requests, requestOf } = summary();
  const { working, waiting, needs, review, failed } = byColumn;
  const live = [...needs, ...working, ...review, ...waiting];
  const recent = failed
    // What asks stands above already.
    .filter(({ id, state }) => state === 'failed' && !requestOf.has(id))
    .toSorted((a, b) => b.since - a.since)
    .slice(0, 5);
  return (
    <>
      <h1 class="unseen">Now</h1>
      {requests.length > 0 ? (
        <Section
          title="Needs you"
          count={requests.length}
          aside={
            requests.length > MOST_REQUESTS ? (
              <a href={href('/inbox')}>All {requests.length} in the inbox</a>
            ) : null
          }
        >
          {requests.slice(0, MOST_REQUESTS).map((request) => (
            <RequestCard key={request.id} request={request} />
          ))}
        </Section>
      ) : null}
      <Plans />
      {recent.length > 0 ? (
        <Section title="Failed lately" count={recent.length}>
          <TaskRows rows={recent} label="Failed lately" />
        </Section>
      ) : null}
      <Section
        title="At work"
        count={live.length}
        aside={requests.length === 0 ? 'Nothing waits for you.' : null}
      >
        {live.length > 0 ? (
          <>
            <LineHead />
            <TaskRows rows={live} label="At work" />
          </>
        ) : (
          <Empty title="No agent is at work.">
            <a href={href('/new')}>Write a plan</a>, or let one agent begin: <code>reveille spawn "…"</code>
          </Empty>
        )}
      </Section>
    </>
  );
}

function Plans() {
  const { byPlan, openPlans: open } = summary();
  if (open.length === 0) return null;
  return (
    <Section
      title="Plans"
      count={open.length}
      aside={open.length > MOST_PLANS ? <a href={href('/plans')}>All plans</a> : null}
    >
      <div class="cards">
        {open.slice(0, MOST_PLANS).map((plan) => {
          const rows = byPlan.get(plan.id) ?? [];
          const done = rows.filter(({ state }) => state === 'completed').length;
          return (
            <a class="card" key={plan.id} href={href(`/plan/${plan.id}`)} data-item>
              <span class="card-head">
                <span class="card-name">{plan.name}</span>
                <PlanState plan={plan} />
              </span>
              <Progress rows={rows} label={plan.name} />
              <span class="card-foot">
                {done} of {plural(rows.length, 'task')} done
                <Ago at={plan.since} />
              </span>
            </a>
          );
        })}
      </div>
    </Section>
  );
}
