import { useRef } from 'preact/hooks';
import type { Plan, TaskRow } from '@reveille/protocol';
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
  return (
    <div class="buttons" role="group" aria-label="What you can do">
      {now
        .filter(({ rare }) => !rare)
        .map((act) => (
          <ActButton key={act.id} act={act} target={target} name={target.name} />
        ))}
      <More acts={now.filter(({ rare }) => rare)} target={target} />
    </div>
  );
}

/** What is done seldom: one step further away. */
function More<T extends { readonly name: string }>({ acts, target }: Props<T>) {
  const menu = useRef<HTMLDetailsElement>(null);
  if (acts.length === 0) return null;
  const close = (): void => menu.current?.removeAttribute('open');
  return (
    <details
      class="more"
      ref={menu}
      onToggle={() => {
        if (menu.current?.open) menu.current.querySelector('button')?.focus();
      }}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Element) || !menu.current?.contains(relatedTarget)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current?.open) return;
        event.stopPropagation();
        close();
        menu.current.querySelector('summary')?.focus();
      }}
    >
      <summary class="button" data-key=".">
        More
      </summary>
      <div class="more-list" onClick={close}>
        {acts.map((act) => (
          <ActButton key={act.id} act={act} target={target} name={target.name} />
        ))}
      </div>
    </details>
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
