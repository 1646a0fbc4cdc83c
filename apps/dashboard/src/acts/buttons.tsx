import type { Plan, TaskRow } from '@reveille/protocol';
import { Menu } from '../parts/menu.tsx';
import type { Act } from './act.ts';
import { perform, under } from './perform.tsx';
import { PLAN_ACTS } from './plans.ts';
import { TASK_ACTS } from './tasks.ts';

export const TaskButtons = ({ row }: { row: TaskRow }) => <Buttons acts={TASK_ACTS} target={row} />;
export const PlanButtons = ({ plan }: { plan: Plan }) => <Buttons acts={PLAN_ACTS} target={plan} />;

interface Props<T> {
  readonly acts: readonly Act<T>[];
  readonly target: T;
}

/** What can be done now. A button waits for the daemon, and goes when the state it was for has gone. */
function Buttons<T extends { readonly name: string }>({ acts, target }: Props<T>) {
  const now = acts.filter(({ when }) => when(target));
  const rare = now.filter((act) => act.rare);
  return (
    <div class="buttons" role="group" aria-label="What you can do">
      {now
        .filter((act) => !act.rare)
        .map((act) => (
          <ActButton key={act.id} act={act} target={target} name={target.name} />
        ))}
      {rare.length > 0 ? (
        <Menu label="More" hint=".">
          {rare.map((act) => (
            <ActButton key={act.id} act={act} target={target} name={target.name} />
          ))}
        </Menu>
      ) : null}
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
