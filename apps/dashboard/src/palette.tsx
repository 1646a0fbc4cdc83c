import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { perform } from './acts/perform.tsx';
import { START_ONE, STOP_ALL } from './acts/everywhere.ts';
import { PLAN_ACTS } from './acts/plans.ts';
import { TASK_ACTS } from './acts/tasks.ts';
import { KEYS, overlay } from './keys.ts';
import { go, route } from './router.ts';
import { store } from './store/store.ts';
import type { PlanId, TaskId } from '@reveille/protocol';
import { setTheme } from './theme.ts';

interface Entry {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly run: () => void;
}

const MOST = 50;

export function Overlays() {
  if (overlay.value === 'palette') return <Palette />;
  return overlay.value === 'help' ? <Help /> : null;
}

const close = (): void => void (overlay.value = null);

function useDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return dialog;
}

/** Everything that can be gone to or done, by its name. */
function Palette() {
  const dialog = useDialog();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const found = useMemo(() => search(query), [query]);
  const run = (entry: Entry | undefined): void => {
    close();
    entry?.run();
  };
  const key = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setAt((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="dialog palette" aria-label="Go anywhere, do anything" onClose={close}>
      <input
        class="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label="Search tasks, plans and what can be done"
        placeholder="Search tasks, plans, and what can be done"
        value={query}
        autofocus
        onInput={({ currentTarget }) => {
          setQuery(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      <ul id="palette-list" class="palette-list" role="listbox" aria-label="Found">
        {found.map((entry, i) => (
          <li
            key={entry.id}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            ref={(element) => {
              if (i === at) element?.scrollIntoView({ block: 'nearest' });
            }}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => run(entry)}
          >
            <span class="palette-name">{entry.name}</span>
            <span class="palette-kind">{entry.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p class="palette-none">Nothing is called that.</p> : null}
    </dialog>
  );
}

const PLACES = [
  ['Now', '/'],
  ['Inbox', '/inbox'],
  ['Plans', '/plans'],
  ['Tree', '/tree'],
  ['Activity', '/activity'],
  ['Costs and host', '/costs'],
  ['Write a plan', '/new'],
] as const;

/** What is done here comes before what lies elsewhere. */
function search(query: string): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ name, kind }: Entry): boolean => {
    const text = `${name} ${kind}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const found: Entry[] = [];
  for (const entry of entries()) {
    if (fits(entry)) found.push(entry);
    if (found.length >= MOST) break;
  }
  return found;
}

function* entries(): Generator<Entry> {
  yield* actsHere();
  for (const [name, to] of PLACES) yield { id: to, name, kind: 'Go to', run: () => go(to) };
  for (const { id, name } of store.plans.values())
    yield { id, name, kind: 'Plan', run: () => go(`/plan/${id}`) };
  for (const { id, name, agent, state } of store.rows.values())
    yield { id, name, kind: `${agent} · ${state}`, run: () => go(`/task/${id}`) };
  for (const theme of ['light', 'dark', 'system'] as const)
    yield { id: `theme-${theme}`, name: `Theme: ${theme}`, kind: 'Do', run: () => setTheme(theme) };
  yield { id: 'help', name: 'Keys', kind: 'Help', run: () => void (overlay.value = 'help') };
  for (const [act, name] of [
    [START_ONE, ''],
    [STOP_ALL, 'all plans and tasks'],
  ] as const)
    yield { id: act.id, name: act.label, kind: 'Do', run: () => void perform(act, null, name) };
}

function* actsHere(): Generator<Entry> {
  const [kind, id = ''] = route.peek();
  const row = kind === 'task' ? store.rows.get(id as TaskId) : undefined;
  const plan = kind === 'plan' ? store.plans.get(id as PlanId) : undefined;
  if (row)
    for (const act of TASK_ACTS.filter(({ when }) => when(row)))
      yield {
        id: act.id,
        name: `${act.label}: ${row.name}`,
        kind: 'Do',
        run: () => void perform(act, row, row.name),
      };
  if (plan)
    for (const act of PLAN_ACTS.filter(({ when }) => when(plan)))
      yield {
        id: act.id,
        name: `${act.label}: ${plan.name}`,
        kind: 'Do',
        run: () => void perform(act, plan, plan.name),
      };
}

function Help() {
  const dialog = useDialog();
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>{keys.split(' ').map((key) => (key === '…' ? ' … ' : <kbd key={key}>{key}</kbd>))}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-buttons">
        <button type="button" class="button first" autofocus onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}
