import type { Plan, TaskRow } from '@reveille/protocol';
import { perform, under } from './perform.tsx';
import { PLAN_ACTS, TASK_ACTS, type Act } from './table.ts';

export const TaskButtons = ({ row }: { row: TaskRow }) => <Buttons acts={TASK_ACTS} target={row} />;
export const PlanButtons = ({ plan }: { plan: Plan }) => <Buttons acts={PLAN_ACTS} target={plan} />;

/** What can be done now. A button waits for the daemon, and goes when the state it was for has gone. */
function Buttons<T extends { readonly name: string }>({
  acts,
  target,
}: {
  acts: readonly Act<T>[];
  target: T;
}) {
  return (
    <div class="buttons" role="group" aria-label="What you can do">
      {acts
        .filter(({ when }) => when(target))
        .map((act) => (
          <ActButton key={act.id} act={act} target={target} name={target.name} />
        ))}
    </div>
  );
}

export const ActButton = <T,>({ act, target, name }: { act: Act<T>; target: T; name: string }) => {
  const busy = under.value.has(`${act.id} ${name}`);
  return (
    <button
      type="button"
      class={`button ${act.harm ? 'harm' : ''} ${act.first ? 'first' : ''}`}
      data-act={act.id}
      data-key={act.key}
      disabled={busy}
      aria-busy={busy}
      title={act.key ? `Key: ${act.key}` : undefined}
      onClick={() => void perform(act, target, name)}
    >
      {act.label}
    </button>
  );
};
