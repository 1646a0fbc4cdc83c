import { plural } from '../parts/amounts.ts';
import { Empty, Progress } from '../parts/pieces.tsx';
import { PlanState } from '../parts/state.tsx';
import { Ago } from '../parts/time.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { narrow } from '../parts/narrow.ts';
import { href } from '../router.ts';
import { store } from '../store/store.ts';
import { isPlanOpen, summary } from '../store/summary.ts';

export function Plans() {
  const { byPlan } = summary();
  const plans = [...store.plans.values()].toSorted(
    (a, b) => Number(isPlanOpen(b)) - Number(isPlanOpen(a)) || b.createdAt - a.createdAt,
  );
  return (
    <>
      <header class="head">
        <h1>
          Plans <span class="count">{plans.length}</span>
        </h1>
        <a class="button first" href={href('/new')} data-key="n">
          Write a plan
        </a>
      </header>
      {plans.length === 0 ? (
        <Empty title="There is no plan yet.">
          <a href={href('/new')}>Write one here</a>, or run a file: <code>reveille plan run plan.yaml</code>
        </Empty>
      ) : (
        <Virtual items={plans} height={narrow.value ? 92 : 52} label="Plans" keyOf={({ id }) => id}>
          {(plan) => {
            const rows = byPlan.get(plan.id) ?? [];
            return (
              <a class="plan-line" href={href(`/plan/${plan.id}`)} data-item>
                <PlanState plan={plan} />
                <span class="line-name">{plan.name}</span>
                <Progress rows={rows} label={plan.name} />
                <span class="line-number">{plural(rows.length, 'task')}</span>
                <span class="line-number">
                  <Ago at={plan.createdAt} suffix=" ago" />
                </span>
              </a>
            );
          }}
        </Virtual>
      )}
    </>
  );
}
